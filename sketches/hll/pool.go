package hll

import (
	"fmt"
	"unsafe"

	"weir/sketches/internal/recycle"
)

// linesPerChunk makes chunks of 16 KiB, which Go allocates without slack and
// aligned to pages.
const linesPerChunk = 256

type chunk [linesPerChunk]line

var (
	chunks recycle.Bin[chunk]
	denses recycle.Bin[registers]
)

// A Pool is many sketches under the numbers 0 to Len()-1 that are all freed
// together, for example the sketches of a worker's open windows. A sketch of up
// to 16 registers takes 64 bytes, and an addition to it costs one cache miss.
// Larger ones move to logs (128 bytes to 8 KiB) and then to 16 KiB of dense
// registers, all owned by the Pool. The zero value is empty and ready.
//
// Methods panic on a number outside the Pool, as a slice would.
type Pool struct {
	n      int
	chunks []*chunk
	logs   [8]allocator // by class, of which there are seven; an index of three bits takes no check
	dense  []*registers
	hists  []histogram // of dense, by the same number
}

// Grow makes the sketches [0, n) exist; new ones are empty. A smaller n does
// nothing.
func (p *Pool) Grow(n int) {
	for len(p.chunks)*linesPerChunk < n {
		c := chunks.Take()
		*c = chunk{}
		p.chunks = append(p.chunks, c)
	}
	p.n = max(p.n, n)
}

// Len returns the number of sketches.
func (p *Pool) Len() int { return p.n }

func (p *Pool) line(i uint32) *line {
	if int(i) >= p.n {
		p.outside(i)
	}
	return p.lineUnchecked(i)
}

// lineUnchecked is line for a number known to be below Len.
func (p *Pool) lineUnchecked(i uint32) *line {
	return &p.chunks[i/linesPerChunk][i%linesPerChunk]
}

func (p *Pool) outside(i uint32) {
	panic(fmt.Sprintf("hll: sketch %d of a pool of %d", i, p.n))
}

// Add records a hashed element in sketch i.
func (p *Pool) Add(i uint32, h uint64) { p.raise(p.line(i), entryOf(h)) }

// raise lifts the register of e in the sketch of line l.
func (p *Pool) raise(l *line, e entry) {
	switch l.form {
	case formList:
		if !l.raise(e) {
			p.becomeLog(l)
			p.append(l, e)
		}
	case formLog:
		p.append(l, e)
	case formDense:
		if old := p.dense[l.number].raise(e.register(), e.rank()); old < e.rank() {
			p.hists[l.number].move(old, e.rank())
		}
	}
}

func (p *Pool) becomeDense(l *line) *registers {
	if l.form == formDense {
		return p.dense[l.number]
	}
	var buf [inline]entry
	list, b := p.registersOf(l, &buf)
	d := denses.Take()
	*d = registers{}
	d.mergeEntries(list)
	number := uint32(len(p.dense))
	p.dense, p.hists = append(p.dense, d), append(p.hists, countRanks(list))
	giveBack(b)
	if l.form == formLog {
		p.logs[l.class].put(l.number)
	}
	l.moved(formDense, 0, number, 0)
	return d
}

// view returns the registers of l, with buf for the entries of a list.
func (p *Pool) view(l *line, buf *[inline]entry) view {
	switch l.form {
	case formList:
		return view{entries: l.list(buf)}
	case formLog:
		return view{entries: p.log(l)}
	default:
		return view{dense: p.dense[l.number]}
	}
}

// Merge merges sketch j of q into sketch i of p, register by register. q may be
// p.
func (p *Pool) Merge(i uint32, q *Pool, j uint32) {
	l, o := p.line(i), q.line(j)
	switch {
	case l == o:
	case l.form == formList && l.n == 0 && o.form != formDense: // a copy will do, and takes no search
		p.copyLine(l, q, o)
	default:
		var buf [inline]entry
		p.merge(l, q.view(o, &buf))
	}
}

// copyLine makes the empty line l one like o of q, which is not dense.
func (p *Pool) copyLine(l *line, q *Pool, o *line) {
	if o.form == formList {
		*l = *o
		return
	}
	number, to := p.logs[o.class].take(o.class)
	copy(to, q.log(o))
	l.moved(formLog, o.class, number, o.n)
}

// MergeInto merges sketch i into s.
func (p *Pool) MergeInto(i uint32, s *Sketch) {
	var buf [inline]entry
	s.merge(p.view(p.line(i), &buf))
}

func (p *Pool) merge(l *line, v view) {
	if v.dense == nil {
		for _, e := range v.entries {
			if e != 0 {
				p.raise(l, e)
			}
		}
		return
	}
	maxInto(p.becomeDense(l), v.dense)
	l.n = 1 // the histogram is stale
}

// Count estimates the number of distinct elements of sketch i. For a dense
// sketch it looks at 52 numbers, unless a merge came before.
func (p *Pool) Count(i uint32) uint64 {
	l := p.line(i)
	if l.form == formDense {
		h := p.histogram(l)
		return h.count(Registers - h.nonzero())
	}
	var buf [inline]entry
	list, b := p.registersOf(l, &buf)
	h := countRanks(list)
	n := h.count(Registers - len(list))
	giveBack(b)
	return n
}

// histogram is that of the dense line l, recounted if a merge left it stale.
func (p *Pool) histogram(l *line) *histogram {
	h := &p.hists[l.number]
	if l.n != 0 {
		*h = p.dense[l.number].histogram()
		l.n = 0
	}
	return h
}

// Sketch returns a copy of sketch i.
func (p *Pool) Sketch(i uint32) *Sketch {
	s := new(Sketch)
	p.MergeInto(i, s)
	return s
}

// Reset removes all sketches and gives their memory to the next ones, of any Pool.
func (p *Pool) Reset() {
	p.n, p.chunks = 0, chunks.GiveAll(p.chunks)
	p.dense, p.hists = denses.GiveAll(p.dense), p.hists[:0]
	for class := range p.logs {
		p.logs[class].reset()
	}
}

// Bytes returns the memory the Pool holds.
func (p *Pool) Bytes() int {
	n := int(unsafe.Sizeof(*p)) + 8*cap(p.chunks) + len(p.chunks)*int(unsafe.Sizeof(chunk{}))
	n += 8*cap(p.dense) + len(p.dense)*Registers + cap(p.hists)*int(unsafe.Sizeof(histogram{}))
	for i := range p.logs {
		n += p.logs[i].bytes()
	}
	return n
}
