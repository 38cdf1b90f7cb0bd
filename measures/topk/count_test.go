package topk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestTopKReads: which values count, and why others are dead letters.
func TestTopKReads(t *testing.T) {
	var events []string
	for _, sku := range []string{`"b"`, `"a"`, `7`, `"c"`, `7`, `"c"`, `true`, `null`, `{}`, `"` + strings.Repeat("x", 1025) + `"`} {
		events = append(events, `,"sku":`+sku)
	}
	row, _, dead := measuretest.Take(t, window.Measure{Name: "products", Kind: Kind, Path: "sku", K: 2, Optional: true}, events...)
	if got, want := fmt.Sprint(Of(row, 0)), "{7 0 [{7 2 0} {c 2 0} {a 1 0} {b 1 0} {true 1 0}]}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(dead) != 2 || dead[0].Reason != "field sku is not text, number or bool" || dead[1].Reason != "field sku is longer than 1 KiB" {
		t.Errorf("dead letters %+v", dead)
	}
}

// tops makes the Tops of chunks of a stream, and the truth.
func tops(keys []string, ends []int, listed int) (all []Top, truth map[string]uint64) {
	truth = map[string]uint64{}
	from := 0
	for _, end := range ends {
		tally := &tally{listed: listed}
		tally.Grow(1)
		for _, key := range keys[from:end] {
			tally.count([]uint32{0}, []uint32{tally.number([]byte(key))})
			truth[key]++
		}
		all = append(all, tally.top(0).top())
		from = end
	}
	return all, truth
}

// within checks the bounds of a Top.
func within(t *testing.T, top Top, truth map[string]uint64, listed int) {
	t.Helper()
	rest := maps.Clone(truth)
	sum := uint64(0)
	for _, n := range truth {
		sum += n
	}
	if top.Events != sum || len(top.List) > listed || !slices.IsSortedFunc(top.List, Key.before) {
		t.Fatalf("%d events, want %d; %d keys, want at most %d, in order", top.Events, sum, len(top.List), listed)
	}
	for _, e := range top.List {
		if n := truth[e.Key]; e.Count > n || e.Count+e.Error < n {
			t.Fatalf("%q: %d to %d, truth %d", e.Key, e.Count, e.Count+e.Error, n)
		}
		delete(rest, e.Key)
	}
	for key, n := range rest {
		if n > top.Floor {
			t.Fatalf("%q is not listed and has %d events, above the floor %d", key, n, top.Floor)
		}
	}
}

// TestTopKBounds: however a stream is cut into chunks, and however the chunks are
// gathered into windows, the truth is within the bounds of every key, listed or not; the
// Top of one chunk is that of a naive count; and the order of the parts changes no byte.
func TestTopKBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 5))
	m := &window.Measure{Name: "products", Kind: Kind, Path: "sku", K: 2}
	for round := range 400 {
		zipf := rand.NewZipf(r, 1.01+r.Float64(), 1, uint64(1+r.IntN(400)))
		keys := make([]string, 1+r.IntN(3000))
		for i := range keys {
			keys[i] = fmt.Sprint(zipf.Uint64())
		}
		ends := []int{len(keys)}
		for range r.IntN(8) {
			ends = append(ends, r.IntN(len(keys)+1))
		}
		slices.Sort(ends)
		listed := 1 + r.IntN(40)
		chunks, truth := tops(keys, ends, listed)

		one, _ := tops(keys, []int{len(keys)}, listed)
		within(t, one[0], truth, listed)
		var naive []Key
		for key, n := range truth {
			naive = append(naive, Key{Key: key, Count: n})
		}
		slices.SortFunc(naive, Key.before)
		if want := naive[:min(listed, len(naive))]; !slices.Equal(one[0].List, want) {
			t.Fatalf("round %d: the top of one chunk is %v, want %v", round, one[0].List, want)
		}
		if floor := one[0].Floor; len(naive) > listed && floor != naive[listed].Count || len(naive) <= listed && floor != 0 {
			t.Fatalf("round %d: the floor of one chunk is %d", round, floor)
		}

		// Chunks into windows, windows into the answer.
		columns := make([]*column, 1+r.IntN(3))
		for i := range columns {
			columns[i] = &column{listed: listed}
			columns[i].Grow(1)
		}
		for i, top := range chunks {
			columns[r.IntN(len(columns))].put(0, window.Slot(i), top.listing())
		}
		answer := func(order []int) (Top, []byte) {
			sum := &column{listed: listed}
			sum.Grow(1)
			for _, i := range order {
				sum.Plus(0, columns[i], 0)
			}
			return sum.total(0).top(), sum.AppendState(nil, 0)
		}
		order := r.Perm(len(columns))
		top, state := answer(order)
		within(t, top, truth, listed)
		slices.Reverse(order)
		if _, again := answer(order); string(again) != string(state) {
			t.Fatalf("round %d: another order makes other bytes", round)
		}
		if got, err := m.Merge(state, state); err != nil || string(got) != string(state) {
			t.Fatalf("round %d: a state does not come back: %v", round, err)
		}
		if _, err := m.Merge(state[:len(state)-1-r.IntN(7)]); err == nil && len(top.List) > 0 {
			t.Fatalf("round %d: a cut state is read", round)
		}
	}
}

// TestTopKKeys: keys of any length and bytes are told apart, and those with as many events are in
// the order of their bytes, also where they begin with the same ones, and in another chunk.
func TestTopKKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 6))
	tally := &tally{listed: 3000}
	for range 20 {
		tally.Reset()
		tally.Grow(1)
		truth := map[string]uint64{}
		numbers := map[string]uint32{}
		for range 4000 {
			key := make([]byte, r.IntN(11))
			for i := range key {
				key[i] = "\x00ab\xff"[r.IntN(4)]
			}
			if len(key) > 4 && r.IntN(2) == 0 {
				copy(key, "aaaa")
			}
			n := tally.number(key)
			if have, ok := numbers[string(key)]; !ok {
				numbers[string(key)] = n
			} else if n != have {
				t.Fatalf("%q has number %d, and %d before", key, n, have)
			}
			if string(tally.key(n)) != string(key) {
				t.Fatalf("%q is counted as %q", key, tally.key(n))
			}
			tally.count([]uint32{0}, []uint32{n})
			truth[string(key)]++
		}
		top := tally.top(0).top()
		within(t, top, truth, 3000)
		if len(top.List) != len(truth) {
			t.Fatalf("%d keys, want %d", len(top.List), len(truth))
		}
	}
}
