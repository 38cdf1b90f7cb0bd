package audit

import (
	"slices"
	"testing"

	"weir/event"
	"weir/measures/hll"
	"weir/window"
)

// contents is what a sink holds of a job with chunks of 100 offsets.
type contents struct {
	lines []window.Line
	hits  map[window.Slot]uint64
}

func slot(partition int32, chunk int64) window.Slot { return window.MakeSlot(0, partition, chunk) }

type outcomes = [window.Outcomes]uint64

// sound returns contents that add up: two lines of a chunk that retention cut, a chunk
// that is full, and one that is open.
func sound() *contents {
	return &contents{
		lines: []window.Line{
			{Partition: 0, Chunk: 0, First: 10, Next: 100, Outcomes: outcomes{window.Counted: 80, window.Malformed: 10}},
			{Partition: 0, Chunk: 0, First: 40, Next: 100, Outcomes: outcomes{window.Counted: 55, window.Malformed: 5}},
			{Partition: 0, Chunk: 1, First: 100, Next: 130, Outcomes: outcomes{window.Counted: 30}},
			{Partition: 1, Chunk: 5, First: 500, Next: 600, Outcomes: outcomes{window.Counted: 99, window.Gap: 1}},
			{Partition: 1, Chunk: 6, First: 600, Next: 610, Outcomes: outcomes{window.Counted: 10}},
		},
		hits: map[window.Slot]uint64{slot(0, 0): 85, slot(0, 1): 30, slot(1, 5): 99, slot(1, 6): 10},
	}
}

// read audits the contents. It gives the rows in two portions.
func (b *contents) read() *Audit {
	a := New(Job{Name: "clicks", Topic: "web", Chunk: 100}, Scope{})
	for s, n := range b.hits {
		a.Hits(s, n/2, true)
		a.Hits(s, n-n/2, true)
	}
	for i := range b.lines {
		a.Line(&b.lines[i], true)
	}
	return a
}

// chunk returns a finding about a chunk of 100 offsets.
func chunk(k Class, partition int32, n int64, expected, found uint64) Finding {
	return Finding{Class: k, Job: "clicks", Topic: "web", Partition: partition, Chunk: n, Offsets: Offsets{n * 100, n*100 + 100}, Expected: expected, Found: found}
}

func with(f Finding, change func(*Finding)) Finding {
	change(&f)
	return f
}

func check(t *testing.T, what string, got, want []Finding) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
	}
}

