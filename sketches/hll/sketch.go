package hll

// A Sketch is one HyperLogLog of precision 14. The zero value is empty and
// ready. It holds up to 1,536 registers in a table of at most 8 KiB and is
// dense (16 KiB) above that; it never shrinks back.
type Sketch struct {
	dense *registers // nil while sparse
	table table
	n     int // registers that are not zero
	hist  histogram
	stale bool // dense and merged into: hist and n await a recount
}

// Add records an element and tells whether a register rose, which is what
// PFADD answers. It does not allocate, except where the sketch grows.
func (s *Sketch) Add(b []byte) bool {
	h := Hash(b)
	if s.has(h) {
		return false
	}
	return s.raise(entryOf(h))
}

// AddHash is Add for an element already hashed, by [Hash] or another hash of
// 64 good bits.
func (s *Sketch) AddHash(h uint64) bool {
	if s.has(h) {
		return false
	}
	return s.raise(entryOf(h))
}

// has tells whether the sketch is dense and adding h would change nothing. In a
// sketch of many elements that is nearly always so. The function is small enough
// for the compiler to inline.
func (s *Sketch) has(h uint64) bool {
	return s.dense != nil && int(s.dense[h%Registers]) > rankBelow(h)
}

// rose updates the histogram. It also does so while the histogram is stale, which
// does no harm.
func (s *Sketch) rose(old, r uint8) {
	if old == 0 {
		s.n++
	}
	s.hist.move(old, r)
}

func (s *Sketch) raise(e entry) bool {
	var old uint8
	if s.dense != nil {
		old = s.dense.raise(e.register(), e.rank())
	} else {
		if s.table == nil {
			s.table = make(table, tableMin)
		}
		old = s.table.raise(e)
	}
	if old >= e.rank() {
		return false
	}
	s.rose(old, e.rank())
	if old == 0 && s.dense == nil && s.table.full(s.n) {
		s.grow()
	}
	return true
}

func (s *Sketch) grow() {
	if len(s.table) == tableMax {
		s.becomeDense()
		return
	}
	t := make(table, 2*len(s.table))
	t.fill(s.table)
	s.table = t
}

func (s *Sketch) becomeDense() {
	if s.dense != nil {
		return
	}
	s.dense = new(registers)
	s.dense.mergeEntries(s.table)
	s.table = nil
}

// Count estimates the number of distinct elements added. It looks at 52
// numbers, not at the registers, unless a merge came before.
func (s *Sketch) Count() uint64 {
	s.refresh()
	return s.hist.count(Registers - s.n)
}

func (s *Sketch) refresh() {
	if s.stale {
		s.hist = s.dense.histogram()
		s.n = s.hist.nonzero()
		s.stale = false
	}
}

// Merge makes s the sketch of the union of both: each register becomes the
// higher of the two. o is only read, and may be s.
func (s *Sketch) Merge(o *Sketch) {
	if s != o {
		s.merge(o.view())
	}
}

// MergeAll merges all of the others into s. Dense ones are taken several at a
// time, which is faster than one Merge after another.
func (s *Sketch) MergeAll(others ...*Sketch) {
	for _, o := range others {
		if o.dense != nil {
			s.becomeDense()
			s.dense.mergeAll(others)
			s.stale = true
			return
		}
	}
	for _, o := range others {
		s.Merge(o)
	}
}

// mergeAll raises d to each of the sketches.
func (d *registers) mergeAll(sketches []*Sketch) {
	var batch [16]*registers
	n := 0
	for _, o := range sketches {
		if o.dense == nil {
			d.mergeEntries(o.table)
			continue
		}
		batch[n] = o.dense
		if n++; n == len(batch) {
			maxAll(d, batch[:])
			n = 0
		}
	}
	maxAll(d, batch[:n])
}

// A view is the registers of a sketch of any form, for reading: either all of
// them, or a list of entries in any order, whose zero entries mean nothing. A register
// may occur again.
type view struct {
	dense   *registers
	entries []entry
}

func (s *Sketch) view() view { return view{s.dense, s.table} }

// merge raises d to the registers of v.
func (d *registers) merge(v view) {
	if v.dense != nil {
		maxInto(d, v.dense)
	} else {
		d.mergeEntries(v.entries)
	}
}

// mergeEntries raises d to a list of entries. It does not skip zero entries: the
// processor could not predict that branch in a table, and a rank of zero raises
// nothing.
func (d *registers) mergeEntries(list []entry) {
	for _, e := range list {
		p := &d[e.register()&(Registers-1)]
		*p = max(*p, e.rank())
	}
}

func (s *Sketch) merge(v view) {
	switch {
	case v.dense != nil:
		s.becomeDense()
		maxInto(s.dense, v.dense)
	case s.dense != nil && (s.stale || len(v.entries) > inline): // recounting is cheaper than keeping count
		s.dense.mergeEntries(v.entries)
	default:
		for _, e := range v.entries {
			if e != 0 {
				s.raise(e)
			}
		}
		return
	}
	s.stale = true
}
