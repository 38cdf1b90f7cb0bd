package sim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/window"
)

// A topKeeper has the count of each key in each slot of a row. The simulator's chunks have
// fewer keys than are listed, so that no floor is above 0.
type topKeeper struct {
	tops   []map[window.Slot]slotTop
	merged bool // TopsMerged: the lists of a slot are added up
}

type slotTop struct {
	events uint64
	keys   map[string]uint64
}

type keyCount struct {
	key   string
	count uint64
}

func newTopKeeper(*window.Measure) keeper { return new(topKeeper) }

func (k *topKeeper) grow(n int) {
	for len(k.tops) < n {
		k.tops = append(k.tops, map[window.Slot]slotTop{})
	}
}

func (t slotTop) list() (list []keyCount) {
	for key, count := range t.keys {
		list = append(list, keyCount{key, count})
	}
	slices.SortFunc(list, func(a, b keyCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.key, b.key))
	})
	return list
}

// before is ClickHouse's order of tuples and arrays.
func (t slotTop) before(o slotTop) bool {
	return cmp.Or(cmp.Compare(t.events, o.events), slices.CompareFunc(t.list(), o.list(), func(a, b keyCount) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.count, b.count))
	})) < 0
}

// merge keeps the list of more events for each slot; see sumKeeper.merge.
func (k *topKeeper) merge(i uint32, state []byte) error {
	word := func() (n uint64) {
		if len(state) >= 8 {
			n, state = binary.LittleEndian.Uint64(state), state[8:]
		}
		return n
	}
	for len(state) > 0 {
		slot, is := window.Slot(word()), slotTop{word(), map[string]uint64{}}
		if floor := word(); floor != 0 {
			return fmt.Errorf("a top list with the floor %d, of so few keys", floor)
		}
		for range word() {
			n := word()
			if n > uint64(len(state)) {
				return fmt.Errorf("a key of %d bytes in a state of %d", n, len(state))
			}
			key := string(state[:n])
			state = state[n:]
			is.keys[key] = word()
			if wrong := word(); wrong != 0 {
				return fmt.Errorf("key %q with the error %d, of so few keys", key, wrong)
			}
		}
		have := k.tops[i][slot]
		switch {
		case k.merged && have.keys != nil:
			have.events += is.events
			for key, n := range is.keys {
				have.keys[key] += n
			}
			k.tops[i][slot] = have
		case have.before(is):
			k.tops[i][slot] = is
		}
	}
	return nil
}

func (k *topKeeper) bytes(dst []byte, i uint32) []byte {
	word := binary.LittleEndian.AppendUint64
	for _, slot := range slices.Sorted(maps.Keys(k.tops[i])) {
		t := k.tops[i][slot]
		list := t.list()
		dst = word(word(word(word(dst, uint64(slot)), t.events), 0), uint64(len(list)))
		for _, e := range list {
			dst = append(word(dst, uint64(len(e.key))), e.key...)
			dst = word(word(dst, e.count), 0)
		}
	}
	return dst
}

// count takes the user of an event.
func (k *topKeeper) count(i uint32, f *reference, rec *record, slot window.Slot, _ string) {
	t := k.tops[i][slot]
	if t.keys == nil {
		t.keys = map[string]uint64{}
	}
	t.keys[string(f.text("u", rec.user))]++
	k.tops[i][slot] = slotTop{t.events + 1, t.keys}
}

// mergeTops plants the mistake TopsMerged in a sink.
func (st *states) mergeTops() {
	for _, k := range st.of {
		if k, ok := k.(*topKeeper); ok {
			k.merged = true
		}
	}
}
