package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"weir/audit"
	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A Sink merges the changes of one job into a Store. Use Store.Job.
type Sink struct {
	store   *Store
	spec    *window.Spec
	rollups []event.Time
}

// Known returns what the ledger says of each partition.
func (s *Sink) Known(context.Context) (map[int32]window.Known, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	known := map[int32]window.Known{}
	for _, l := range s.contents().Ledger {
		k := l.Known()
		if old, ok := known[l.Partition]; ok {
			k = *old.With(k)
		}
		known[l.Partition] = k
	}
	return known, nil
}

// contents returns the contents of the job. The caller has locked the store.
func (s *Sink) contents() *Contents { return s.store.of(s.spec.Job, s.spec.Version) }

// Insert merges the rows of the changes into the store. The store has no rounds: a rollup reads every row.
func (s *Sink) Insert(_ context.Context, c *window.Changes) (round uint64, err error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.insert(c)
	return 0, nil
}

// Write merges the changes into the store. It does not change c and keeps no part of it.
func (s *Sink) Write(_ context.Context, c *window.Changes) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.insert(c)
	for _, d := range c.Dead {
		d.Payload = bytes.Clone(d.Payload)
		s.contents().Dead[DeadKey{d.Epoch, d.Partition, d.Offset}] = d
	}
	for _, l := range c.Lines {
		s.line(l)
	}
	return nil
}

// insert merges rows. The caller has locked the store.
func (s *Sink) insert(c *window.Changes) {
	to := s.contents()
	for r := range c.Table.Rows {
		key := Key{r.Window(), s.group(r)}
		if to.Rows[key] == nil {
			to.Rows[key] = newRow()
		}
		row := s.row(r)
		to.Rows[key].merge(row)
		to.written[key.Window] = to.round
		if s.numbers() && r.Whole() {
			n := row.numbers()
			n.flushed = flushed{n.Hits, s.measures()}
			s.finish(to.rollup(s.spec.Window), key, n)
		}
	}
	for i, m := range s.spec.Measures {
		if m.Kind.ByMember {
			s.places(c.Table.Positions(i), m.Name)
		}
	}
}

func (s *Sink) group(r window.Row) string {
	var b strings.Builder
	for _, text := range r.Group(nil) {
		b.Write(text)
		b.WriteByte(0)
	}
	return b.String()
}

// row returns a copy of a row of a table.
func (s *Sink) row(r window.Row) *Row {
	row := newRow()
	for slot, n := range r.Hits {
		row.Hits[slot] = n
	}
	for i, m := range s.spec.Measures {
		if !m.Kind.ByMember {
			row.States[m.Name] = State{&s.spec.Measures[i], r.AppendState(nil, i)}
		}
	}
	return row
}

// numbers reports whether a rollup has the job's windows, which whole rows give the numbers of.
func (s *Sink) numbers() bool { return slices.Contains(s.rollups, s.spec.Window) }

// measures names the measures that the sink counts. Another process may count others.
func (s *Sink) measures() string {
	var names []string
	for _, m := range s.spec.Measures {
		names = append(names, m.Name)
	}
	return strings.Join(names, ",")
}

// right returns the windows of the job of which whole rows gave all numbers: of each group those of
// as many events as its rows have.
func (s *Sink) right() map[event.Time]bool {
	c, right := s.contents(), map[event.Time]bool{}
	for key := range c.Rows {
		right[key.Window] = true
	}
	for key, row := range c.Rows {
		right[key.Window] = right[key.Window] && c.Rollups[s.spec.Window][key].flushed == flushed{row.Sum(), s.measures()}
	}
	return right
}

func (s *Sink) places(last *geo.Last, measure string) {
	c := s.contents()
	if c.Places[measure] == nil {
		c.Places[measure] = map[Place]Position{}
	}
	last.Each(func(start int64, member []byte, at geo.Stamp, score uint64) bool {
		key, position := Place{event.Time(start), string(member)}, Position{at, score}
		old, ok := c.Places[measure][key]
		order := position.Stamp.Compare(old.Stamp)
		if !ok || order > 0 || order == 0 && position.Score > old.Score {
			c.Places[measure][key] = position
		}
		return true
	})
}

// line merges one ledger line.
func (s *Sink) line(l window.Line) {
	key := LineKey{l.Epoch, l.Partition, l.Chunk, l.First}
	old, ok := s.contents().Ledger[key]
	if ok {
		l.Next = max(l.Next, old.Next)
		l.Watermark = max(l.Watermark, old.Watermark)
		for f := range l.Outcomes {
			l.Outcomes[f] = max(l.Outcomes[f], old.Outcomes[f])
		}
		l.Events.Raise(&old.Events)
		l.Saved = max(l.Saved, old.Saved)
		if bytes.Compare(old.TopicID[:], l.TopicID[:]) > 0 {
			l.TopicID = old.TopicID
		}
	}
	s.contents().Ledger[key] = l
}

