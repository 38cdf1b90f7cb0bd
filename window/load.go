package window

import (
	"fmt"

	"weir/event"
)

// Load merges a row that was read from the sink into the table. hits are its counts
// by slot. states has ClickHouse's state of each measure, in the order of
// Spec.Measures; it is nil for a measure without a state column. A state that is not
// well formed is an error that names the measure; the measures before it are merged
// then.
func (t *Table) Load(window event.Time, group [][]byte, hits map[uint64]uint64, states [][]byte) error {
	t.sealed = false
	var key []byte
	for _, g := range group {
		key = appendDimension(key, g, len(t.spec.By))
	}
	r := t.row(window, key, groupHash(key))
	for slot, n := range hits {
		t.hits = append(t.hits, hit{r, Slot(slot), n})
	}
	for m := range t.columns {
		if m >= len(states) || states[m] == nil {
			continue
		}
		if err := t.columns[m].Load(r, states[m]); err != nil {
			return fmt.Errorf("window: measure %s: %w", t.spec.Measures[m].Name, err)
		}
	}
	return nil
}
