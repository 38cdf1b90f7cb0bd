package recycle

import (
	"runtime/debug"
	"testing"
)

// TestBin: what was given is taken again, each value once, before new ones are made. The
// race detector loses some of it on purpose, so the test asks for a part.
func TestBin(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var b Bin[[64]byte]
	const n = 1000
	var list []*[64]byte
	given := map[*[64]byte]bool{}
	for range n {
		x := b.Take()
		list, given[x] = append(list, x), true
	}
	if list = b.GiveAll(list); len(list) > 0 || list[:1][0] != nil {
		t.Errorf("a list that was given has %d values, and keeps one: %v", len(list), list[:1][0] != nil)
	}
	again := 0
	taken := map[*[64]byte]bool{}
	for range n {
		x := b.Take()
		if taken[x] {
			t.Fatal("a value was taken twice")
		}
		taken[x] = true
		if given[x] {
			again++
		}
	}
	if again < n/4 {
		t.Errorf("of %d values, %d were taken again", n, again)
	}
}
