package hll

// A table is the sparse form of a Sketch: an open-addressing hash table
// of entries, a power of two long, zero meaning free, less than three quarters
// full. Redis' run lengths and sorted lists are smaller, but cost a search or
// a re-encoding per new register; this costs 2 ns. Its search is not
// hashtable.Probe, because it compares only the register of an entry, and then
// merges the rank.
type table []entry

const (
	tableMin = 16
	tableMax = 2048 // one more doubling would be as large as the dense form
)

// full tells whether a table that now has n entries must grow.
func (t table) full(n int) bool { return n*4 >= len(t)*3 }

// raise lifts the register of e to at least its rank and tells the rank it had,
// 0 for a register that was not in the table.
func (t table) raise(e entry) (old uint8) {
	mask := uint32(len(t) - 1)
	for p := e.home() & mask; ; p = (p + 1) & mask {
		switch q := t[p]; {
		case q == 0:
			t[p] = e
			return 0
		case q.register() == e.register():
			if q < e {
				t[p] = e
			}
			return q.rank()
		}
	}
}

// home returns where the search for e's register starts. The multiplication spreads
// registers that a merge delivers in ascending order.
func (e entry) home() uint32 { return e.register() * 0x9E3779B1 >> 16 }

// fill moves the entries of from into t, which is empty and large enough.
func (t table) fill(from []entry) {
	for _, e := range from {
		if e != 0 {
			t.raise(e)
		}
	}
}
