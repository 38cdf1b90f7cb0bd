package jobs

import (
	"fmt"
	"math/bits"
	"testing"

	"weir/event"
	"weir/sketches/hll"
)

// crafted are two sets of ids made with knowledge of the hash that Redis and a
// job without a key use: many ids that share eight registers, so that the
// estimate is far too low, and a few ids that each set a register to a high
// rank, so that the estimate is far too high.
func crafted() (hidden, loud []string) {
	const registers = 1 << 14
	best := make([]string, registers)
	rank := make([]int, registers)
	for i := 0; len(hidden) < 1500; i++ {
		id := fmt.Sprintf("u%d", i)
		h := hll.Hash([]byte(id))
		at, r := h%registers, bits.TrailingZeros64(h>>14|1<<50)+1
		if at < 8 {
			hidden = append(hidden, id)
		}
		if r > rank[at] {
			best[at], rank[at] = id, r
		}
	}
	for _, id := range best {
		if id != "" {
			loud = append(loud, id)
		}
	}
	return hidden, loud
}

// TestCraftedIDs: crafted ids mislead the HLL of a job without a key, as they
// mislead Redis, and count correctly in a job with a key.
func TestCraftedIDs(t *testing.T) {
	hidden, loud := crafted()
	estimate := func(ids []string, key *[16]byte) float64 {
		t.Helper()
		log := &fakeLog{parts: make([][]event.Record, 2)}
		for i, id := range ids {
			p := i % 2
			log.parts[p] = append(log.parts[p], event.Record{Offset: int64(len(log.parts[p])), Time: 1_763_600_000_000,
				Value: fmt.Appendf(nil, `{"ts":1763600000000,"page":"/","user":"%s"}`, id)})
		}
		s := spec()
		s.HashKey = key
		sink := newSink(s)
		if err := runJob(t, t.Context(), Config{Spec: s, Source: &fakeSource{log: log, committed: map[int32]int64{}}, Sink: sink, UntilEnd: true}); err != nil {
			t.Fatal(err)
		}
		var users hll.Sketch
		hits := uint64(0)
		sink.all.Table.Seal()
		for row := range sink.all.Table.Rows {
			for _, n := range row.Hits {
				hits += n
			}
			if _, err := users.MergeClickHouse(row.AppendState(nil, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if hits != uint64(len(ids)) {
			t.Fatalf("%d events counted, want %d", hits, len(ids))
		}
		return float64(users.Count())
	}
	key := &[16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range []struct {
		name   string
		ids    []string
		misled func(n float64) bool
	}{
		{"hidden", hidden, func(n float64) bool { return n < 100 }},
		{"loud", loud, func(n float64) bool { return n > 500_000 }},
	} {
		plain, keyed := estimate(c.ids, nil), estimate(c.ids, key)
		t.Logf("%s: %d ids are estimated at %.0f without a key, %.0f with one", c.name, len(c.ids), plain, keyed)
		if !c.misled(plain) {
			t.Errorf("%s: the set of %d does not mislead the HLL: %.0f", c.name, len(c.ids), plain)
		}
		if want := float64(len(c.ids)); keyed < want*0.95 || keyed > want*1.05 {
			t.Errorf("%s: with a key %d ids are estimated at %.0f", c.name, len(c.ids), keyed)
		}
	}
}