// TestLedgerAndRows: sound contents have no finding, and each kind of damage to lines and rows
// has one, with its place and its numbers.
func TestLedgerAndRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b *contents)
		want   []Finding
	}{
		{"nothing", func(*contents) {}, nil},
		{"a row deleted", func(b *contents) { b.hits[slot(1, 5)] -= 7 }, []Finding{chunk(Missing, 1, 5, 99, 92)}},
		{"a slot raised", func(b *contents) { b.hits[slot(0, 1)]++ }, []Finding{chunk(Excess, 0, 1, 30, 31)}},
		{"two lines of a chunk allow for their sum", func(b *contents) { b.hits[slot(0, 0)] = 135 }, nil},
		{"and no more", func(b *contents) { b.hits[slot(0, 0)] = 136 }, []Finding{chunk(Excess, 0, 0, 135, 136)}},
		{"and for the greater one", func(b *contents) { b.hits[slot(0, 0)] = 80 }, nil},
		{"and no less", func(b *contents) { b.hits[slot(0, 0)] = 79 }, []Finding{chunk(Missing, 0, 0, 80, 79)}},
		{"the first line missing", func(b *contents) { b.lines = b.lines[2:] }, []Finding{chunk(Unknown, 0, 0, 0, 85)}},
		{"a line missing in the middle", func(b *contents) {
			b.lines = slices.Insert(b.lines, 5, window.Line{Partition: 1, Chunk: 7, First: 700, Next: 701, Outcomes: outcomes{window.Late: 1}})
		}, []Finding{chunk(Hole, 1, 7, 610, 700)}},
		{"an offset without an outcome", func(b *contents) { b.lines[3].Next, b.lines[3].Outcomes[window.Gap] = 599, 0 }, []Finding{chunk(Hole, 1, 6, 599, 600)}},
		{"an empty line that opened the partition", func(b *contents) {
			b.lines = slices.Insert(b.lines, 3, window.Line{Partition: 1, Chunk: 2, First: 250, Next: 250})
		}, nil},
		{"the line of the chunk that opened the partition missing", func(b *contents) {
			b.lines[3] = window.Line{Partition: 1, Chunk: 5, First: 520, Next: 520}
		}, []Finding{with(chunk(Excess, 1, 5, 0, 99), func(f *Finding) { f.Opened, f.Offsets.First = true, 520 })}},
		{"and no later one", func(b *contents) {
			b.lines = append(b.lines[:3], window.Line{Partition: 1, Chunk: 5, First: 520, Next: 520})
			delete(b.hits, slot(1, 6))
		}, []Finding{chunk(Excess, 1, 5, 0, 99)}},
		{"an outcome too many", func(b *contents) { b.lines[2].Outcomes[window.Late]++ }, []Finding{chunk(Unbalanced, 0, 1, 30, 31)}},
		{"an outcome too few, and gaps", func(b *contents) { b.lines[3].Outcomes[window.Counted]--; b.hits[slot(1, 5)]-- },
			[]Finding{with(chunk(Unbalanced, 1, 5, 100, 99), func(f *Finding) { f.Gaps = 1 })}},
		{"a line that ends beyond its chunk", func(b *contents) { b.lines[2].Next, b.lines[2].Outcomes[window.Late] = 201, 71 }, []Finding{chunk(Outside, 0, 1, 101, 101)}},
		{"a line that begins before its chunk", func(b *contents) { b.lines[2].First, b.lines[2].Outcomes[window.Late] = 99, 1 }, []Finding{chunk(Outside, 0, 1, 31, 31)}},
		{"a second reading that is not as far", func(b *contents) { b.lines[1].Next, b.lines[1].Outcomes[window.Malformed] = 97, 2 }, nil},
		{"two things", func(b *contents) { b.hits[slot(0, 1)]++; b.lines[4].Outcomes[window.Late]++ },
			[]Finding{chunk(Unbalanced, 1, 6, 10, 11), chunk(Excess, 0, 1, 30, 31)}},
	} {
		b := sound()
		c.damage(b)
		a := b.read()
		check(t, c.name, slices.Collect(a.Findings), c.want)
		check(t, c.name+": noted", slices.Collect(a.Notes), nil)
		for f := range a.Findings { // a caller may stop
			check(t, c.name+", the first", []Finding{f}, c.want[:1])
			break
		}
	}
}

// TestWindows: a rollup that holds more or less than the rows that it is made from, in
// events or in measures, is found.
func TestWindows(t *testing.T) {
	const length, start = 60_000, 120_000
	users := &window.Measure{Name: "users", Kind: hll.Kind}
	whole := Compared{length, start, "x", true, true, 0}
	found := func(k Class, measure string, expected, found uint64) []Finding {
		f := Finding{Class: k, Job: "clicks", Topic: "web", Window: start, Length: length, Group: "x", Measure: measure, Expected: expected, Found: found}
		if measure != "" {
			f.Of = users
		}
		return []Finding{f}
	}
	for _, c := range []struct {
		name         string
		w            Compared
		rolled, rows uint64
		on           bool
		want         []Finding
	}{
		{"alike", whole, 4, 4, true, nil},
		{"more", whole, 4, 3, false, found(Lost, "", 4, 3)},
		{"less", whole, 3, 4, false, found(Behind, "", 4, 3)},
		{"more, of rows that may have expired", Compared{length, start, "x", false, true, 0}, 6, 5, false, nil},
		{"less, and not due", Compared{length, start, "x", true, false, 0}, 5, 6, false, nil},
	} {
		a := New(Job{Name: "clicks", Topic: "web"}, Scope{})
		if on := a.Window(c.w, c.rolled, c.rows); on != c.on || a.Looked().Windows != 1 {
			t.Errorf("%s: measures are to be compared: %v, of %d windows", c.name, on, a.Looked().Windows)
		}
		check(t, c.name, slices.Collect(a.Findings), c.want)
	}
	for _, c := range []struct {
		name              string
		w                 Compared
		least, most, made uint64
		want              []Finding
	}{
		{"alike", whole, 7, 7, 7, nil},
		{"a state of before beside a right number", whole, 6, 7, 7, found(Behind, "users", 7, 6)},
		{"a state of later beside a right number", whole, 7, 8, 7, found(Lost, "users", 8, 7)},
		{"more", whole, 7, 7, 6, found(Lost, "users", 7, 6)},
		{"more, of rows that may have expired", Compared{length, start, "x", false, true, 0}, 7, 7, 6, nil},
		{"less, and not due", Compared{length, start, "x", true, false, 0}, 6, 7, 7, nil},
	} {
		a := New(Job{Name: "clicks", Topic: "web"}, Scope{})
		a.Measure(c.w, users, c.least, c.most, c.made)
		check(t, "measure: "+c.name, slices.Collect(a.Findings), c.want)
	}
}

