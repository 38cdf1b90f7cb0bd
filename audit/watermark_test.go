package audit

import (
	"testing"

	"weir/event"
)

// TestWatermark: the slowest partition decides; a partition is left out only if all of
// its log is counted.
func TestWatermark(t *testing.T) {
	type part struct {
		span   event.Span
		at     *Covered   // nil: no line
		silent event.Time // how long the ledger has been so when the test looks, in ms
	}
	busy := part{event.Span{Next: 10}, &Covered{Next: 10, Watermark: 500}, 0}
	for _, c := range []struct {
		name  string
		parts []part
		want  event.Time
	}{
		{"no partition", nil, 0},
		{"one", []part{busy}, 500},
		{"the slower of two", []part{busy, {event.Span{Next: 5}, &Covered{Next: 5, Watermark: 300}, 0}}, 300},
		{"one lags", []part{busy, {event.Span{Next: 9}, &Covered{Next: 5, Watermark: 300}, 0}}, 300},
		{"silent for a minute", []part{busy, {event.Span{Next: 5}, &Covered{Next: 5, Watermark: 300}, 60_000}}, 300},
		{"idle", []part{busy, {event.Span{Next: 5}, &Covered{Next: 5, Watermark: 300}, 61_000}}, 500},
		{"silent with a record that waits", []part{busy, {event.Span{Next: 6}, &Covered{Next: 5, Watermark: 300}, 61_000}}, 300},
		{"silent behind an open transaction", []part{busy, {event.Span{Next: 5, End: 9}, &Covered{Next: 5, Watermark: 300}, 61_000}}, 300},
		{"nothing countable before an open transaction", []part{busy, {event.Span{Next: 3, End: 4}, &Covered{Next: 3}, 0}}, 0},
		{"idle, and no transaction open", []part{busy, {event.Span{Next: 5, End: 5}, &Covered{Next: 5, Watermark: 300}, 61_000}}, 500},
		{"all silent for long", []part{{event.Span{Next: 5}, &Covered{Next: 5, Watermark: 300}, 900_000}}, 300},
		{"the longest silent of silent ones", []part{{event.Span{Next: 5}, &Covered{Next: 5, Watermark: 300}, 900_000}, {event.Span{Next: 5}, &Covered{Next: 5, Watermark: 400}, 800_000}}, 400},
		{"all silent, and a partition added", []part{{event.Span{Next: 5}, &Covered{Next: 5, Watermark: 300}, 900_000}, {event.Span{}, nil, 0}}, 300},
		{"records without a line", []part{busy, {event.Span{Next: 1}, nil, 0}}, 0},
		{"records without a line for long", []part{busy, {event.Span{Next: 1}, nil, 61_000}}, 0},
		{"nothing ever", []part{busy, {event.Span{}, nil, 61_000}}, 500},
		{"nothing any more", []part{busy, {event.Span{First: 7, Next: 7}, nil, 0}}, 500},
		{"expired beyond the position", []part{busy, {event.Span{First: 7, Next: 7}, &Covered{Next: 5}, 61_000}}, 500},
		{"opened, not begun", []part{busy, {event.Span{Next: 3}, &Covered{}, 0}}, 0},
		{"nothing countable", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3}, 0}}, 500},
		{"nothing countable so far", []part{busy, {event.Span{Next: 3}, &Covered{Next: 2}, 0}}, 0},
		{"only watermarks from the future", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Ahead: true}, 0}}, 0},
		{"those, and idle", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Ahead: true}, 61_000}}, 500},
		{"one from the future besides", []part{busy, {event.Span{Next: 3}, &Covered{Next: 3, Ahead: true, Watermark: 400}, 0}}, 400},
	} {
		var w Watermarks
		var got event.Time
		const end, step = 1_000_000, 1000
		for now := event.Time(0); now <= end; now += step {
			cov := Coverage{Now: 1000, Partitions: map[int32]Covered{}}
			log := map[int32]event.Span{}
			for p, part := range c.parts {
				before := now < end-part.silent
				if part.at != nil {
					cov.Partitions[int32(p)] = *part.at
					if before {
						cov.Partitions[int32(p)] = Covered{Next: part.at.Next - 1, Watermark: 1}
					}
				} else if before {
					continue // the topic does not have it yet
				}
				log[int32(p)] = part.span
			}
			got = w.Look(&cov, log, step)
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	// A ledger may know partitions that the topic no longer has.
	var w Watermarks
	cov := Coverage{Now: 1000, Partitions: map[int32]Covered{0: {Next: 3, Watermark: 400}, 9: {Next: 3, Watermark: 1}}}
	if got := w.Look(&cov, map[int32]event.Span{0: {Next: 3}}, 0); got != 400 {
		t.Errorf("a partition that the topic no longer has: %d", got)
	}
	// A window that has not ended is not complete, whatever the clocks of producers say.
	cov.Now = 399
	if got := w.Look(&cov, map[int32]event.Span{0: {Next: 3}}, 0); got != 399 {
		t.Errorf("a watermark ahead of the sink's clock: %d", got)
	}
}

// TestWatermarkByClocks: whatever the times of the lines say, because the sink's clock steps or its
// replicas have different ones, a partition that moves is not idle, and one that does not is after
// a minute. A watch that begins finds none idle for as long.
func TestWatermarkByClocks(t *testing.T) {
	const hour = 3_600_000
	log := map[int32]event.Span{0: {Next: 1000}, 1: {Next: 1000}}
	for name, clock := range map[string]func(p int32, now event.Time) event.Time{
		"right":             func(_ int32, now event.Time) event.Time { return now },
		"steps ahead":       func(_ int32, now event.Time) event.Time { return now + now/100_000*2*hour },
		"steps back":        func(_ int32, now event.Time) event.Time { return now - now/100_000*2*hour },
		"another's ahead":   func(p int32, now event.Time) event.Time { return now + event.Time(p)*hour },
		"another's behind":  func(p int32, now event.Time) event.Time { return now - event.Time(p)*hour },
		"stands still":      func(int32, event.Time) event.Time { return 0 },
		"one steps to 2106": func(p int32, now event.Time) event.Time { return now + event.Time(p)*now/100_000*1000*hour },
	} {
		const day = 24 * hour
		ledger := map[int32]Covered{}
		write := func(p int32, now event.Time) {
			// Both have no records that wait, at each look.
			at := ledger[p]
			at.Next, at.Flushed, at.Watermark = at.Next+1, max(at.Flushed, 1000*day+clock(p, now)), now+1000-500*event.Time(p)
			ledger[p] = at
		}
		spans := func() map[int32]event.Span {
			for p := range log {
				log[p] = event.Span{Next: ledger[p].Next}
			}
			return log
		}
		var w Watermarks
		for now := event.Time(0); now < 300_000; now += 10_000 {
			write(0, now)
			write(1, now)
			if got := w.Look(&Coverage{Now: 1 << 60, Partitions: ledger}, spans(), 10_000); got != now+500 {
				t.Fatalf("%s, both move, at %d: %d", name, now, got)
			}
		}
		for now := event.Time(300_000); now < 400_000; now += 10_000 {
			write(0, now)
			want := event.Time(290_500)
			if now > 350_000 {
				want = now + 1000
			}
			if got := w.Look(&Coverage{Now: 1 << 60, Partitions: ledger}, spans(), 10_000); got != want {
				t.Fatalf("%s, one is silent, at %d: %d, want %d", name, now, got, want)
			}
		}
		var again Watermarks
		for now := event.Time(400_000); now < 500_000; now += 10_000 {
			write(0, now)
			want := event.Time(290_500)
			if now > 460_000 {
				want = now + 1000
			}
			if got := again.Look(&Coverage{Now: 1 << 60, Partitions: ledger}, spans(), 10_000); got != want {
				t.Fatalf("%s, one is silent since before the watch began, at %d: %d, want %d", name, now, got, want)
			}
		}
	}
}
