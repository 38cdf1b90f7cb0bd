package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/event"
)

// TestAudit: a clean ledger is silent, and each kind of damage is named with
// its place.
func TestAudit(t *testing.T) {
	spec := &Spec{Chunk: 100}
	lines := func() []Line {
		return []Line{
			{Partition: 0, Chunk: 0, First: 10, Next: 100, Fates: [Fates]uint64{Counted: 80, Malformed: 10}},
			{Partition: 0, Chunk: 0, First: 40, Next: 100, Fates: [Fates]uint64{Counted: 55, Malformed: 5}},
			{Partition: 0, Chunk: 1, First: 100, Next: 130, Fates: [Fates]uint64{Counted: 30}},
			{Partition: 1, Chunk: 5, First: 500, Next: 600, Fates: [Fates]uint64{Counted: 99, Gap: 1}},
			{Partition: 1, Chunk: 6, First: 600, Next: 610, Fates: [Fates]uint64{Counted: 10}},
		}
	}
	hits := func() map[Slot]uint64 {
		return map[Slot]uint64{MakeSlot(0, 0, 0): 85, MakeSlot(0, 0, 1): 30, MakeSlot(0, 1, 5): 99, MakeSlot(0, 1, 6): 10}
	}
	for _, c := range []struct {
		name   string
		damage func(ls []Line, hs map[Slot]uint64) []Line
		want   []string
	}{
		{"nothing", func(ls []Line, hs map[Slot]uint64) []Line { return ls }, nil},
		{"a row deleted", func(ls []Line, hs map[Slot]uint64) []Line { hs[MakeSlot(0, 1, 5)] -= 7; return ls },
			[]string{"rows missing: partition 1, chunk 5: 99 events were counted, the rows hold 92"}},
		{"a slot raised", func(ls []Line, hs map[Slot]uint64) []Line { hs[MakeSlot(0, 0, 1)]++; return ls },
			[]string{"rows in excess: partition 0, chunk 1: at most 30 events were counted, the rows hold 31"}},
		{"two lines of a chunk allow for their sum", func(ls []Line, hs map[Slot]uint64) []Line { hs[MakeSlot(0, 0, 0)] = 135; return ls }, nil},
		{"and no more", func(ls []Line, hs map[Slot]uint64) []Line { hs[MakeSlot(0, 0, 0)] = 136; return ls },
			[]string{"rows in excess: partition 0, chunk 0: at most 135 events were counted, the rows hold 136"}},
		{"and no less than the greater", func(ls []Line, hs map[Slot]uint64) []Line { hs[MakeSlot(0, 0, 0)] = 79; return ls },
			[]string{"rows missing: partition 0, chunk 0: 80 events were counted, the rows hold 79"}},
		{"a line missing in the middle", func(ls []Line, hs map[Slot]uint64) []Line { return slices.Delete(ls, 0, 2) },
			[]string{"no line: partition 0, chunk 0: the rows hold 85 events, the ledger knows nothing of the chunk"}},
		{"a gap", func(ls []Line, hs map[Slot]uint64) []Line {
			ls[3].Next, ls[3].Fates[Gap] = 599, 0
			return ls
		}, []string{"hole: partition 1, chunk 6: the ledger goes on at offset 600, but what is before it ends at 599"}},
		{"an empty line that opened the partition", func(ls []Line, hs map[Slot]uint64) []Line {
			return slices.Insert(ls, 3, Line{Partition: 1, Chunk: 2, First: 250, Next: 250})
		}, nil},
		{"a fate changed", func(ls []Line, hs map[Slot]uint64) []Line { ls[2].Fates[Late]++; return ls },
			[]string{"fates: partition 0, chunk 1: the ledger line spans 30 offsets, but its fates sum up to 31"}},
		{"a line beyond its chunk", func(ls []Line, hs map[Slot]uint64) []Line {
			ls[2].Next, ls[2].Fates[Gap] = 201, 71
			return ls
		}, []string{"fates: partition 0, chunk 1: the ledger line reaches beyond its chunk"}},
	} {
		a := NewAudit(spec)
		hs := hits()
		ls := c.damage(lines(), hs)
		for slot, n := range hs {
			a.Hits(slot, n/2, true)
			a.Hits(slot, n-n/2, true)
		}
		for i := range ls {
			a.Line(&ls[i], true)
		}
		var got []string
		for f := range a.Findings {
			got = append(got, f.Misfit.String()+": "+f.String())
			if f.Advice() == "" {
				t.Errorf("%s: no advice", c.name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// TestAuditWindows: a rollup that holds more than what it is made from, and one
// that holds less.
func TestAuditWindows(t *testing.T) {
	a := NewAudit(&Spec{Chunk: 100})
	for _, length := range []event.Time{60_000, 90_000, 3_600_000, 7 * 86_400_000} {
		a.Window(Compared{length, 0, "x", true, true}, 4, 4)
		a.Window(Compared{length, 0, "x", true, true}, 4, 3)
		a.Window(Compared{length, 0, "x", true, true}, 3, 4)
		a.Measure(Compared{length, 0, "x", true, true}, "users", 7, 7, 7)
		a.Measure(Compared{length, 0, "x", true, true}, "users", 6, 7, 7) // a state of before beside a right number
		a.Measure(Compared{length, 0, "x", true, true}, "users", 7, 7, 6)
		a.Measure(Compared{length, 0, "x", false, true}, "users", 7, 7, 6)
		a.Measure(Compared{length, 0, "x", true, false}, "users", 6, 7, 7)
	}
	var got []string
	for f := range a.Findings {
		got = append(got, f.Misfit.String()+": "+f.String())
		if f.Misfit == Behind && !strings.Contains(f.Advice(), "weir repair") {
			t.Errorf("the advice is %q", f.Advice())
		}
	}
	var want []string
	for _, name := range []string{"1m", "90s", "1h", "7d"} {
		want = append(want, `window: window at 0 ms, group "x": its `+name+` rollup counts 4 events, the rows hold 3`,
			`rollup: window at 0 ms, group "x": the rows hold 4 events, its `+name+` rollup counts 3`,
			`rollup: window at 0 ms, group "x": the rows make measure users 7, its `+name+` rollup 6`,
			`window: window at 0 ms, group "x": its `+name+` rollup makes measure users 7, the rows 6`)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// TestAuditLeavesOut: what was written while the sink was read, or may have
// expired, is not judged by its rows.
func TestAuditLeavesOut(t *testing.T) {
	a := NewAudit(&Spec{Chunk: 100})
	a.Hits(MakeSlot(0, 0, 0), 5, false) // no line yet
	a.Hits(MakeSlot(0, 0, 1), 5, true)
	a.Line(&Line{Partition: 0, Chunk: 1, First: 100, Next: 110, Fates: [Fates]uint64{Counted: 10}}, false)
	a.Line(&Line{Partition: 1, Chunk: 0, First: 0, Next: 10, Fates: [Fates]uint64{Counted: 10}}, false)
	a.Window(Compared{60_000, 120_000, "x", true, true}, 5, 5)
	a.Window(Compared{60_000, 120_000, "x", false, true}, 6, 5)
	a.Window(Compared{60_000, 120_000, "x", true, false}, 5, 6)
	for f := range a.Findings {
		t.Errorf("found %v", f)
	}
	got := a.Result()
	if got.Lines != 2 || got.Chunks != 3 || got.Windows != 3 || !slices.Equal(got.Reached, []Reached{{0, 0, 100, 110}, {1, 0, 0, 10}}) {
		t.Errorf("result %+v", got)
	}
}

// TestAuditClipped: where records were deleted inside a chunk, what its rows
// fall short of is known if the two readings share no offset, and bounded if
// they do.
func TestAuditClipped(t *testing.T) {
	shared := func(reach, cut int, text string) []string {
		return []string{fmt.Sprintf("partition 3, chunk 0: at most %s are missing: offsets up to %d were counted, those below %d were deleted from the log before the chunk ended, and the rest was read again from there; "+
			"rows with events from below %[3]d and from %[2]d on keep the greater count of the two readings", text, reach, cut)}
	}
	for _, c := range []struct {
		name   string
		second int64 // where the second reading began
		hits   uint64
		want   []string
	}{
		{"apart", 60, 42, []string{"partition 3, chunk 0: 70 events were counted, the rows hold 42: records were deleted from the log inside this chunk, and rows with events from both sides of the cut keep the greater count"}},
		{"apart, no row on both sides", 60, 70, nil},
		{"overlapping", 20, 42, shared(40, 20, "50 events were counted, the rows hold 42, so up to 8")},
		{"overlapping, no row on both sides", 20, 50, nil},
	} {
		a := NewAudit(&Spec{Chunk: 100})
		a.Hits(MakeSlot(0, 3, 0), c.hits, true)
		a.Line(&Line{Partition: 3, First: 0, Next: 40, Fates: [Fates]uint64{Counted: 40}}, true)
		if c.second > 40 {
			a.Line(&Line{Partition: 3, First: 40, Next: c.second, Fates: [Fates]uint64{Gap: uint64(c.second - 40)}}, true)
		}
		a.Line(&Line{Partition: 3, First: c.second, Next: 100, Fates: [Fates]uint64{Counted: 30, Late: uint64(70 - c.second)}}, true)
		for f := range a.Findings {
			t.Errorf("%s: found %v", c.name, f)
		}
		var got []string
		for _, f := range a.Result().Notes {
			got = append(got, f.String())
			if f.Advice() == "" {
				t.Errorf("%s: no advice", c.name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestAuditCut: of readings of one chunk that overlap, the bound on what is
// missing is what they can have shared at least.
func TestAuditCut(t *testing.T) {
	for _, c := range []struct {
		name                string
		lines               [][3]int64 // first, next, counted
		hits                uint64
		missing, cut, reach int64
	}{
		{"every offset counted", [][3]int64{{0, 717, 717}, {493, 2000, 1507}}, 1507, 493, 493, 717},
		{"some rows have events of one side only", [][3]int64{{0, 717, 717}, {493, 2000, 1507}}, 1903, 97, 493, 717},
		{"half of them counted", [][3]int64{{0, 717, 358}, {493, 2000, 750}}, 750, 358, 493, 717},
		{"the second reading is not as far as the first", [][3]int64{{0, 717, 717}, {493, 600, 107}}, 717, 0, 0, 0},
		{"three readings", [][3]int64{{0, 700, 700}, {400, 900, 500}, {800, 1000, 200}}, 700, 300, 800, 900},
		{"in the middle of the log", [][3]int64{{2048, 2500, 452}, {2100, 3000, 900}}, 900, 52, 2100, 2500},
	} {
		a := NewAudit(&Spec{Chunk: 2048})
		chunk := c.lines[0][0] / 2048
		a.Hits(MakeSlot(0, 1, chunk), c.hits, true)
		for _, l := range c.lines {
			a.Line(&Line{Partition: 1, Chunk: chunk, First: l[0], Next: l[1], Fates: [Fates]uint64{Counted: uint64(l[2]), Filtered: uint64(l[1] - l[0] - l[2])}}, true)
		}
		for f := range a.Findings {
			t.Errorf("%s: found %v", c.name, f)
		}
		var got [3]int64
		for _, f := range a.Result().Notes {
			got = [3]int64{int64(f.Expected - f.Found), f.Cut, f.Reach}
		}
		if want := [3]int64{c.missing, c.cut, c.reach}; got != want {
			t.Errorf("%s: missing, cut and reach %v, want %v", c.name, got, want)
		}
	}
}

// TestAuditTwice: offsets of one topic under two epochs were counted twice;
// those of a topic that was made again were not.
func TestAuditTwice(t *testing.T) {
	audit := func(second byte) []Finding {
		a := NewAudit(&Spec{Chunk: 100})
		line := func(epoch uint8, chunk, next int64, counted uint64, id byte) {
			l := Line{Epoch: epoch, Partition: 2, Chunk: chunk, First: chunk * 100, Next: next, TopicID: [16]byte{id}}
			l.Fates[Counted], l.Fates[Late] = counted, uint64(l.Next-l.First)-counted
			a.Hits(l.Slot(), counted, true)
			a.Line(&l, true)
		}
		line(0, 0, 100, 90, 1)
		line(0, 1, 160, 60, 1)
		line(1, 0, 100, 90, second)
		line(1, 1, 130, 30, second)
		for f := range a.Findings {
			t.Errorf("found %v", f)
		}
		return a.Result().Notes
	}
	if got := audit(2); len(got) > 0 {
		t.Errorf("another topic: noted %v", got)
	}
	got := audit(1)
	if len(got) != 1 || got[0] != (Finding{Misfit: Twice, Epoch: 1, Partition: 2, Cut: 0, Reach: 130, Found: 120}) {
		t.Fatalf("noted %+v", got)
	}
	if want := "partition 2 (epoch 1): offsets 0 to 130 of the topic were counted before, under an earlier epoch, and again under this one (weir run --new-epoch after the log was truncated): up to 120 events are counted twice"; got[0].String() != want || !strings.Contains(got[0].Advice(), "raise the job's version") {
		t.Errorf("%s; %s", got[0], got[0].Advice())
	}
}

// TestAuditThinned: what a compacted topic leaves behind is told from damage,
// which has no gaps to explain it.
func TestAuditThinned(t *testing.T) {
	audit := func(counted, gap, next, hits uint64) (found []Finding) {
		a := NewAudit(&Spec{Chunk: 512})
		a.Hits(MakeSlot(0, 0, 0), hits, true)
		a.Line(&Line{Next: int64(next), Fates: [Fates]uint64{Counted: counted, Gap: gap}}, true)
		for f := range a.Findings {
			found = append(found, f)
		}
		return found
	}
	for _, c := range []struct {
		name                     string
		counted, gap, next, hits uint64
		thinned                  bool
	}{
		{"40 of 100 compacted away, nothing new", 100, 40, 100, 100, true},
		{"40 of 100 compacted away, 100 more, in rows of their own", 160, 40, 200, 200, true},
		{"a fate raised by hand", 101, 0, 100, 101, false},
		{"a row raised by hand", 100, 0, 100, 101, false},
		{"more than the gaps explain", 160, 40, 200, 201, false},
	} {
		found := audit(c.counted, c.gap, c.next, c.hits)
		if len(found) != 1 || found[0].Thinned() != c.thinned || strings.Contains(found[0].Advice(), "cleanup.policy") != c.thinned {
			t.Errorf("%s: found %v", c.name, found)
		}
	}
	if found := audit(160, 40, 200, 160); len(found) > 0 {
		t.Errorf("nothing is off, but found %v", found)
	}
}
