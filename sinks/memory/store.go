package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A Store holds the contents of all jobs.
type Store struct {
	mu      sync.Mutex
	jobs    map[job]*Contents
	meaning map[job]map[string]string // by measure; "" for the job itself
	topic   map[job]string
}

type job struct {
	name    string
	version int
}

// New makes an empty store.
func New() *Store {
	return &Store{jobs: map[job]*Contents{}, meaning: map[job]map[string]string{}, topic: map[job]string{}}
}

// Contents is all a job has stored, as plain values.
type Contents struct {
	Rows   map[Key]*Row
	Places map[string]map[Place]Position // by measure
	Ledger map[LineKey]window.Line
	Dead   map[DeadKey]window.DeadLetter

	// Rollups holds finished numbers by window length, as of the last Rollup.
	Rollups map[event.Time]map[Key]Numbers

	round   uint64                // the current one; each Rollup opens the next
	written map[event.Time]uint64 // the round in which each window was last written to
}

// A Key identifies a row: the start of its window, and its group's texts, each followed
// by a zero byte.
type Key struct {
	Window event.Time
	Group  string
}

// Groups returns the texts of a key's dimensions.
func (k Key) Groups() []string {
	if k.Group == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(k.Group, "\x00"), "\x00")
}

// A Row is one (window, group): counts by slot and states by measure.
type Row struct {
	Hits   map[window.Slot]uint64
	States map[string]State
}

// A State is what a row holds of a measure, in the bytes of window.Measure.Merge,
// which are the same for the same value.
type State struct {
	Of    *window.Measure
	Bytes []byte
}

// must returns v. An error is a bug, because this package has made the state.
func must[T any](v T, err error) T {
	if err != nil {
		panic("memory: a state that this package made: " + err.Error())
	}
	return v
}

// Sum returns the number of events of the row.
func (r *Row) Sum() (n uint64) {
	for _, c := range r.Hits {
		n += c
	}
	return n
}

func newRow() *Row {
	return &Row{Hits: map[window.Slot]uint64{}, States: map[string]State{}}
}

// merge merges o into r. r then shares states with o, which nothing changes.
func (r *Row) merge(o *Row) {
	for slot, n := range o.Hits {
		r.Hits[slot] = max(r.Hits[slot], n)
	}
	for name, s := range o.States {
		if old, ok := r.States[name]; ok {
			s.Bytes = must(s.Of.Merge(old.Bytes, s.Bytes))
		}
		r.States[name] = s
	}
}

// Numbers are the finished numbers of a row; those of measures are what
// window.Row.Number returns.
type Numbers struct {
	Hits     uint64
	Measures map[string]uint64

	flushed flushed // in the rollup of the job's windows: the whole row of most events among those that gave numbers
}

// flushed says of how many events a whole row was, and of which measures it had numbers.
type flushed struct {
	hits     uint64
	measures string
}

// total returns rows of different windows as one: counts and totals are added up, and the other
// states merge. A total is of all rows at once: a top list that is added up in steps leaves out keys
// at each of them, so that it depended on the order of the rows.
func total(rows []*Row) *Row {
	r := newRow()
	added := map[string][][]byte{}
	for _, o := range rows {
		r.Hits[window.Whole] += o.Sum()
		for name, s := range o.States {
			old, ok := r.States[name]
			switch {
			case s.Of.Kind.Additive:
				added[name] = append(added[name], s.Bytes)
			case ok:
				s.Bytes = must(s.Of.Merge(old.Bytes, s.Bytes))
			}
			r.States[name] = s
		}
	}
	for name, states := range added {
		s := r.States[name]
		s.Bytes = must(s.Of.Add(states...))
		r.States[name] = s
	}
	return r
}

func (r *Row) numbers() Numbers {
	n := Numbers{Hits: r.Sum(), Measures: map[string]uint64{}}
	for name, s := range r.States {
		n.Measures[name] = must(s.Of.Number(s.Bytes))
	}
	return n
}

