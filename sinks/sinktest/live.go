package sinktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A LiveSink is a sink that can be read back: what serve/live needs of one, see
// live.Sink.
type LiveSink interface {
	Sink
	Total(ctx context.Context, r *window.Range) (uint64, error)
	Totals(ctx context.Context, r *window.Range, yield func(start event.Time, total uint64)) error
	Rows(ctx context.Context, r *window.Range, m int, into *window.Table) error
	State(ctx context.Context, r *window.Range, m int) ([]byte, error)
	States(ctx context.Context, r *window.Range, m int, yield func(start event.Time, state []byte) error) error
	Places(ctx context.Context, r *window.Range, m int, last *geo.Last) error
	Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error
}

// RunLive runs the suite for reading, or only some tests of it. begin makes an empty backend,
// whose sinks are LiveSinks.
func RunLive(t *testing.T, begin func(t *testing.T) Backend, only ...string) {
	runAll(t, begin, only, []test{
		{"Empty", empty},
		{"Selections", selections},
		{"Merged", mergedReads},
		{"WhileWritten", whileWritten},
		{"Stops", stops},
	})
}

func openLive(t *testing.T, b Backend, spec *window.Spec) LiveSink {
	t.Helper()
	s, ok := open(t, b, spec).(LiveSink)
	if !ok {
		t.Fatalf("a %T cannot be read back", s)
	}
	return s
}

// everything selects all rows.
func everything(spec *window.Spec) *window.Range {
	return &window.Range{From: window.Oldest, Until: window.Newest, Group: make([][]byte, len(spec.By))}
}

// empty: there is nothing in a sink that nothing was written to, and that is no error.
func empty(t *testing.T, b Backend) {
	spec := Spec()
	s := openLive(t, b, spec)
	nothing := window.NewTable(spec)
	nothing.Seal()
	sameRows(t, s, everything(spec), nothing)
}