// Fold replaces lines of whole chunks by one line for many, however new they are.
func (s *Sink) Fold(context.Context) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	c, f := s.contents(), window.Folder{Chunk: s.spec.Chunk}
	for _, l := range c.Lines() {
		f.Add(window.Past{Line: l})
	}
	for _, fold := range f.Folds() {
		s.line(fold.Line)
		maps.DeleteFunc(c.Ledger, func(_ LineKey, l window.Line) bool { return fold.Covers(&l) })
	}
	return nil
}

// Rollup recomputes finished numbers and merges them with the old ones, but for windows that are right. It does not
// record which windows are complete, because its views do not show that.
func (s *Sink) Rollup(context.Context, bool, event.Time) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.rollup(0, 0, s.right())
	s.contents().round++
	return nil
}

// Repair recomputes the finished numbers of the windows in [from, until), where a zero
// bound means none.
func (s *Sink) Repair(_ context.Context, from, until event.Time) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.rollup(from, until, nil)
	return nil
}

// rollup recomputes windows, but for those of the job that are right.
func (s *Sink) rollup(from, until event.Time, right map[event.Time]bool) {
	c := s.contents()
	for _, length := range s.rollups {
		for key, row := range Merge(c.Rows, length) {
			if key.Window+length <= from || until > 0 && key.Window >= until || length == s.spec.Window && right[key.Window] {
				continue
			}
			s.finish(c.rollup(length), key, row)
		}
	}
}

// finish merges finished numbers into those of a rollup.
func (s *Sink) finish(rollup map[Key]Numbers, key Key, n Numbers) {
	rollup[key] = s.best(n, rollup[key])
}

// Merge returns the finished numbers of all windows of a length, by window and group.
func Merge(rows map[Key]*Row, length event.Time) map[Key]Numbers {
	of := map[Key][]*Row{}
	for key, row := range rows {
		key.Window -= key.Window % length
		of[key] = append(of[key], row)
	}
	numbers := map[Key]Numbers{}
	for key, rows := range of {
		numbers[key] = total(rows).numbers()
	}
	return numbers
}

// View returns what the view of a rollup shows, as of the last Write.
func (s *Sink) View(length event.Time) map[Key]Numbers {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.view(s.contents(), length)
}

func (s *Sink) view(c *Contents, length event.Time) map[Key]Numbers {
	view := map[Key]Numbers{}
	for key, n := range c.Rollups[length] {
		view[key] = n
	}
	for key, n := range Merge(c.Rows, length) {
		view[key] = s.best(n, view[key])
	}
	return view
}

// Audit passes what is stored of the job to a.
func (s *Sink) Audit(_ context.Context, a *audit.Audit, progress func(done, total int)) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	c := s.contents()
	sums := map[window.Slot]uint64{}
	for _, row := range c.Rows {
		for slot, n := range row.Hits {
			sums[slot] += n
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(sums)) {
		a.Hits(slot, sums[slot], true)
	}
	for _, length := range s.rollups {
		tail := map[event.Time]bool{}
		for start := range c.written {
			if c.tail(start) {
				tail[start-start%length] = true
			}
		}
		held := Merge(c.Rows, length)
		keys := map[Key]Numbers{}
		maps.Copy(keys, c.Rollups[length])
		for key, n := range held {
			if _, ok := keys[key]; !ok {
				keys[key] = Numbers{Measures: n.Measures}
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(keys), func(x, y Key) int {
			return cmp.Or(cmp.Compare(x.Window, y.Window), cmp.Compare(x.Group, y.Group))
		}) {
			rolled := keys[key]
			w := audit.Compared{Length: length, Start: key.Window, Group: strings.Join(key.Groups(), " "), Whole: true, Due: !tail[key.Window]}
			if !a.Window(w, rolled.Hits, held[key].Hits) {
				continue
			}
			for i := range s.spec.Measures {
				m := &s.spec.Measures[i]
				n := rolled.Measures[m.Name]
				a.Measure(w, m, n, n, held[key].Measures[m.Name])
			}
		}
	}
	for _, l := range c.Lines() {
		a.Line(&l, true)
	}
	for _, length := range s.rollups {
		shown := uint64(0)
		for _, n := range s.view(c, length) {
			shown += n.Hits
		}
		a.Shown(shown)
	}
	if progress != nil {
		progress(1, 1)
	}
	return nil
}
