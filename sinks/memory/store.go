package memory

import (
	"cmp"
	"errors"
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
	meaning map[job]map[string]string // "" for the job, else the measure
	topic   map[job]string
	faults  func(Insert) Outcome
	pending []func()
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

	tail map[event.Time]bool // windows that were written to since
}

// A Key names a row: the start of its window, and its group's texts with a
// zero byte behind each.
type Key struct {
	Window event.Time
	Group  string
}

// Groups are the texts of a key's dimensions.
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

// own passes a value on that is well formed, for it was made here.
func own[T any](v T, err error) T {
	if err != nil {
		panic("memory: a state of our own: " + err.Error())
	}
	return v
}

// Sum is the number of events of the row.
func (r *Row) Sum() (n uint64) {
	for _, c := range r.Hits {
		n += c
	}
	return n
}

func newRow() *Row {
	return &Row{Hits: map[window.Slot]uint64{}, States: map[string]State{}}
}

// merge takes o into r. It keeps nothing of o but states, which nothing changes.
func (r *Row) merge(o *Row) {
	for slot, n := range o.Hits {
		r.Hits[slot] = max(r.Hits[slot], n)
	}
	for name, s := range o.States {
		if old, ok := r.States[name]; ok {
			s.Bytes = own(s.Of.Merge(old.Bytes, s.Bytes))
		}
		r.States[name] = s
	}
}

// Numbers are what a row stands for, those of measures as window.Row.Number has
// them.
type Numbers struct {
	Hits     uint64
	Measures map[string]uint64
}

func (r *Row) numbers() Numbers {
	n := Numbers{r.Sum(), map[string]uint64{}}
	for name, s := range r.States {
		n.Measures[name] = own(s.Of.Number(s.Bytes))
	}
	return n
}

// A Place names a position: a window and a member.
type Place struct {
	Window event.Time
	Member string
}

// A Position is where a member was last seen, and when.
type Position struct {
	Stamp geo.Stamp
	Score uint64
}

// A LineKey is what repeats of a ledger line have in common.
type LineKey struct {
	Epoch        uint8
	Partition    int32
	Chunk, First int64
}

// A DeadKey is what repeats of a dead letter have in common.
type DeadKey struct {
	Epoch     uint8
	Partition int32
	Offset    int64
}

func newContents() *Contents {
	return &Contents{
		tail: map[event.Time]bool{},
		Rows: map[Key]*Row{}, Places: map[string]map[Place]Position{},
		Ledger: map[LineKey]window.Line{}, Dead: map[DeadKey]window.DeadLetter{},
		Rollups: map[event.Time]map[Key]Numbers{},
	}
}

// Contents is a copy of what a job has stored. States are shared: read only.
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

// of is called with the lock held.
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

// Job opens a job. It refuses one whose meaning, or that of a measure, has
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

// Lines are the ledger's, in the order an audit wants them.
func (c *Contents) Lines() []window.Line {
	lines := slices.Collect(maps.Values(c.Ledger))
	slices.SortFunc(lines, func(a, b window.Line) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.First, b.First))
	})
	return lines
}

// errFault is what an insert that was made to fail answers.
var errFault = errors.New("memory: the insert was made to fail")
