package e2e

import (
	"maps"
	"slices"
	"strconv"

	"weir/gen"
)

// sameOfUsers compares a max, min or set measure of the users' ids in a view with the
// truth; of is slices.Max, slices.Min or how many.
func (s *stage) sameOfUsers(view, column, group string, truth *gen.Truth, of func([]uint32) uint32) {
	s.t.Helper()
	d := &differences{what: column + " in " + view + " against the ids"}
	defer d.report(s.t)
	rows := s.sql("SELECT toUnixTimestamp(window_start), %s, %s FROM %s", group, column, view)
	for _, row := range rows {
		g := s.cell(row)
		c := truth.Counts[g]
		if c == nil {
			d.add("%v: a number, and no event had one", g)
			continue
		}
		if want := strconv.Itoa(int(of(slices.Collect(maps.Keys(c.Users))))); row[2] != want {
			d.add("%v: the number is %s, want %s", g, row[2], want)
		}
	}
	if len(rows) != len(truth.Counts) {
		d.add("%d windows and groups, want %d", len(rows), len(truth.Counts))
	}
}

// howMany returns the number of ids.
func howMany(ids []uint32) uint32 { return uint32(len(ids)) }
