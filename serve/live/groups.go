package live

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"weir/serve/key"
	"weir/window"
)

const (
	// GroupsMost is how many windows a question about groups may have.
	GroupsMost = 240

	// groupsAtOnce is how many windows are read from the sink at a time, so that rows of
	// many windows are never in memory together.
	groupsAtOnce = 8

	// groupsShare is the part of the memory budget that the groups of one question may
	// take, one in so many, and groupsMemory is the budget where there is none.
	groupsShare  = 8
	groupsMemory = 1 << 30
)

// ErrGroups is wrapped by the error about groups that take too much memory. It is a key.ErrQuestion.
var ErrGroups = fmt.Errorf("%w", key.ErrQuestion)

// A Grouped is the answer for one group.
type Grouped struct {
	Group []string // the values of the columns asked for
	Value any      // as in Answer: nil if the measure counted none of its events
}

// A Grouping is the answers for all groups of a question. Several callers may get the same
// one: they must not change it.
type Grouping struct {
	Groups []Grouped // in no order
	Answer           // without Value
}

// Groups answers a question for each group that has events: the values of some of the
// job's columns, all others merged. Group selects rows, as in every question. The range is
// at most GroupsMost windows. It always asks the sink; without it there is an error.
func (w *Windows) Groups(ctx context.Context, q Query, columns []int) (Grouping, error) {
	p, err := w.ask(q)
	if err != nil {
		return Grouping{}, err
	}
	s := p.source
	if s.byMember(p.measure) || p.measure == partial {
		return Grouping{}, fmt.Errorf("%w: %s is not kept by group", key.ErrQuestion, q.Measure)
	}
	if p.over.Until-p.over.From > GroupsMost*s.spec.Window {
		return Grouping{}, fmt.Errorf("%w: a range of groups has at most %d windows of %s", key.ErrQuestion, GroupsMost, milliseconds(s.spec.Window))
	}
	var id strings.Builder
	for _, c := range columns {
		if c < 0 || c >= len(s.spec.By) {
			return Grouping{}, fmt.Errorf("%w: job %s has %d group columns", key.ErrQuestion, q.Job, len(s.spec.By))
		}
		id.WriteString(strconv.Itoa(c) + " ")
	}
	g, _, err := s.groupings.get(ctx, id.String()+p.id, func(took *work) (Grouping, error) {
		g, err := s.grouping(ctx, took, p, columns)
		g.AsOf = took.since
		return g, err
	})
	return g, err
}

// grouping reads the rows of memory and sink, some windows at a time, and merges each into
// the value of its group.
func (s *source) grouping(ctx context.Context, took *work, p *plan, columns []int) (g Grouping, err error) {
	mem, err := s.memory(ctx, took, p.measure)
	if err != nil {
		return g, err
	}
	budget := cmp.Or(s.budget, groupsMemory) / groupsShare
	of := groups{m: p.measure, columns: columns, spec: s.spec, all: map[string]*groupValue{}}
	for from := p.over.From; from < p.over.Until; from += groupsAtOnce * s.spec.Window {
		r := &window.Range{From: from, Until: min(p.over.Until, from+groupsAtOnce*s.spec.Window), Group: p.over.Group}
		t := mem.copy(s.spec, r, p.measure)
		asking, cancel := context.WithTimeoutCause(ctx, sinkTimeout, errSinkTimeout)
		err := s.ask(asking, r, func(ctx context.Context) error { return s.sink.Rows(ctx, r, p.measure, t) })
		cancel()
		if err != nil {
			return g, err
		}
		t.Seal()
		for row := range t.Rows {
			of.merge(row)
		}
		if of.bytes()+int64(t.Bytes()) > budget {
			var by []string
			for _, c := range columns {
				by = append(by, s.spec.By[c].Name)
			}
			return g, fmt.Errorf("%w: the groups by %s take more than %d bytes, an eighth of the memory of this process: ask for a shorter range or for fewer columns, or choose a value of a column", ErrGroups, strings.Join(by, ", "), budget)
		}
	}
	g.Groups = of.measured()
	for _, one := range g.Groups {
		took.bytes += Answer{Value: one.Value}.bytes() + 100
	}
	return g, nil
}

// groups is the values of the groups while rows are merged into them.
type groups struct {
	m       int
	columns []int
	spec    *window.Spec
	all     map[string]*groupValue

	texts [][]byte
	id    []byte
}

// groupBytes is about what a group takes beside its texts and its value: its place in the map,
// the groupValue, and its list of texts.
const groupBytes = 160

type groupValue struct {
	group []string
	*window.Value
}

func (g *groups) merge(row window.Row) {
	g.texts, g.id = row.Group(g.texts[:0]), g.id[:0]
	for _, c := range g.columns {
		g.id = append(binary.AppendUvarint(g.id, uint64(len(g.texts[c]))), g.texts[c]...)
	}
	v := g.all[string(g.id)]
	if v == nil {
		v = &groupValue{Value: window.NewValue(g.spec, g.m)}
		for _, c := range g.columns {
			v.group = append(v.group, string(g.texts[c]))
		}
		g.all[string(g.id)] = v
	}
	v.Add(row)
}

// bytes is about the memory of the groups so far.
func (g *groups) bytes() (n int64) {
	for id, v := range g.all {
		n += groupBytes + 2*int64(len(id)) + int64(v.Bytes())
	}
	return n
}

func (g *groups) measured() (all []Grouped) {
	for _, v := range g.all {
		all = append(all, Grouped{v.group, measured(v.Value)})
	}
	return all
}
