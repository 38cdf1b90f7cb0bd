//go:build mistakes

package window

import "slices"

// Planted names the mistake that the core makes, for the negative controls of
// package sim. Set it only while nothing runs.
var Planted string

func planted(mistake string) bool { return mistake == Planted }

// lane stands in front of the right one.
type lane struct{ Lane }

func (l *lane) turn() {
	outcomes, groups := l.outcomes, l.groups
	if planted("cap-kept") { // what the right one is about to clear is another copy
		l.groups.groups, l.groups.keys, l.groups.index = slices.Clone(groups.groups), slices.Clone(groups.keys), slices.Clone(groups.index)
	}
	l.Lane.turn()
	switch {
	case planted("outcomes-kept"):
		l.outcomes = outcomes
	case planted("cap-kept"):
		l.groups = groups
		for i := range groups.groups {
			groups.groups[i].cell = 0
		}
	}
}

func (l *lane) repeat(id uint64) bool {
	if planted("repeat-lost") {
		return l.before.Has(id) || l.seen.TestAndAdd(id)
	}
	return l.Lane.repeat(id)
}

func (l *lane) appendHits(dst []hit) []hit {
	dirty := slices.Clone(l.dirty)
	dst = l.Lane.appendHits(dst)
	if planted("counts-reset") {
		for _, i := range dirty {
			l.cells[i].count = 0
		}
	}
	return dst
}
