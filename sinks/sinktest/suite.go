package sinktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/measures/hll"
	"weir/measures/quantile"
	"weir/sinks/memory"
	"weir/window"
)

// Run runs the suite, or only some tests of it. begin makes an empty backend.
func Run(t *testing.T, begin func(t *testing.T) Backend, only ...string) {
	runAll(t, begin, only, []test{
		{"Merges", merges},
		{"Inserts", inserts},
		{"Restart", restart},
		{"Known", known},
		{"Views", views},
		{"Numbers", numbers},
		{"DeadLetters", deadLetters},
		{"Audit", audits},
		{"Each", each},
		{"Folds", folds},
		{"Repair", repair},
		{"Fingerprints", fingerprints},
	})
}

// A test is one of a suite.
type test struct {
	name string
	run  func(t *testing.T, b Backend)
}

// runAll runs each test with a backend of its own.
func runAll(t *testing.T, begin func(t *testing.T) Backend, only []string, tests []test) {
	for _, name := range only {
		if !slices.ContainsFunc(tests, func(c test) bool { return c.name == name }) {
			t.Fatalf("the suite has no test %s", name)
		}
	}
	for _, c := range tests {
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(t, begin(t)) })
	}
}

// reference returns what sinks/memory has after one undisturbed pass over the log.
func reference(t *testing.T, log *Log, spec *window.Spec) (*memory.Contents, *memory.Sink) {
	t.Helper()
	store := memory.New()
	s, err := store.Job(spec, Topic, Rollups...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), whole(t, log, spec)); err != nil {
		t.Fatal(err)
	}
	return store.Contents(spec.Job, spec.Version), s
}