// TestScope: windows outside the scope are not compared, and old windows are compared
// without their measures.
func TestScope(t *testing.T) {
	a := New(Job{}, Scope{From: 100, Until: 300, Measures: 200})
	for start, on := range map[event.Time]bool{99: false, 100: false, 190: false, 191: true, 299: true, 300: false} {
		if got := a.Window(Compared{Length: 10, Start: start, Whole: true, Due: true}, 1, 1); got != on {
			t.Errorf("window at %d: measures are to be compared: %v", start, got)
		}
		a.Window(Compared{Length: 10, Start: start, Whole: true, Due: true}, 2, 1)
	}
	n := len(slices.Collect(a.Findings))
	if looked := a.Looked().Windows; looked != 8 || n != 4 {
		t.Errorf("looked at %d windows, found %d, want 8 and 4", looked, n)
	}
	if a := New(Job{}, Scope{}); !a.Window(Compared{Length: 1, Start: 0}, 0, 0) || !a.Window(Compared{Length: 1, Start: 1 << 50}, 0, 0) {
		t.Error("a scope without bounds leaves windows out")
	}
}

// TestLeavesOut: a chunk is not judged if rows of it were written while the sink was
// read, or may have expired.
func TestLeavesOut(t *testing.T) {
	a := New(Job{Chunk: 100}, Scope{})
	a.Hits(slot(0, 0), 5, false) // no line yet
	a.Hits(slot(0, 1), 5, true)
	a.Line(&window.Line{Partition: 0, Chunk: 1, First: 100, Next: 110, Outcomes: outcomes{window.Counted: 10}}, false)
	a.Line(&window.Line{Partition: 1, Chunk: 0, First: 0, Next: 10, Outcomes: outcomes{window.Counted: 10}}, false)
	check(t, "what is not settled", slices.Collect(a.Findings), nil)
	if got := a.Looked(); got != (Looked{Lines: 2, Chunks: 3}) || !slices.Equal(a.Reached(), []Reached{{0, 0, 100, 110}, {1, 0, 0, 10}}) {
		t.Errorf("looked at %+v, reached %+v", got, a.Reached())
	}
	if n := a.Unjudged(); n != 1 { // the others may have expired
		t.Errorf("%d chunks are not judged, want 1", n)
	}
	for chunk, hits := range []uint64{10, 9, 11, 9, 11, 10} { // that with 10 adds up
		a.Hits(slot(2, int64(chunk)), hits, chunk < 3)
		l := window.Line{Partition: 2, Chunk: int64(chunk), First: 100 * int64(chunk), Next: 100*int64(chunk) + 10, Outcomes: outcomes{window.Counted: 10}}
		l.Next += 90
		l.Outcomes[window.Filtered] = 90
		a.Line(&l, true)
		if chunk < 3 {
			a.Fresh(slot(2, int64(chunk)))
		}
	}
	check(t, "what is new", slices.Collect(a.Findings), nil)
	if n := a.Unjudged(); n != 5 {
		t.Errorf("%d chunks are not judged, want 5", n)
	}
}