// selections: a range selects rows by window and by group, and what was written of
// them comes back. Its ends may be beyond every time that a sink can store.
func selections(t *testing.T, b Backend) {
	log, spec := NewLog(3), Spec()
	s, c := openLive(t, b, spec), whole(t, log, spec)
	write(t, s, c)
	first, last := event.Time(math.MaxInt64), event.Time(0)
	for row := range c.Table.Rows {
		first, last = min(first, row.Window()), max(last, row.Window())
	}
	for name, r := range map[string]*window.Range{
		"everything":     {From: 0, Until: last + spec.Window, Group: [][]byte{nil, nil}},
		"one window":     {From: first, Until: first + 1, Group: [][]byte{nil, nil}},
		"but the last":   {From: first, Until: last, Group: [][]byte{nil, nil}},
		"but the first":  {From: first + 1, Until: last + 1, Group: [][]byte{nil, nil}},
		"a page":         {From: first, Until: last, Group: [][]byte{[]byte("/p/1"), nil}},
		"a country":      {From: first, Until: last, Group: [][]byte{nil, []byte("??")}},
		"one group":      {From: 0, Until: last + spec.Window, Group: [][]byte{[]byte("/p/2"), []byte("Ünited\nsp ace")}},
		"hostile":        {From: 0, Until: last + spec.Window, Group: [][]byte{[]byte(`'); DROP TABLE x; --\`), nil}},
		"no page":        {From: 0, Until: last + spec.Window, Group: [][]byte{{}, nil}},
		"no window":      {From: 1, Until: 2, Group: [][]byte{nil, nil}},
		"ends too early": {From: last, Until: first, Group: [][]byte{nil, nil}},
		"all times":      everything(spec),
		"of every clock": {From: -1, Until: (math.MaxUint32 + 3600) * 1000, Group: [][]byte{nil, nil}},
		"the last time":  {From: window.Newest - 1, Until: window.Newest, Group: [][]byte{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) { sameRows(t, s, r, c.Table) })
	}
}

// mergedReads: what was written in pieces, again, in another order, by two processes
// and rolled up in between reads as if it had been written once.
func mergedReads(t *testing.T, b Backend) {
	log, spec := NewLog(2), Spec()
	s := openLive(t, b, spec)
	other := openLive(t, b, spec)
	all := append(pieces(t, log, spec, 1), pieces(t, log, spec, 2)...)
	for i, c := range slices.Backward(all) {
		write(t, []LiveSink{s, other}[i%2], c)
		if i == len(all)/2 {
			if err := other.Rollup(t.Context(), true, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := whole(t, log, spec).Table
	sameRows(t, s, everything(spec), want)
	sameRows(t, other, &window.Range{From: 0, Until: window.Newest, Group: [][]byte{[]byte("/p/3"), nil}}, want)
}

// whileWritten: reads while another process writes hold at least what was acknowledged
// before they began, and nothing that was never counted.
func whileWritten(t *testing.T, b Backend) {
	log, spec := NewLog(4), Spec()
	s, writer := openLive(t, b, spec), openLive(t, b, spec)
	var mu sync.Mutex
	var acknowledged uint64
	all := pieces(t, log, spec, 1)
	counted := window.NewTable(spec)
	var most uint64
	for row := range whole(t, log, spec).Table.Rows {
		most += hitsOf(row)
	}
	var readers sync.WaitGroup
	begin := make(chan struct{}) // a reader takes a token for each read
	for range 2 {
		readers.Go(func() {
			for range begin {
				mu.Lock()
				least := acknowledged
				mu.Unlock()
				if n, err := s.Total(t.Context(), everything(spec)); err != nil || n < least || n > most {
					t.Errorf("%d events, %v; %d were acknowledged, of %d", n, err, least, most)
				}
			}
		})
	}
	for _, c := range all {
		begin <- struct{}{} // a read begins with each write, and the last one may go on
		write(t, writer, c)
		c.Table.Copy(counted, everything(spec))
		sealed := window.NewTable(spec)
		counted.Copy(sealed, everything(spec))
		sealed.Seal()
		var n uint64
		for row := range sealed.Rows {
			n += hitsOf(row)
		}
		mu.Lock()
		acknowledged = n
		mu.Unlock()
	}
	begin <- struct{}{} // once more, when everything is there
	close(begin)
	readers.Wait()
}

// stops: a read ends with its context, with the error of its caller, and at its limit.
func stops(t *testing.T, b Backend) {
	log, spec := NewLog(1), Spec()
	s, c := openLive(t, b, spec), whole(t, log, spec)
	write(t, s, c)
	r := everything(spec)
	refused := errors.New("refused")
	if err := s.States(t.Context(), r, 0, func(event.Time, []byte) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("States: %v, want the error of its caller", err)
	}
	listed := func(limit, most int) (starts []event.Time) {
		t.Helper()
		if err := s.Windows(t.Context(), r, limit, func(start event.Time, _ []string) bool {
			starts = append(starts, start)
			return len(starts) < most
		}); err != nil {
			t.Fatal(err)
		}
		return starts
	}
	if n := len(listed(7, 1000)); n != 7 {
		t.Errorf("%d rows are listed, the limit is 7", n)
	}
	if n := len(listed(1000, 3)); n != 3 {
		t.Errorf("%d rows are listed, the caller wanted 3", n)
	}
	if all := listed(1000, 1000); !slices.IsSorted(all) {
		t.Errorf("rows are not listed by window: %v", all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, total := s.Total(ctx, r)
	_, state := s.State(ctx, r, 0)
	for name, err := range map[string]error{
		"Total": total, "State": state,
		"Totals":  s.Totals(ctx, r, func(event.Time, uint64) {}),
		"Counts":  s.Rows(ctx, r, window.Counts, window.NewTable(spec)),
		"States":  s.States(ctx, r, 0, func(event.Time, []byte) error { return nil }),
		"Places":  s.Places(ctx, r, 3, new(geo.Last)),
		"Windows": s.Windows(ctx, r, 10, func(event.Time, []string) bool { return true }),
	} {
		if err == nil {
			t.Errorf("%s after its context ended: no error", name)
		}
	}
}

func hitsOf(row window.Row) (n uint64) {
	for _, hits := range row.Hits {
		n += hits
	}
	return n
}

// sameRows compares all reads of a range with the rows that a table has in it.
func sameRows(t *testing.T, s LiveSink, r *window.Range, of *window.Table) {
	t.Helper()
	want := window.NewTable(of.Spec())
	of.Copy(want, r)
	want.Seal()
	sameCounts(t, s, r, want)
	spec := want.Spec()
	total, totals := uint64(0), map[event.Time]uint64{}
	for row := range want.Rows {
		total += hitsOf(row)
		totals[row.Window()] += hitsOf(row)
	}
	if n, err := s.Total(t.Context(), r); err != nil || n != total {
		t.Errorf("Total: %d, %v; want %d", n, err, total)
	}
	got := map[event.Time]uint64{}
	if err := s.Totals(t.Context(), r, func(start event.Time, n uint64) { got[start] += n }); err != nil || !maps.Equal(got, totals) {
		t.Errorf("Totals: %v, %v; want %v", got, err, totals)
	}
	listed := 0
	if err := s.Windows(t.Context(), r, 10_000, func(event.Time, []string) bool { listed++; return true }); err != nil || listed != want.Len() {
		t.Errorf("Windows: %d rows, %v; want %d", listed, err, want.Len())
	}
	for m := range spec.Measures {
		switch k := spec.Measures[m].Kind; {
		case k.ByMember:
			samePlaces(t, s, r, m, want)
		case k.Additive:
			sameSlots(t, s, r, m, want)
		default:
			sameStates(t, s, r, m, want)
		}
	}
}

// sameCounts compares the counts by slot.
func sameCounts(t *testing.T, s LiveSink, r *window.Range, want *window.Table) {
	t.Helper()
	counts := window.NewTable(want.Spec())
	if err := s.Rows(t.Context(), r, window.Counts, counts); err != nil {
		t.Fatal(err)
	}
	counts.Seal()
	bySlot := func(t *window.Table) map[string]map[window.Slot]uint64 {
		rows := map[string]map[window.Slot]uint64{}
		for row := range t.Rows {
			rows[fmt.Sprintf("%d %q", row.Window(), row.Group(nil))] = maps.Collect(row.Hits)
		}
		return rows
	}
	g, w := bySlot(counts), bySlot(want)
	for _, row := range union(g, w) {
		if !maps.Equal(g[row], w[row]) {
			t.Errorf("Counts of %s: %v, want %v", row, g[row], w[row])
		}
	}
}

// sameStates compares the states of a measure: of the whole range, and by window.
func sameStates(t *testing.T, s LiveSink, r *window.Range, m int, want *window.Table) {
	t.Helper()
	of := &want.Spec().Measures[m]
	merge := func(states ...[]byte) []byte {
		merged, err := of.Merge(states...)
		if err != nil {
			t.Fatalf("measure %s: %v", of.Name, err)
		}
		return merged
	}
	var all [][]byte
	byWindow := map[event.Time][]byte{}
	for row := range want.Rows {
		state := row.AppendState(nil, m)
		all = append(all, state)
		if had, ok := byWindow[row.Window()]; ok {
			state = merge(had, state)
		}
		byWindow[row.Window()] = state
	}
	state, err := s.State(t.Context(), r, m)
	switch {
	case err != nil:
		t.Errorf("measure %s: %v", of.Name, err)
	case (state == nil) != (len(all) == 0):
		t.Errorf("measure %s: a state: %t, rows: %d", of.Name, state != nil, len(all))
	case state != nil && !bytes.Equal(merge(state), merge(all...)):
		t.Errorf("measure %s: State differs", of.Name)
	}
	if err := s.States(t.Context(), r, m, func(start event.Time, state []byte) error {
		if w, ok := byWindow[start]; !ok || !bytes.Equal(merge(state), merge(w)) {
			t.Errorf("measure %s: the state of window %d differs", of.Name, start)
		}
		delete(byWindow, start)
		return nil
	}); err != nil || len(byWindow) > 0 {
		t.Errorf("measure %s: %d windows have no state, %v", of.Name, len(byWindow), err)
	}
}

// sameSlots compares the numbers of a measure that adds up, row by row. The states may
// differ: one from a rollup holds a total too.
func sameSlots(t *testing.T, s LiveSink, r *window.Range, m int, want *window.Table) {
	t.Helper()
	got := window.NewTable(want.Spec())
	if err := s.Rows(t.Context(), r, m, got); err != nil {
		t.Fatal(err)
	}
	got.Seal()
	numbers := func(t *window.Table) map[string]uint64 {
		rows := map[string]uint64{}
		for row := range t.Rows {
			rows[fmt.Sprintf("%d %q", row.Window(), row.Group(nil))] = row.Number(m)
		}
		return rows
	}
	g, w := numbers(got), numbers(want)
	for _, row := range union(g, w) {
		if g[row] != w[row] {
			t.Errorf("measure %s of %s: %d, want %d", want.Spec().Measures[m].Name, row, g[row], w[row])
		}
	}
}

// samePlaces compares the last position of each member of the range, whatever its
// groups.
func samePlaces(t *testing.T, s LiveSink, r *window.Range, m int, want *window.Table) {
	t.Helper()
	var got, last geo.Last
	if err := s.Places(t.Context(), r, m, &got); err != nil {
		t.Fatal(err)
	}
	want.Positions(m).All(func(_ int64, member []byte, at geo.Stamp, score uint64) bool {
		last.Put(0, member, at, score)
		return true
	})
	positions := func(l *geo.Last) (all []string) {
		l.Each(func(start int64, member []byte, at geo.Stamp, score uint64) bool {
			all = append(all, fmt.Sprintf("%d %s: %+v %d", start, member, at, score))
			return true
		})
		slices.Sort(all)
		return all
	}
	if g, w := positions(&got), positions(&last); !slices.Equal(g, w) {
		t.Errorf("Places: %v\nwant %v", g, w)
	}
}
