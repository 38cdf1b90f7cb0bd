package locks

import "maps"

// Copy returns an independent copy, for tests that continue in several ways.
func (t *Table) Copy() Table {
	return Table{maps.Clone(t.leases), t.fence, t.latest}
}