// best merges two Numbers of one window. Of measures that add up, those of more events
// are the better ones.
func (s *Sink) best(a, b Numbers) Numbers {
	if a.Hits < b.Hits {
		a, b = b, a
	}
	n := Numbers{Hits: a.Hits, Measures: maps.Clone(a.Measures), flushed: a.flushed}
	if n.flushed.hits < b.flushed.hits {
		n.flushed = b.flushed
	}
	for i := range s.spec.Measures {
		if m := &s.spec.Measures[i]; !m.Kind.Additive && !m.Kind.ByMember && n.Measures != nil {
			n.Measures[m.Name] = max(n.Measures[m.Name], b.Measures[m.Name])
		}
	}
	return n
}

// A Place identifies a position: a window and a member.
type Place struct {
	Window event.Time
	Member string
}

// A Position is where a member was last seen, and when.
type Position struct {
	Stamp geo.Stamp
	Score uint64
}

// A LineKey identifies a ledger line. Lines with equal keys merge.
type LineKey struct {
	Epoch        uint8
	Partition    int32
	Chunk, First int64
}

// A DeadKey identifies a dead letter.
type DeadKey struct {
	Epoch     uint8
	Partition int32
	Offset    int64
}

func newContents() *Contents {
	return &Contents{
		written: map[event.Time]uint64{},
		Rows:    map[Key]*Row{}, Places: map[string]map[Place]Position{},
		Ledger: map[LineKey]window.Line{}, Dead: map[DeadKey]window.DeadLetter{},
		Rollups: map[event.Time]map[Key]Numbers{},
	}
}

// rollup returns the rollup of a length.
func (c *Contents) rollup(length event.Time) map[Key]Numbers {
	if c.Rollups[length] == nil {
		c.Rollups[length] = map[Key]Numbers{}
	}
	return c.Rollups[length]
}

// tail reports whether a window was written to since the last Rollup.
func (c *Contents) tail(start event.Time) bool {
	round, ok := c.written[start]
	return ok && round == c.round
}

// Contents returns a copy of what a job has stored. The caller must not change the
// states.
func (s *Store) Contents(name string, version int) *Contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(name, version)
	copied := newContents()
	for k, r := range c.Rows {
		copied.Rows[k] = newRow()
		copied.Rows[k].merge(r)
	}
	for m, ps := range c.Places {
		copied.Places[m] = maps.Clone(ps)
	}
	copied.Ledger, copied.Dead = maps.Clone(c.Ledger), maps.Clone(c.Dead)
	for w, rs := range c.Rollups {
		copied.Rollups[w] = maps.Clone(rs)
	}
	return copied
}

// Edit gives a test the contents of a job, to damage them.
func (s *Store) Edit(name string, version int, edit func(*Contents)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit(s.of(name, version))
}

// of returns the contents of a job. The caller has locked the store.
func (s *Store) of(name string, version int) *Contents {
	j := job{name, version}
	if s.jobs[j] == nil {
		s.jobs[j] = newContents()
	}
	return s.jobs[j]
}

// Refused is a fatal error: the job means something else than what is stored.
type Refused struct{ problem string }

func (e *Refused) Error() string { return "memory: " + e.problem }

// Fatal reports that trying again does not help.
func (e *Refused) Fatal() bool { return true }

// Job opens a job. It is an error if the meaning of the job, or of a measure, has
// changed under the same version.
func (s *Store) Job(spec *window.Spec, topic string, rollups ...event.Time) (*Sink, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := job{spec.Job, spec.Version}
	known := s.meaning[j]
	if known == nil {
		known = map[string]string{"": spec.Meaning()}
		s.meaning[j], s.topic[j] = known, topic
	}
	if known[""] != spec.Meaning() || s.topic[j] != topic {
		return nil, &Refused{fmt.Sprintf("the meaning of job %s has changed: raise the job's version", spec.Job)}
	}
	for _, m := range spec.Measures {
		if was, ok := known[m.Name]; ok && was != m.Meaning() {
			return nil, &Refused{fmt.Sprintf("the meaning of measure %s has changed: raise the job's version", m.Name)}
		}
	}
	for _, m := range spec.Measures {
		known[m.Name] = m.Meaning()
	}
	if rollups == nil {
		rollups = []event.Time{spec.Window}
	}
	return &Sink{store: s, spec: spec, rollups: rollups}, nil
}

// Lines returns the lines of the ledger, in the order in which an audit takes them.
func (c *Contents) Lines() []window.Line {
	lines := slices.Collect(maps.Values(c.Ledger))
	slices.SortFunc(lines, func(a, b window.Line) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.First, b.First))
	})
	return lines
}