// TestAhead: what does not add up, and was written later than now by the sink's clock, is
// counted and not judged. What adds up needs no time.
func TestAhead(t *testing.T) {
	a := New(Job{Name: "clicks", Topic: "web", Chunk: 100}, Scope{})
	line := func(chunk int64, comparable bool) {
		a.Line(&window.Line{Chunk: chunk, First: 100 * chunk, Next: 100*chunk + 100, Outcomes: outcomes{window.Counted: 100}}, comparable)
	}
	for chunk, hits := range []uint64{100, 99, 101, 99, 90} {
		a.Hits(slot(0, int64(chunk)), hits, true)
		if chunk < 4 {
			a.Ahead(slot(0, int64(chunk)), event.Time(chunk)*1000)
		}
		line(int64(chunk), chunk != 3) // rows of that one may have expired
	}
	a.Ahead(slot(0, 2), 1500)
	users := &window.Measure{Name: "users", Kind: hll.Kind}
	for i, rows := range []uint64{5, 4, 6} {
		w := Compared{Length: 60_000, Start: event.Time(i), Due: i < 2, Ahead: 3000}
		if got := a.Window(w, 5, rows); got != (rows == 5) {
			t.Errorf("the measures of window %d are compared: %t", i, got)
		}
		for range 2 * (1 - min(i, 1)) {
			a.Measure(w, users, 7, 7, 6)
		}
	}
	check(t, "ahead of the clock", slices.Collect(a.Findings), []Finding{
		chunk(Missing, 0, 4, 100, 90),
		{Class: Ahead, Job: "clicks", Topic: "web", Expected: 2, Found: 2, By: 3000},
	})
	check(t, "noted", slices.Collect(a.Notes), nil)
}

// TestClipped: if records were deleted inside a chunk, the number of missing events is
// exact if the two readings share no offset, and an upper bound if they do.
func TestClipped(t *testing.T) {
	for _, c := range []struct {
		name   string
		second int64 // where the second reading began
		hits   uint64
		want   []Finding
	}{
		{"apart", 60, 42, []Finding{with(chunk(Clipped, 3, 0, 70, 42), func(f *Finding) { f.Both = Offsets{60, 40} })}},
		{"apart, no row on both sides", 60, 70, nil},
		{"overlapping", 20, 42, []Finding{with(chunk(Clipped, 3, 0, 50, 42), func(f *Finding) { f.Both = Offsets{20, 40} })}},
		{"overlapping, no row on both sides", 20, 50, nil},
	} {
		a := New(Job{Name: "clicks", Topic: "web", Chunk: 100}, Scope{})
		a.Hits(slot(3, 0), c.hits, true)
		a.Line(&window.Line{Partition: 3, First: 0, Next: 40, Outcomes: outcomes{window.Counted: 40}}, true)
		if c.second > 40 {
			a.Line(&window.Line{Partition: 3, First: 40, Next: c.second, Outcomes: outcomes{window.Gap: uint64(c.second - 40)}}, true)
		}
		a.Line(&window.Line{Partition: 3, First: c.second, Next: 100, Outcomes: outcomes{window.Counted: 30, window.Late: uint64(70 - c.second)}}, true)
		check(t, c.name, slices.Collect(a.Findings), nil)
		check(t, c.name, slices.Collect(a.Notes), c.want)
	}
}

// TestCut: if readings of one chunk overlap, the bound on the missing events takes into
// account how many events they share at least.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		name    string
		lines   [][3]int64 // first, next, counted
		hits    uint64
		missing uint64
		both    Offsets
	}{
		{"every offset counted", [][3]int64{{0, 717, 717}, {493, 2000, 1507}}, 1507, 493, Offsets{493, 717}},
		{"some rows have events of one side only", [][3]int64{{0, 717, 717}, {493, 2000, 1507}}, 1903, 97, Offsets{493, 717}},
		{"half of them counted", [][3]int64{{0, 717, 358}, {493, 2000, 750}}, 750, 358, Offsets{493, 717}},
		{"the second reading is not as far as the first", [][3]int64{{0, 717, 717}, {493, 600, 107}}, 717, 0, Offsets{}},
		{"three readings", [][3]int64{{0, 700, 700}, {400, 900, 500}, {800, 1000, 200}}, 700, 300, Offsets{800, 900}},
		{"in the middle of the log", [][3]int64{{2048, 2500, 452}, {2100, 3000, 900}}, 900, 52, Offsets{2100, 2500}},
	} {
		a := New(Job{Chunk: 2048}, Scope{})
		chunk := c.lines[0][0] / 2048
		a.Hits(slot(1, chunk), c.hits, true)
		for _, l := range c.lines {
			a.Line(&window.Line{Partition: 1, Chunk: chunk, First: l[0], Next: l[1], Outcomes: outcomes{window.Counted: uint64(l[2]), window.Filtered: uint64(l[1] - l[0] - l[2])}}, true)
		}
		check(t, c.name, slices.Collect(a.Findings), nil)
		var missing uint64
		var both Offsets
		for f := range a.Notes {
			missing, both = f.Expected-f.Found, f.Both
		}
		if missing != c.missing || both != c.both {
			t.Errorf("%s: %d missing, %v in both, want %d, %v", c.name, missing, both, c.missing, c.both)
		}
	}
}

