package hll

// A line is one sketch of a Pool: a cache line without pointers. It holds up to
// 16 registers itself, as parallel lists of their numbers and ranks; of a
// larger sketch it holds only where the registers are.
type line struct {
	_      uint64 // fills the cache line, which the assembly counts on
	form   form
	class  uint8  // of the log
	n      uint16 // registers set, in a list; entries of a log; dense: 1 if the histogram is stale
	number uint32 // of the log or of the dense registers
	index  [inline]uint16
	rank   [inline]uint8
}

const inline = 16

// A form is where the registers of a line are.
type form uint8

const (
	formList form = iota
	formLog
	formDense
)

// raise lifts the register of e in the list of l. It returns false if the
// register is not in the list and the list is full.
func (l *line) raise(e entry) bool {
	i, r := uint16(e.register()), e.rank()
	n := l.n
	for k := range n {
		if l.index[k&(inline-1)] == i {
			l.rank[k&(inline-1)] = max(l.rank[k&(inline-1)], r)
			return true
		}
	}
	if n == inline {
		return false
	}
	l.index[n&(inline-1)], l.rank[n&(inline-1)] = i, r
	l.n++
	return true
}

// list writes the registers of a list line to buf.
func (l *line) list(buf *[inline]entry) []entry {
	for k := range l.n {
		buf[k&(inline-1)] = entry(l.index[k&(inline-1)])<<rankBits | entry(l.rank[k&(inline-1)])
	}
	return buf[:l.n]
}

// moved turns l into a line whose registers are elsewhere.
func (l *line) moved(f form, class uint8, number uint32, n uint16) {
	*l = line{form: f, class: class, number: number, n: n}
}
