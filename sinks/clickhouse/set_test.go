package clickhouse

import (
	"fmt"
	"testing"

	"weir/measures/set"
	"weir/sinks/clickhouse/wire"
	"weir/sketches/bitmap"
	"weir/sketches/idset"
	"weir/window"
)

// TestSetFunctions: weirSetCount corrects as Go does, and weirSetHas finds what Go has
// hashed, whatever the form of the id.
func TestSetFunctions(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	for _, n := range []uint64{0, 1, 10_000, 65_535, 65_536, 92_682, 999_884, 3_000_000} {
		if got, want := one(t, c, fmt.Sprintf("SELECT weirSetCount(groupBitmapState(toUInt32(number))) FROM numbers(%d)", n)), fmt.Sprintf("(%d)", idset.Count(n)); got != want {
			t.Errorf("of %d bits: %s, want %s", n, got, want)
		}
	}
	var ids bitmap.Pool
	ids.Grow(1)
	for _, id := range []string{"7", "", "6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11", "ü"} {
		ids.Add(0, set.Hash(nil, []byte(id)))
	}
	got := one(t, c, fmt.Sprintf("SELECT arrayMap(id -> weirSetHas(s, id), ['7', '', '6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11', 'ü', '8', '07']), weirSetHas(s, 7), weirSetHas(s, 8) FROM (SELECT CAST(unhex('%x'), 'AggregateFunction(groupBitmap, UInt32)') AS s)",
		ids.AppendClickHouse(nil, 0)))
	if got != "([1,1,1,1,0,0],1,0)" {
		t.Errorf("members: %s", got)
	}
}

// TestSetSize: a million ids in a rollup take at most 2.6 bytes each on disk, also after the
// window was rolled up again and the parts were merged.
func TestSetSize(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.By, j.Spec.Dedupe = nil, nil
	j.Spec.Measures = []window.Measure{{Name: "people", Kind: set.Kind, Path: "who"}}
	s := install(t, c, j)
	state, rollup := c.Name("clicks_state"), c.Name("clicks_1h_rollup")
	const ids = 1_000_000
	for round, n := range []int{ids * 9 / 10, ids} {
		run(t, c, fmt.Sprintf("INSERT INTO %s (window_start, hits, people_ids, flushed_in) SELECT toDateTime(%d, 'UTC'), map(1, %d), groupUniqArray(toUInt32(bitAnd(xxHash64(toString(number)), 4294967295))), %d FROM numbers(%[3]d)", state, noon/1000, n, 10+10*round))
		roll(t, s, true)
	}
	run(t, c, "OPTIMIZE TABLE "+rollup+" FINAL")
	got := one(t, c, "SELECT people, length(people_ids.2), bitmapCardinality(people_state) = people_ids.1, people_ids.2 = arraySort(people_ids.2) FROM "+rollup)
	hashes := map[uint32]bool{}
	for n := range ids {
		hashes[set.Hash(nil, fmt.Append(nil, n))] = true
	}
	if want := fmt.Sprintf("(%d,%d,1,1)", idset.Count(uint64(len(hashes))), len(hashes)); got != want {
		t.Errorf("the rollup has %s, want %s", got, want)
	}
	var bytes uint64
	if _, err := fmt.Sscanf(one(t, c, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = "+wire.Text(c.Config.Database)+" AND table = 'clicks_1h_rollup'"), "(%d)", &bytes); err != nil {
		t.Fatal(err)
	}
	if each := float64(bytes) / ids; each > 2.6 || each < 1 {
		t.Errorf("%.2f bytes an id", each)
	}
}