// TestEvents: where a record may have several events, the rows are compared with the events, and
// the bounds of what a cut or a new epoch costs are those of events.
func TestEvents(t *testing.T) {
	line := func(first, next int64, records, events, late uint64) window.Line {
		l := window.Line{Partition: 1, First: first, Next: next, Outcomes: outcomes{window.Counted: records, window.Late: uint64(next-first) - records}, TopicID: [16]byte{1}}
		l.Events = window.Events{All: events + late, By: [window.Gap]uint64{window.Counted: events, window.Late: late}}
		return l
	}
	read := func(hits uint64, lines ...window.Line) *Audit {
		a := New(Job{Name: "clicks", Topic: "web", Chunk: 100}, Scope{})
		a.Hits(slot(1, 0), hits, true)
		for i := range lines {
			a.Line(&lines[i], true)
		}
		return a
	}
	uneven, fewer := line(0, 10, 8, 30, 5), line(0, 10, 8, 30, 5)
	uneven.Events.All++
	fewer.Outcomes[window.Counted], fewer.Outcomes[window.Late] = 0, 10
	gaps := line(0, 10, 8, 30, 5)
	gaps.Outcomes[window.Late], gaps.Outcomes[window.Gap] = 0, 2
	for _, c := range []struct {
		name string
		a    *Audit
		want []Finding
	}{
		{"sound", read(30, line(0, 10, 8, 30, 5)), nil},
		{"a row deleted", read(29, line(0, 10, 8, 30, 5)), []Finding{chunk(Missing, 1, 0, 30, 29)}},
		{"a slot raised", read(31, line(0, 10, 8, 30, 5)), []Finding{with(chunk(Excess, 1, 0, 30, 31), func(f *Finding) { f.Several = true })}},
		{"events that do not add up", read(30, uneven), []Finding{chunk(Uneven, 1, 0, 36, 30)}},
		{"events of no record", read(30, fewer), []Finding{chunk(Uneven, 1, 0, 35, 30)}},
		{"fewer events than records", read(30, line(0, 100, 40, 30, 5)), []Finding{chunk(Uneven, 1, 0, 35, 30)}},
	} {
		check(t, c.name, slices.Collect(c.a.Findings), c.want)
	}
	if found := slices.Collect(read(40, gaps).Findings); len(found) != 1 || !found[0].Thinned() {
		t.Errorf("ten events of two records that were compacted away: %+v", found)
	}
	if found := slices.Collect(read(40, line(0, 10, 8, 30, 5)).Findings); len(found) != 1 || found[0].Thinned() {
		t.Errorf("ten events too many, without a gap: %+v", found)
	}

	uneven.Outcomes = gaps.Outcomes
	if found := slices.Collect(read(30, uneven).Findings); len(found) != 1 || !found[0].Thinned() {
		t.Errorf("events that do not add up where records were compacted away: %+v", found)
	}

	// The first reading counted 50 events, the second 90 from offset 4 on; offsets from 10 on are
	// only in the second. All that the first one counted may be below the cut.
	cut := slices.Collect(read(90, line(0, 10, 10, 50, 0), line(4, 20, 16, 90, 0)).Notes)
	if len(cut) != 1 || cut[0].Class != Clipped || cut[0].Expected != 140 || cut[0].Found != 90 {
		t.Errorf("a cut: %+v", cut)
	}
	// The second reading has no further offset, so it cannot add an event.
	check(t, "the same end", slices.Collect(read(50, line(0, 10, 10, 50, 0), line(4, 10, 6, 40, 0)).Notes), nil)

	later := line(0, 10, 10, 50, 0)
	later.Epoch = 1
	a := read(50, line(0, 10, 10, 50, 0))
	a.Hits(later.Slot(), 50, true)
	a.Line(&later, true)
	if twice := slices.Collect(a.Notes); len(twice) != 1 || twice[0].Class != Twice || twice[0].Found != 50 {
		t.Errorf("two epochs: %+v", twice)
	}
}

