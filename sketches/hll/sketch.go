package hll

const sketchBytes = 8 + 24 + 8 + 128 + 8

// A Sketch is one HyperLogLog of precision 14. The zero value is empty and
// ready. It holds up to 1,536 registers in a table of at most 8 KiB and is
// dense (16 KiB) above that; it never shrinks back except by Reset.
type Sketch struct {
	dense *registers // nil while sparse
	table table
	n     int // registers that are not zero
	hist  histogram
	stale bool // dense and merged into: hist and n await a recount
}

// Add records an element and tells whether a register rose, which is what
// PFADD answers. It does not allocate, except where the sketch grows.
func (s *Sketch) Add(b []byte) bool { return s.AddHash(Hash(b)) }

// AddHash is Add for an element already hashed, by [Hash] or another hash of
// 64 good bits.
func (s *Sketch) AddHash(h uint64) bool {
	if s.dense != nil {
		i, r := split(h)
		old := s.dense.raise(i, r)
		if old >= r {
			return false
		}
		s.rose(old, r)
		return true
	}
	return s.raise(entryOf(h))
}

// rose keeps the histogram. While it is stale this does no harm.
func (s *Sketch) rose(old, r uint8) {
	if old == 0 {
		s.n++
	}
	s.hist.move(old, r)
}

func (s *Sketch) raise(e entry) bool {
	var old uint8
	switch {
	case s.dense != nil:
		old = s.dense.raise(e.register(), e.rank())
	case s.table == nil:
		s.table = make(table, tableMin)
		fallthrough
	default:
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
	for _, e := range s.table {
		if e != 0 {
			s.dense[e.register()] = e.rank()
		}
	}
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

// Reset empties the sketch and gives its memory back.
func (s *Sketch) Reset() { *s = Sketch{} }

// Clone returns an independent copy.
func (s *Sketch) Clone() *Sketch {
	c := *s
	if s.dense != nil {
		c.dense = new(registers)
		*c.dense = *s.dense
	}
	c.table = append(table(nil), s.table...)
	return &c
}

// Bytes is the memory the sketch holds, itself included.
func (s *Sketch) Bytes() int {
	n := sketchBytes + 4*cap(s.table)
	if s.dense != nil {
		n += Registers
	}
	return n
}

// A view is the registers of any sketch here for reading: either all of them,
// or a list of entries in any order in which zeros are to be passed over.
type view struct {
	dense   *registers
	entries []entry
}

func (s *Sketch) view() view { return view{s.dense, s.table} }

func (s *Sketch) merge(v view) {
	if v.dense == nil {
		for _, e := range v.entries {
			if e != 0 {
				s.raise(e)
			}
		}
		return
	}
	s.becomeDense()
	maxInto(s.dense, v.dense)
	s.stale = true
}
