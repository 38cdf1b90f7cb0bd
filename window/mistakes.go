//go:build mistakes

package window

import (
	"slices"

	"weir/event"
)

// Planted names the mistake that the core makes, for the negative controls of
// package sim. Set it only while nothing runs.
var Planted string

func planted(mistake string) bool { return mistake == Planted }

// partitionState is a Partition with the planted mistake.
type partitionState struct{ Partition }

func (pt *partitionState) turn() {
	outcomes, groups := pt.outcomes, pt.groups
	if planted("cap-kept") { // turn clears the old slices: keep copies
		pt.groups.groups, pt.groups.keys, pt.groups.index = slices.Clone(groups.groups), slices.Clone(groups.keys), groups.index.Clone()
	}
	pt.Partition.turn()
	switch {
	case planted("outcomes-kept"):
		pt.outcomes = outcomes
	case planted("cap-kept"):
		pt.groups = groups
		for i := range groups.groups {
			groups.groups[i].cell = 0
		}
	}
}

func (pt *partitionState) clock(d *decoder) event.Time {
	if planted("clock-limits") {
		return d.time
	}
	return pt.Partition.clock(d)
}

func (pt *partitionState) pass(d *decoder) {
	pt.Partition.pass(d)
	if planted("clock-passed") {
		pt.watermark = max(pt.watermark, d.time)
	}
}

func (pt *partitionState) repeat(id id) (here, before bool) {
	if planted("repeat-lost") {
		before = pt.before.Has(id)
		return !before && pt.seen.TestAndAdd(id), before
	}
	return pt.Partition.repeat(id)
}

func (pt *partitionState) report(to *Table) {
	dirty := slices.Clone(pt.dirty)
	pt.Partition.report(to)
	if planted("counts-reset") {
		for _, i := range dirty {
			pt.cells[i].count = 0
		}
	}
	if planted("limits-reset") && pt.old != nil {
		pt.old.reset()
	}
	if ids, ok := pt.seen.(*exactMemory); ok && planted("ids-reset") {
		ids.Reset()
	}
	if planted("buckets-reset") {
		for _, t := range pt.tallies {
			if t, ok := t.(*quantileTally); ok {
				t.pool.Reset()
				t.pool.Grow(len(pt.cells))
			}
		}
	}
	if planted("sums-reset") {
		for _, t := range pt.tallies {
			if t, ok := t.(*sumTally); ok {
				clear(t.totals)
			}
		}
	}
}
