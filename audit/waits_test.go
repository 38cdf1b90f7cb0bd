package audit

import (
	"maps"
	"slices"
	"testing"

	"weir/event"
)

// TestWaits: the time of a partition with waiting records grows until a flush of it,
// and begins at 0 then; a partition without waiting records has no time.
func TestWaits(t *testing.T) {
	var waits Waits
	log := map[int32]event.Span{0: {Next: 10}, 1: {First: 2, Next: 12}, 2: {Next: 5}}
	ledger := map[int32]Covered{0: {Next: 10}, 1: {Next: 4, Flushed: 1000}}
	look := func(what string, since event.Time, want ...Wait) {
		t.Helper()
		if got := waits.Look(&Coverage{Partitions: ledger}, log, since); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	look("at first", 77, Wait{1, 8, 0}, Wait{2, 5, 0})
	look("3 s later", 3000, Wait{1, 8, 3000}, Wait{2, 5, 3000})
	ledger[1] = Covered{Next: 4, Flushed: 2000}
	look("counted again", 3000, Wait{1, 8, 0}, Wait{2, 5, 6000})
	ledger[1] = Covered{Next: 6, Flushed: 2000}
	look("counted on", 3000, Wait{1, 6, 0}, Wait{2, 5, 9000})
	ledger[1] = Covered{Epoch: 1, Next: 6, Flushed: 2000}
	look("another epoch", 3000, Wait{1, 6, 0}, Wait{2, 5, 12000})
	log[1] = event.Span{First: 7, Next: 14}
	look("more to count, some of it gone", 3000, Wait{1, 7, 3000}, Wait{2, 5, 15000})
	log[2] = event.Span{First: 5, Next: 5}
	look("all gone", 3000, Wait{1, 7, 6000})
	log[2] = event.Span{First: 5, Next: 6}
	look("something new", 3000, Wait{1, 7, 9000}, Wait{2, 1, 0})
	delete(log, 1)
	look("no such partition any more", 3000, Wait{2, 1, 3000})
}

// TestMoved: a new line, another position, another time of writing and another epoch are a flush; a
// watermark that the sink's clock has reached by now is none.
func TestMoved(t *testing.T) {
	before := Coverage{Partitions: map[int32]Covered{0: {Next: 5, Flushed: 1000, Ahead: true}, 1: {Next: 7, Flushed: 2000}}}
	for _, c := range []struct {
		p    int32
		at   Covered
		want bool
	}{
		{0, Covered{Next: 5, Flushed: 1000, Watermark: 900}, false},
		{0, Covered{Next: 6, Flushed: 1000}, true},
		{0, Covered{Next: 5, Flushed: 500}, true},
		{1, Covered{Epoch: 1, Next: 7, Flushed: 2000}, true},
		{2, Covered{}, true},
	} {
		now := Coverage{Partitions: maps.Clone(before.Partitions)}
		now.Partitions[c.p] = c.at
		if got := now.Moved(before); got != c.want {
			t.Errorf("partition %d at %+v: %t, want %t", c.p, c.at, got, c.want)
		}
	}
}
