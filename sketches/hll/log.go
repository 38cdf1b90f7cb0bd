package hll

import "weir/sketches/internal/recycle"

// A log is the sparse form of a Pool above a cache line: the entries in the order in which
// they came, of which several may be of one register. So an addition writes four bytes at
// the end of a log, and these ends are in the caches even of many sketches; in a hash table
// it would read a slot at random. What reads a log takes it apart first: see registersOf.
//
// Logs have 32 to 2,048 entries, a class for each power of two. A full one of every other
// class, and of the last, is compacted, and keeps its class if that has left half of it free.
type log []entry

const (
	logMin  = 32
	logMax  = 2048 // one more doubling would be as large as the dense form
	classes = 7
)

// blanks has registers that are all zero.
var blanks recycle.Bin[registers]

// compact keeps one entry of each register, with its highest rank, and returns how many these are. They
// are the first of the log then.
func (l log) compact() int {
	ranks := blanks.Take()
	n := uint32(0)
	for _, e := range l {
		r := &ranks[e.register()&(Registers-1)]
		l[n] = e
		n += (uint32(*r) - 1) >> 31 // 1 if the register is new; a branch could not be predicted
		*r = max(*r, e.rank())
	}
	for i, e := range l[:n] {
		r := &ranks[e.register()&(Registers-1)]
		l[i] = e&^(1<<rankBits-1) | entry(*r)
		*r = 0
	}
	blanks.Give(ranks)
	return int(n)
}

// log returns the entries of a line whose form is formLog.
func (p *Pool) log(l *line) log { return p.logs[l.class].at(l.class, l.number)[:l.n] }

// full tells whether the log of l has no room. Its class says how much it has.
func (l *line) full() bool { return l.n>>(l.class&7+5) != 0 }

// append puts an entry at the end of the log of l, which may become dense.
func (p *Pool) append(l *line, e entry) {
	if l.full() {
		p.makeRoom(l)
		p.raise(l, e)
		return
	}
	p.logs[l.class&7].append(l.number, l.n, e)
	l.n++
}

// makeRoom makes room in a full log, or makes it dense.
func (p *Pool) makeRoom(l *line) {
	full := p.log(l)
	if l.class%2 == 1 || l.class == classes-1 {
		if l.n = uint16(full.compact()); 2*int(l.n) <= len(full) {
			return
		}
	}
	if l.class == classes-1 {
		p.becomeDense(l)
		return
	}
	class := l.class + 1
	number, to := p.logs[class].take(class)
	copy(to, p.log(l))
	p.logs[l.class].put(l.number)
	l.moved(formLog, class, number, l.n)
}

// becomeLog moves a list to a log of the lowest class.
func (p *Pool) becomeLog(l *line) {
	var buf [inline]entry
	number, to := p.logs[0].take(0)
	copy(to, l.list(&buf))
	l.moved(formLog, 0, number, l.n)
}

// registersOf returns the entries of l, which is not dense, one for each register. They are
// in buf or, because a sketch may have several readers, in a copy of the log on a slab that
// the caller gives back.
func (p *Pool) registersOf(l *line, buf *[inline]entry) (list []entry, b *slab) {
	if l.form == formList {
		return l.list(buf), nil
	}
	b = slabBin.Take()
	copied := log(b[:copy(b[:], p.log(l))])
	return copied[:copied.compact()], b
}

// giveBack ends the use of what registersOf returned.
func giveBack(b *slab) {
	if b != nil {
		slabBin.Give(b)
	}
}
