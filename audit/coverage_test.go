package audit

import (
	"slices"
	"testing"

	"weir/event"
)

// TestWatermark: the slowest partition decides; a partition is left out only if all of
// its log is counted.
func TestWatermark(t *testing.T) {
	const now = 1_000_000_000
	type part struct {
		span event.Span
		at   *Covered // nil: no line
	}
	busy := part{event.Span{Next: 10}, &Covered{Next: 10, Flushed: now, Watermark: 500}}
	for _, c := range []struct {
		name  string
		parts []part
		want  event.Time
	}{
		{"no partition", nil, 0},
		{"one", []part{busy}, 500},
		{"the slower of two", []part{busy, {event.Span{Next: 5}, &Covered{Next: 5, Flushed: now, Watermark: 300}}}, 300},
		{"one lags", []part{busy, {event.Span{Next: 9}, &Covered{Next: 5, Flushed: now, Watermark: 300}}}, 300},
		{"silent for a minute", []part{busy, {event.Span{Next: 5}, &Covered{Next: 5, Flushed: now - 60_000, Watermark: 300}}}, 300},
		{"idle", []part{busy, {event.Span{Next: 5}, &Covered{Next: 5, Flushed: now - 61_000, Watermark: 300}}}, 500},
		{"silent with a record that waits", []part{busy, {event.Span{Next: 6}, &Covered{Next: 5, Flushed: now - 61_000, Watermark: 300}}}, 300},
		{"silent behind an open transaction", []part{busy, {event.Span{Next: 5, End: 9}, &Covered{Next: 5, Flushed: now - 61_000, Watermark: 300}}}, 300},
		{"nothing countable before an open transaction", []part{busy, {event.Span{Next: 3, End: 4}, &Covered{Next: 3, Flushed: now}}}, 0},
		{"idle, and no transaction open", []part{busy, {event.Span{Next: 5, End: 5}, &Covered{Next: 5, Flushed: now - 61_000, Watermark: 300}}}, 500},
		{"all silent for long", []part{{event.Span{Next: 5}, &Covered{Next: 5, Flushed: now - 9_000_000, Watermark: 300}}}, 300},
		{"records without a line", []part{busy, {event.Span{Next: 1}, nil}}, 0},
		{"nothing ever", []part{busy, {event.Span{}, nil}}, 500},
		{"nothing any more", []part{busy, {event.Span{First: 7, Next: 7}, nil}}, 500},
		{"expired beyond the position", []part{busy, {event.Span{First: 7, Next: 7}, &Covered{Next: 5, Flushed: now - 61_000}}}, 500},
		{"opened, not begun", []part{busy, {event.Span{Next: 3}, &Covered{Flushed: now}}}, 0},
		{"nothing countable", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Flushed: now}}}, 500},
		{"nothing countable so far", []part{busy, {event.Span{Next: 3}, &Covered{Next: 2, Flushed: now}}}, 0},
		{"only watermarks from the future", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Flushed: now, Ahead: true}}}, 0},
		{"those, and idle", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Flushed: now - 61_000, Ahead: true}}}, 500},
		{"one from the future besides", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Flushed: now, Ahead: true, Watermark: 400}}}, 400},
	} {
		cov := Coverage{Now: now, Partitions: map[int32]Covered{}}
		log := map[int32]event.Span{}
		for p, part := range c.parts {
			log[int32(p)] = part.span
			if part.at != nil {
				cov.Partitions[int32(p)] = *part.at
			}
		}
		if got := cov.Watermark(log); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	// A ledger may know partitions that the topic no longer has.
	cov := Coverage{Partitions: map[int32]Covered{0: {Next: 3, Watermark: 400, Flushed: now}, 9: {Next: 3, Watermark: 1, Flushed: now}}}
	if got := cov.Watermark(map[int32]event.Span{0: {Next: 3}}); got != 400 {
		t.Errorf("a partition that the topic no longer has: %d", got)
	}
}

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
