package sim

import (
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

// A keeper keeps the states of one measure, one for each row, for the simulated sink and
// for the reference. It uses no code of package window, so that a mistake there shows.
// Each kind of measure has a keeper, in a file of its own, except those by member, which
// are kept as places.
type keeper interface {
	grow(n int)                         // makes the states [0, n) exist
	merge(i uint32, state []byte) error // merges a state into that of row i
	bytes(dst []byte, i uint32) []byte  // appends the state of row i
	// count adds what measure m takes of an event of a slot to row i.
	count(i uint32, f *reference, rec *record, slot window.Slot, m string)
}

var keepers = map[*window.Kind]func(m *window.Measure) keeper{
	hll.Kind:      newHLLKeeper,
	set.Kind:      newSetKeeper,
	bitmap.Kind:   newBitmapKeeper,
	bloom.Kind:    newBloomKeeper,
	extreme.Min:   newMinKeeper,
	extreme.Max:   newMaxKeeper,
	sum.Sum:       newSumKeeper,
	sum.Avg:       newSumKeeper,
	quantile.Kind: newQuantileKeeper,
	topk.Kind:     newTopKeeper,
	ordered.First: newFirstKeeper,
	ordered.Last:  newLastKeeper,
}

// states has the states of some rows: those of the sink, or those that the reference
// expects.
type states struct {
	spec *window.Spec
	of   []keeper // by measure; nil: by member
	n    int
}

func newStates(spec *window.Spec) states {
	st := states{spec: spec, of: make([]keeper, len(spec.Measures))}
	for i := range spec.Measures {
		if m := &spec.Measures[i]; !m.Kind.ByMember {
			st.of[i] = keepers[m.Kind](m)
		}
	}
	return st
}

// add makes the states of one more row.
func (st *states) add() uint32 {
	st.n++
	for _, k := range st.of {
		if k != nil {
			k.grow(st.n)
		}
	}
	return uint32(st.n) - 1
}

// merge merges a state into the one of measure m of row i.
func (st *states) merge(i uint32, m int, state []byte) error { return st.of[m].merge(i, state) }

// bytes appends the state of measure m of row i.
func (st *states) bytes(dst []byte, i uint32, m int) []byte { return st.of[m].bytes(dst, i) }