// TestTwice: offsets that two epochs counted are counted twice if both counted the same
// topic, and not if the topic was recreated in between.
func TestTwice(t *testing.T) {
	notes := func(first, second byte) []Finding {
		a := New(Job{Name: "clicks", Topic: "web", Chunk: 100}, Scope{})
		line := func(epoch uint8, chunk, next int64, counted uint64, id byte) {
			l := window.Line{Epoch: epoch, Partition: 2, Chunk: chunk, First: chunk * 100, Next: next, TopicID: [16]byte{id}}
			l.Outcomes[window.Counted], l.Outcomes[window.Late] = counted, uint64(l.Next-l.First)-counted
			a.Hits(l.Slot(), counted, true)
			a.Line(&l, true)
		}
		line(0, 0, 100, 90, first)
		line(0, 1, 160, 60, first)
		line(1, 0, 100, 90, second)
		line(1, 1, 130, 30, second)
		check(t, "within an epoch", slices.Collect(a.Findings), nil)
		return slices.Collect(a.Notes)
	}
	check(t, "another topic", notes(1, 2), nil)
	check(t, "a topic without an id", notes(0, 0), nil)
	check(t, "one topic", notes(1, 1), []Finding{{Class: Twice, Job: "clicks", Topic: "web", Epoch: 1, Partition: 2, Offsets: Offsets{0, 130}, Found: 120}})
}