func whole(t *testing.T, log *Log, spec *window.Spec) *window.Changes {
	t.Helper()
	c, err := log.Whole(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pieces(t *testing.T, log *Log, spec *window.Spec, seed uint64) []*window.Changes {
	t.Helper()
	ps, err := log.Pieces(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func open(t *testing.T, b Backend, spec *window.Spec) Sink {
	t.Helper()
	s, err := b.Open(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, s Sink, c *window.Changes) {
	t.Helper()
	if err := s.Write(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// merges: changes that are written twice, in another order, in portions and in part are
// stored as if they were written once.
func merges(t *testing.T, b Backend) {
	log, spec := NewLog(2), Spec()
	want, _ := reference(t, log, spec)
	if len(want.Rows) < 20 || len(want.Dead) < 20 || len(want.Ledger) < 15 || len(want.Places["places"]) < 100 {
		t.Fatalf("the log is too poor: %d rows, %d dead letters, %d lines", len(want.Rows), len(want.Dead), len(want.Ledger))
	}
	s := open(t, b, spec)
	other := open(t, b, spec)
	r := rand.New(rand.NewPCG(2, 2))
	all := append(pieces(t, log, spec, 1), pieces(t, log, spec, 2)...)
	if len(all) < 10 {
		t.Fatalf("%d pieces", len(all))
	}
	// A part of an insert that failed in the middle: some rows, no ledger.
	part, op := window.NewTable(spec), all[3]
	op.Table.Copy(part, &window.Range{From: 0, Until: 1 << 62, Group: [][]byte{[]byte("/p/1"), nil}})
	part.Seal()
	all = append(all, &window.Changes{Table: part})
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, c := range all {
		write(t, []Sink{s, other}[i%2], c)
	}
	for range 5 {
		write(t, other, all[r.IntN(len(all))])
	}
	Same(t, "written in pieces", b.Contents(t, spec), want)
}

// inserts: rows that are inserted are there without a line. A Write that has them as Sent makes them durable,
// also when another process has rolled up meanwhile.
func inserts(t *testing.T, b Backend) {
	log, spec := NewLog(2), Spec()
	want, _ := reference(t, log, spec)
	s, other := open(t, b, spec), open(t, b, spec)
	c := &window.Changes{Table: window.NewTable(spec)}
	seal := func() {
		for _, t := range c.Tables() {
			t.Seal()
		}
	}
	for i, more := range pieces(t, log, spec, 3) {
		c.Merge(more)
		seal()
		if i%3 == 2 {
			write(t, s, c)
			c = &window.Changes{Table: window.NewTable(spec)}
		} else {
			rows := c.Table.Len()
			round, err := s.Insert(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			c.Inserted(round)
			if known, err := other.Known(t.Context()); i == 0 && (err != nil || len(known) > 0 || rows == 0 || len(b.Contents(t, spec).Rows) != rows) {
				t.Fatalf("%d rows were inserted: the ledger has %v, the table %d rows; %v", rows, known, len(b.Contents(t, spec).Rows), err)
			}
		}
		if i%2 == 0 {
			if err := other.Rollup(t.Context(), true, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	seal()
	write(t, s, c)
	Same(t, "inserted, then made durable", b.Contents(t, spec), want)
}

// restart: processes that continue from the ledger come to the same result, also with the states that it has of chunks.
func restart(t *testing.T, b Backend) {
	restarts(t, b, Spec())
	saving := Spec()
	saving.Job, saving.Dedupe, saving.SaveAfter = "saving", nil, 1
	if restored := restarts(t, b, saving); restored == 0 {
		t.Error("no process went on with a state of the ledger")
	}
}

func restarts(t *testing.T, b Backend, spec *window.Spec) (restored int) {
	log := NewLog(3)
	want, _ := reference(t, log, spec)
	next := [partitions]int64{}
	for round := range 5 {
		s := open(t, b, spec) // another process
		known, err := s.Known(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		op, err := window.NewOperator(spec)
		if err != nil {
			t.Fatal(err)
		}
		for p := range int32(partitions) {
			if at, ok := known[p]; ok && (at.Next != next[p] || at.TopicID != topicID) {
				t.Fatalf("round %d, partition %d: the ledger says %+v, durable is %d", round, p, at, next[p])
			}
			plan, err := spec.Resume(event.Assignment{Partition: p, Committed: next[p], LogEnd: offsets, TopicID: topicID}, known, window.Policy{})
			if err != nil {
				t.Fatal(err)
			}
			op.Start(plan)
			if plan.Saved != "" {
				restored++
			}
			to := int64(offsets) * int64(round+1) / 5
			if err := log.Feed(op, p, plan.Warm, to); err != nil {
				t.Fatal(err)
			}
			next[p] = to
		}
		c := op.Take()
		c.Table.Seal()
		write(t, s, c)
		for spec.SaveAfter > 0 && round == 0 { // a server that began a moment ago has no states to trust
			if known, err = s.Known(t.Context()); err != nil {
				t.Fatal(err)
			}
			if known[0].Saved != "" {
				break
			}
			time.Sleep(100 * time.Millisecond)
			write(t, s, c)
		}
		// What is taken here is lost with the process.
		op.Take()
	}
	Same(t, "after restarts", b.Contents(t, spec), want)
	return restored
}

// known: Known returns the offsets that each epoch covers, the latest epoch first. A
// line without offsets opened a partition and covers none.
func known(t *testing.T, b Backend) {
	spec := Spec()
	s := open(t, b, spec)
	at, err := s.Known(t.Context())
	if err != nil || len(at) != 0 {
		t.Fatalf("an empty ledger knows %v, %v", at, err)
	}
	line := func(p int32, epoch uint8, first, next int64, id byte) window.Line {
		l := window.Line{Partition: p, Epoch: epoch, Chunk: first / spec.Chunk, First: first, Next: next, TopicID: [16]byte{id}}
		l.Outcomes[window.Gap] = uint64(next - first)
		return l
	}
	counted := func(l window.Line) window.Line {
		l.Outcomes = [window.Outcomes]uint64{window.Counted: uint64(l.Next - l.First)}
		return l
	}
	empty := window.NewTable(spec)
	empty.Seal()
	write(t, s, &window.Changes{Table: empty, Lines: []window.Line{
		counted(line(5, 0, 0, 64, 1)), counted(line(5, 0, 64, 70, 1)), line(5, 0, 70, 80, 1), counted(line(5, 0, 80, 90, 1)),
		line(0, 0, 0, 64, 1), line(0, 0, 64, 100, 1), line(0, 1, 0, 10, 2), line(3, 0, 60, 60, 1), line(3, 0, 64, 70, 1), line(4, 0, 7, 7, 1), line(65535, 255, 0, 1, 255),
	}})
	write(t, s, &window.Changes{Table: empty, Lines: []window.Line{line(3, 0, 64, 68, 1)}}) // an older one, late
	at, err = s.Known(t.Context())
	want := map[int32]window.Known{
		0: {Epoch: 1, TopicID: [16]byte{2}, Next: 10, Blank: window.Span{Next: 10},
			Earlier: &window.Known{TopicID: [16]byte{1}, Next: 100, Blank: window.Span{First: 64, Next: 100}}},
		3:     {TopicID: [16]byte{1}, First: 64, Next: 70, Blank: window.Span{First: 64, Next: 70}},
		4:     {TopicID: [16]byte{1}, First: 7, Next: 7},
		5:     {TopicID: [16]byte{1}, Next: 90, Blank: window.Span{First: 70, Next: 80}},
		65535: {Epoch: 255, TopicID: [16]byte{255}, Next: 1, Blank: window.Span{Next: 1}},
	}
	if err != nil || len(at) != len(want) {
		t.Fatalf("known %v, %v; want %v", at, err, want)
	}
	for p, k := range want {
		if !reflect.DeepEqual(at[p], k) {
			t.Errorf("partition %d is known as %+v, want %+v", p, at[p], k)
		}
	}
}

// views: the views are exact as of the last write, with and without a Rollup in between,
// of the windows that are complete and of all. A second Rollup changes nothing.
func views(t *testing.T, b Backend) {
	log, spec := NewLog(4), Spec()
	_, twin := reference(t, log, spec)
	s := open(t, b, spec)
	all := pieces(t, log, spec, 1)
	part := len(all) / 4
	interim := memory.New()
	upTo, err := interim.Job(spec, Topic, Rollups...)
	if err != nil {
		t.Fatal(err)
	}
	exact := func(what string, with *memory.Sink) {
		t.Helper()
		for _, length := range Rollups {
			SameNumbers(t, fmt.Sprintf("%s, %d ms", what, length), b.View(t, spec, length), with.View(length))
		}
	}
	rollup := func(all bool, watermark event.Time) {
		t.Helper()
		if err := s.Rollup(t.Context(), all, watermark); err != nil {
			t.Fatal(err)
		}
	}
	for i, watermark := range []event.Time{0, base + 5*Rollups[0], base + 2*Rollups[1]} {
		for _, c := range all[i*part : (i+1)*part] {
			write(t, s, c)
			write(t, upTo, c)
		}
		exact("before a rollup", upTo)
		for range 2 {
			rollup(false, watermark)
			exact("after a rollup", upTo)
		}
	}
	for _, c := range all[3*part:] {
		write(t, s, c)
	}
	exact("written since the rollup", twin)
	for range 2 {
		rollup(true, 0)
		exact("rolled up", twin)
	}
	// A second process comes to the same rollups, also of what was written long before.
	if err := open(t, b, spec).Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	exact("rolled up by another", twin)
}

// deadLetters: repeated letters are stored once, with every byte of the payload.
func deadLetters(t *testing.T, b Backend) {
	spec := Spec()
	s := open(t, b, spec)
	empty := window.NewTable(spec)
	empty.Seal()
	letters := []window.DeadLetter{
		{Partition: 1, Offset: 7, Outcome: window.Malformed, Reason: "it's \\ \"quoted\"", Time: base, Payload: []byte("a\x00b\xff\n\n\tc'\\"), Size: 10},
		{Partition: 1, Epoch: 1, Offset: 7, Outcome: window.Late, Reason: "older", Time: 1},
		{Partition: 2, Offset: 1 << 40, Outcome: window.Future, Reason: "newer", Time: base, Payload: make([]byte, 16<<10), Size: 6_000_000}, // cut
	}
	for range 3 {
		write(t, s, &window.Changes{Table: empty, Dead: letters})
	}
	want := memory.New()
	twin, err := want.Job(spec, Topic)
	if err != nil {
		t.Fatal(err)
	}
	write(t, twin, &window.Changes{Table: empty, Dead: letters})
	got := b.Contents(t, spec)
	if len(got.Dead) != 3 {
		t.Errorf("%d dead letters, want 3", len(got.Dead))
	}
	Same(t, "dead letters", got, want.Contents(spec.Job, spec.Version))
}

// find runs the audit and returns its findings.
func find(t *testing.T, s Sink, spec *window.Spec) ([]audit.Finding, *audit.Audit) {
	t.Helper()
	steps := 0
	a := audit.New(audit.Job{Name: spec.Job, Topic: Topic, Chunk: spec.Chunk}, audit.Scope{})
	err := s.Audit(t.Context(), a, func(done, total int) {
		if steps++; done != steps || total < done {
			t.Errorf("step %d is reported as %d of %d", steps, done, total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if steps == 0 {
		t.Error("no progress was reported")
	}
	return slices.Collect(a.Findings), a
}

// audits: the audit finds nothing after a clean run, and each damage with its place.
func audits(t *testing.T, b Backend) {
	log, spec := NewLog(5), Spec()
	want, _ := reference(t, log, spec)
	s := open(t, b, spec)
	for _, c := range pieces(t, log, spec, 3) {
		write(t, s, c)
	}
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	found, a := find(t, s, spec)
	for _, f := range found {
		t.Errorf("after a clean run: %+v", f)
	}
	for f := range a.Notes {
		t.Errorf("after a clean run it notes %+v", f)
	}
	hours := map[memory.Key]bool{}
	for key := range want.Rows {
		hours[memory.Key{Window: key.Window - key.Window%Rollups[1], Group: key.Group}] = true
	}
	if l := a.Looked(); l.Lines != len(want.Ledger) || l.Chunks == 0 || l.Windows != len(want.Rows)+len(hours) || len(a.Reached()) != partitions {
		t.Errorf("looked at %+v, want %d lines and %d windows", l, len(want.Ledger), len(want.Rows))
	}
	for _, r := range a.Reached() {
		if r.First != 0 || r.Next != offsets {
			t.Errorf("reached %+v", r)
		}
	}

	damages(t, b, s, spec, want)
}

// each: of records that are arrays of events the ledger keeps both numbers, and the audit
// knows both.
func each(t *testing.T, b Backend) {
	log, spec := NewEachLog(8), EachSpec()
	want, _ := reference(t, log, spec)
	s := open(t, b, spec)
	all := append(pieces(t, log, spec, 3), pieces(t, log, spec, 4)...)
	rand.New(rand.NewPCG(8, 8)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all {
		write(t, s, c)
	}
	Same(t, "events of arrays", b.Contents(t, spec), want)
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	found, a := find(t, s, spec)
	for _, f := range found {
		t.Errorf("after a clean run: %+v", f)
	}
	var hits, counted, records, bad uint64
	for _, row := range want.Rows {
		hits += row.Sum()
	}
	for _, l := range want.Lines() {
		counted += l.Events.By[window.Counted]
		records += l.Outcomes[window.Counted]
		bad += l.Events.By[window.Malformed]
	}
	if hits != counted || records >= counted || records == 0 || bad == 0 || a.Looked().Chunks == 0 {
		t.Fatalf("%d hits, %d events and %d records counted, %d malformed events: the log is too poor", hits, counted, records, bad)
	}
	lines := slices.DeleteFunc(want.Lines(), func(l window.Line) bool { return l.Outcomes[window.Counted] < 2 })
	for i, c := range []struct {
		what   string
		change func(*window.Line)
		kinds  []audit.Class
	}{
		{"an event counted too many", func(l *window.Line) { l.Events.By[window.Counted]++ }, []audit.Class{audit.Uneven, audit.Missing}},
		{"and in all", func(l *window.Line) { l.Events.By[window.Counted]++; l.Events.All++ }, []audit.Class{audit.Missing}},
		{"an event late too many", func(l *window.Line) { l.Events.By[window.Late]++ }, []audit.Class{audit.Uneven}},
		{"an event in all too many", func(l *window.Line) { l.Events.All++ }, []audit.Class{audit.Uneven}},
		{"a record counted too many", func(l *window.Line) { l.Outcomes[window.Counted]++ }, []audit.Class{audit.Unbalanced}},
	} {
		changed := lines[i]
		c.change(&changed)
		b.ChangeLine(t, spec, changed)
		found, _ := find(t, s, spec)
		for _, k := range c.kinds {
			if !slices.ContainsFunc(found, func(f audit.Finding) bool {
				return f.Class == k && f.Partition == changed.Partition && f.Chunk == changed.Chunk
			}) {
				t.Errorf("%s in partition %d, chunk %d: no %v among %+v", c.what, changed.Partition, changed.Chunk, k, found)
			}
		}
	}
}

// damages changes what is stored, one thing after another. An audit finds each.
func damages(t *testing.T, b Backend, s Sink, spec *window.Spec, want *memory.Contents) {
	expect := func(what string, want ...audit.Finding) {
		t.Helper()
		found, _ := find(t, s, spec)
		for _, w := range want {
			if !slices.ContainsFunc(found, func(f audit.Finding) bool {
				return f.Class == w.Class && f.Partition == w.Partition && f.Chunk == w.Chunk && f.Window == w.Window && f.Group == w.Group
			}) {
				t.Errorf("%s: not found: %+v; found %+v", what, w, found)
			}
		}
	}

	lines := want.Lines()
	victim := lines[len(lines)/2]
	changed := victim
	changed.Outcomes[window.Late]++
	b.ChangeLine(t, spec, changed)
	expect("an outcome changed", audit.Finding{Class: audit.Unbalanced, Partition: victim.Partition, Chunk: victim.Chunk})

	// A line in the middle, so that there is one after it.
	i := slices.IndexFunc(lines, func(l window.Line) bool { return l.Partition == 1 && l.Chunk == 2 })
	gone := lines[i]
	b.DeleteLine(t, spec, memory.LineKey{Epoch: gone.Epoch, Partition: gone.Partition, Chunk: gone.Chunk, First: gone.First})
	expect("a line deleted",
		audit.Finding{Class: audit.Hole, Partition: 1, Chunk: 3},
		audit.Finding{Class: audit.Unknown, Partition: 1, Chunk: 2})

	var key memory.Key
	for k, row := range want.Rows { // the row with the most events, which is the same for every backend
		if best := want.Rows[key]; best == nil || row.Sum() > best.Sum() || row.Sum() == best.Sum() && (k.Window < key.Window || k.Window == key.Window && k.Group < key.Group) {
			key = k
		}
	}
	row := want.Rows[key]
	slots := slices.Collect(func(yield func(window.Slot) bool) {
		for slot := range row.Hits {
			if (slot.Partition() != 1 || slot.Chunk() != 2) && !yield(slot) {
				return
			}
		}
	})
	slices.Sort(slots)
	b.RaiseSlot(t, spec, key, slots[0])
	expect("a slot raised", audit.Finding{Class: audit.Excess, Partition: slots[0].Partition(), Chunk: slots[0].Chunk()})

	b.DeleteRow(t, spec, key)
	groups := key.Groups()
	expect("a row deleted",
		audit.Finding{Class: audit.Missing, Partition: slots[0].Partition(), Chunk: slots[0].Chunk()},
		audit.Finding{Class: audit.Lost, Window: key.Window, Group: groups[0] + " " + groups[1]})
	if found, _ := find(t, s, spec); len(found) < 4 {
		t.Errorf("found only %+v", found)
	}
}

// folds: a folded ledger knows as much as before, for a process that starts and for the audit; it is the same
// if several processes fold it, and after lines of a zombie have come back.
func folds(t *testing.T, b Backend) {
	log, spec := NewLog(5), Spec()
	s, other := open(t, b, spec), open(t, b, spec)
	all := pieces(t, log, spec, 3)
	for _, c := range all {
		write(t, s, c)
	}
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	known := func() any {
		at, err := s.Known(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	fold := func(s Sink) {
		t.Helper()
		if err := s.Fold(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	clean := func(what string, lines int) {
		t.Helper()
		found, a := find(t, s, spec)
		if l := a.Looked(); len(found) > 0 || l.Lines != lines || l.Chunks != lines {
			t.Errorf("%s: looked at %+v, want %d lines; found %+v", what, l, lines, found)
		}
		for f := range a.Notes {
			t.Errorf("%s: it notes %+v", what, f)
		}
	}
	const folded = 3 * partitions // chunks 0 to 3, 4 and 5, and the open one
	before, first := known(), b.Contents(t, spec)
	clean("before", len(first.Ledger))
	fold(s)
	fold(other)
	clean("folded", folded)
	want := b.Contents(t, spec)
	if len(want.Ledger) != folded || len(first.Ledger) != 7*partitions || !reflect.DeepEqual(known(), before) {
		t.Fatalf("%d lines, folded from %d; it knows %v, and before %v", len(want.Ledger), len(first.Ledger), known(), before)
	}
	for _, c := range all {
		write(t, other, c)
	}
	if n := len(b.Contents(t, spec).Ledger); n <= folded {
		t.Fatalf("%d lines after a zombie", n)
	}
	clean("lines that have come back", folded)
	fold(other)
	Same(t, "folded again", b.Contents(t, spec), want)

	var key memory.Key
	var slot window.Slot
	for k, row := range want.Rows {
		for at := range row.Hits {
			if at.Partition() == 1 && at.Chunk() == 2 {
				key, slot = k, at
			}
		}
	}
	b.RaiseSlot(t, spec, key, slot)
	found, _ := find(t, s, spec)
	if !slices.ContainsFunc(found, func(f audit.Finding) bool {
		return f.Class == audit.Excess && f.Partition == 1 && f.Chunk == 0 && f.Offsets == audit.Offsets{First: 0, Next: 4 * spec.Chunk} && f.Found == f.Expected+1
	}) {
		t.Errorf("a slot of a folded chunk raised: found %+v", found)
	}
	b.DeleteLine(t, spec, memory.LineKey{Partition: 1})
	if found, _ := find(t, s, spec); !slices.ContainsFunc(found, func(f audit.Finding) bool { return f.Class == audit.Unknown && f.Partition == 1 && f.Chunk == 2 }) {
		t.Errorf("a fold deleted: found %+v", found)
	}
}

// repair: the audit finds missing rows of rollups, at each level, and a repair makes them
// again.
func repair(t *testing.T, b Backend) {
	log, spec := NewLog(7), Spec()
	_, twin := reference(t, log, spec)
	s := open(t, b, spec)
	for _, c := range pieces(t, log, spec, 1) {
		write(t, s, c)
	}
	for _, sink := range []Sink{s, twin} {
		if err := sink.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, gone := range [][]event.Time{{Rollups[0]}, {Rollups[1]}, Rollups} {
		// The audit does not judge rows that a repair has just made until the next Rollup.
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
		for _, length := range gone {
			b.DeleteRollup(t, spec, length)
		}
		found, _ := find(t, s, spec)
		behind := map[event.Time]int{}
		for _, f := range found {
			if f.Class == audit.Behind {
				behind[f.Length]++
			} else if f.Class != audit.Lost {
				t.Errorf("%v deleted: found %+v", gone, f)
			}
		}
		// An hour that is deleted together with its minutes is compared with nothing.
		if want := len(twin.View(gone[0])); behind[gone[0]] != want {
			t.Errorf("%v deleted: %d windows are found, want %d", gone, behind[gone[0]], want)
		}
		b.Repair(t, spec)
		for _, length := range Rollups {
			SameNumbers(t, "repaired", b.View(t, spec, length), twin.View(length))
		}
		if found, _ := find(t, s, spec); len(found) > 0 {
			t.Errorf("repaired: found %+v", found)
		}
	}
}

// fingerprints: opening a job with a changed meaning is a fatal error, with a new measure
// it is not, and a higher version begins with empty tables.
func fingerprints(t *testing.T, b Backend) {
	log, spec := NewLog(6), Spec()
	write(t, open(t, b, spec), whole(t, log, spec))

	refused := func(what string, change func(*window.Spec)) {
		t.Helper()
		s := Spec()
		change(s)
		_, err := b.Open(t, s)
		var fatal interface{ Fatal() bool }
		if !errors.As(err, &fatal) || !fatal.Fatal() {
			t.Errorf("%s: %v, want a fatal error", what, err)
		}
	}
	refused("another chunk", func(s *window.Spec) { s.Chunk *= 2 })
	refused("another lateness", func(s *window.Spec) { s.Lateness++ })
	refused("another column", func(s *window.Spec) { s.By[0].Path = "url" })
	refused("another error", func(s *window.Spec) { s.Measures[2].Error = 0.02 })
	refused("a hash key", func(s *window.Spec) { s.HashKey = new([16]byte) })

	more := Spec()
	more.Measures = append(more.Measures, window.Measure{Name: "ids", Kind: hll.Kind, Path: "id"},
		window.Measure{Name: "prices", Kind: quantile.Kind, Path: "price", Optional: true, Error: 0.01})
	s := open(t, b, more)
	write(t, s, whole(t, log, more))
	want, twin := reference(t, log, more)
	Same(t, "with two measures more", b.Contents(t, more), want)
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	SameNumbers(t, "with two measures more", b.View(t, more, Rollups[0]), twin.View(Rollups[0]))

	next := Spec()
	next.Version, next.Chunk = 2, 128
	s = open(t, b, next)
	if at, err := s.Known(t.Context()); err != nil || len(at) != 0 {
		t.Errorf("version 2 knows %v, %v before anything was written", at, err)
	}
	write(t, s, whole(t, log, next))
	want, twin = reference(t, log, next)
	Same(t, "version 2", b.Contents(t, next), want)
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	SameNumbers(t, "version 2", b.View(t, next, Rollups[0]), twin.View(Rollups[0]))
	want, _ = reference(t, log, more)
	Same(t, "version 1, after version 2", b.Contents(t, more), want)
}