// TestThinned: differences that compaction explains are told apart from damage, where
// the gaps do not explain them.
func TestThinned(t *testing.T) {
	audit := func(counted, gap, next, hits uint64) []Finding {
		a := New(Job{Chunk: 512}, Scope{})
		a.Hits(slot(0, 0), hits, true)
		a.Line(&window.Line{Next: int64(next), Outcomes: outcomes{window.Counted: counted, window.Gap: gap}}, true)
		return slices.Collect(a.Findings)
	}
	for _, c := range []struct {
		name                     string
		counted, gap, next, hits uint64
		thinned                  bool
	}{
		{"40 of 100 compacted away, nothing new", 100, 40, 100, 100, true},
		{"40 of 100 compacted away, 100 more, in rows of their own", 160, 40, 200, 200, true},
		{"an outcome raised by hand", 101, 0, 100, 101, false},
		{"a row raised by hand", 100, 0, 100, 101, false},
		{"more than the gaps explain", 160, 40, 200, 201, false},
	} {
		found := audit(c.counted, c.gap, c.next, c.hits)
		if len(found) != 1 || found[0].Thinned() != c.thinned {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
	check(t, "nothing is off", audit(160, 40, 200, 160), nil)
	if with(chunk(Hole, 0, 0, 90, 100), func(f *Finding) { f.Gaps = 10 }).Thinned() {
		t.Error("a hole is explained by compaction")
	}
}

// TestLog: the end of the ledger is compared with the log, for each partition in its
// latest epoch.
func TestLog(t *testing.T) {
	a := New(Job{Name: "clicks", Topic: "web", Chunk: 1000}, Scope{})
	for _, r := range []Reached{
		{Partition: 0, First: 0, Next: 90}, {Partition: 1, First: 30, Next: 150}, {Partition: 2, First: 0, Next: 10},
		{Partition: 3, First: 0, Next: 500}, {Partition: 8, First: 0, Next: 3}, {Partition: 9, First: 5, Next: 7},
		{Partition: 3, Epoch: 1, First: 0, Next: 100}, {Partition: 5, Epoch: 1, First: 0, Next: 100},
		{Partition: 6, Epoch: 1, First: 50, Next: 80}, {Partition: 7, Epoch: 1, First: 50, Next: 80},
	} {
		a.Line(&window.Line{Epoch: r.Epoch, Partition: r.Partition, First: r.First, Next: r.Next, Outcomes: outcomes{window.Late: uint64(r.Next - r.First)}}, true)
	}
	check(t, "the lines", slices.Collect(a.Findings), nil)
	found, lag := a.Log([]event.Assignment{
		{Partition: 0, LogEnd: 100}, {Partition: 1, LogStart: 20, LogEnd: 100}, {Partition: 2, LogStart: 40, LogEnd: 100},
		{Partition: 3, LogEnd: 100}, {Partition: 4, LogStart: 5, LogEnd: 25}, {Partition: 5, LogStart: 60, LogEnd: 80},
		{Partition: 6, LogStart: 49, LogEnd: 90}, {Partition: 7, LogStart: 50, LogEnd: 80},
	})
	if want := int64(10 + 60 + 20 + 10); lag != want {
		t.Errorf("lag %d, want %d", lag, want)
	}
	of := func(k Class, epoch uint8, partition int32, o Offsets, expected, found uint64) Finding {
		return Finding{Class: k, Job: "clicks", Topic: "web", Epoch: epoch, Partition: partition, Offsets: o, Expected: expected, Found: found}
	}
	check(t, "the log", found, []Finding{
		of(Beyond, 0, 1, Offsets{30, 100}, 150, 100),
		of(Deleted, 0, 2, Offsets{10, 40}, 10, 40),
		of(Beyond, 1, 5, Offsets{60, 80}, 100, 80),
		of(Beginning, 1, 6, Offsets{49, 50}, 49, 50),
		of(Vanished, 0, 8, Offsets{0, 3}, 3, 0),
		of(Vanished, 0, 9, Offsets{5, 7}, 7, 0),
	})
}

// TestLogOfNewTopic: offsets of a topic that was deleted and created again are not compared with
// those of the topic before, until a partition of the new one is counted after the old one. Then
// partitions that only the old one had are no difference.
func TestLogOfNewTopic(t *testing.T) {
	before, now := [16]byte{1}, [16]byte{2}
	read := func(lines ...window.Line) *Audit {
		a := New(Job{Name: "clicks", Topic: "web", Chunk: 1000}, Scope{})
		for i := range lines {
			lines[i].Outcomes = outcomes{window.Late: uint64(lines[i].Next)}
			a.Line(&lines[i], true)
		}
		return a
	}
	log := []event.Assignment{{Partition: 0, LogEnd: 100, TopicID: now}, {Partition: 1, LogEnd: 70, TopicID: now}}
	old0, old1, old2 := window.Line{Partition: 0, Next: 100, TopicID: before}, window.Line{Partition: 1, Next: 80, TopicID: before}, window.Line{Partition: 2, Next: 30, TopicID: before}
	of := func(k Class, p int32, next int64, end uint64) Finding {
		return Finding{Class: k, Job: "clicks", Topic: "web", Partition: p, Offsets: Offsets{0, next}, Expected: uint64(next), Found: end}
	}
	a := read(old0, old1, old2)
	found, lag := a.Log(log)
	check(t, "nothing of the new topic is counted", found, []Finding{of(Recreated, 0, 100, 100), of(Recreated, 1, 80, 70), of(Vanished, 2, 30, 0)})
	if lag != 170 {
		t.Errorf("lag %d, want 170", lag)
	}
	if a.Current(0, log[0]) {
		t.Error("the old topic can be read again")
	}

	a = read(old0, old1, old2, window.Line{Epoch: 1, Partition: 0, Next: 90, TopicID: now})
	found, lag = a.Log(log)
	check(t, "a partition of the new topic is counted", found, nil)
	if lag != 80 {
		t.Errorf("lag %d, want 80", lag)
	}
	if a.Current(0, log[0]) || !a.Current(1, log[0]) {
		t.Error("the new topic, and it alone, can be read again")
	}

	again := []event.Assignment{{Partition: 0, LogEnd: 103, TopicID: before}, {Partition: 1, LogEnd: 80, TopicID: before}, {Partition: 2, LogEnd: 31, TopicID: before}}
	found, lag = a.Log(again)
	check(t, "the old topic again", found, nil)
	if lag != 4 || !a.Current(0, again[0]) || a.Current(1, again[0]) {
		t.Errorf("the old topic again: lag %d, want 4; or it cannot be read again", lag)
	}
	if found := a.Beginnings(map[int32]event.Span{0: {First: -5, TopicID: before}, 1: {First: -5, TopicID: now}}); len(found) != 1 || found[0].Partition != 0 {
		t.Errorf("beginnings: %+v", found)
	}
	found, _ = a.Log(again[:2])
	check(t, "without a partition that it had", found, []Finding{of(Vanished, 2, 30, 0)})

	for i := range log { // a broker that tells no ids
		log[i].TopicID = [16]byte{}
	}
	found, _ = read(old0, old1, old2).Log(log)
	check(t, "without ids", found, []Finding{{Class: Beyond, Job: "clicks", Topic: "web", Partition: 1, Offsets: Offsets{0, 70}, Expected: 80, Found: 70}, of(Vanished, 2, 30, 0)})
}
