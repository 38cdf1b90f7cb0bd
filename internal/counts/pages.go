package counts

import "unsafe"

// pages hands out runs of a power of two of numbers. The garbage collector has nothing to follow
// in them. A run is named by the page that it is in and, in the last pageBits bits, where it
// begins there.
type pages[E uint16 | uint32 | uint64] struct {
	all     [][]E
	shared  []uint32     // the pages of several runs; a run that is larger than such a page has one of its own
	filling int          // how many of these are in use; the last one has room from…
	free    int          // …this number on
	spare   [32][]uint32 // runs that were given back, by the logarithm of their length
	own     [32][]uint32 // by the same, the runs that have a page of their own
}

const (
	pageBits = 13
	pageLen  = 1 << pageBits // of a shared page, at most
)

// run returns the run of 1 << bits numbers with a name.
func (p *pages[E]) run(name uint32, bits uint8) []E {
	return p.all[name>>pageBits][name&(pageLen-1):][:1<<(bits&31)]
}

// take returns the name of a run of 1 << bits zeros.
func (p *pages[E]) take(bits uint8) (name uint32) {
	if n := len(p.spare[bits]); n > 0 {
		name = p.spare[bits][n-1]
		p.spare[bits] = p.spare[bits][:n-1]
		clear(p.run(name, bits))
		return name
	}
	if bits > pageBits {
		p.all = append(p.all, make([]E, 1<<bits))
		name = uint32(len(p.all)-1) << pageBits
		p.own[bits] = append(p.own[bits], name)
		return name
	}
	if p.filling == 0 || p.free+1<<bits > len(p.all[p.shared[p.filling-1]]) {
		p.next(bits)
	}
	name = p.shared[p.filling-1]<<pageBits | uint32(p.free)
	p.free += 1 << bits
	clear(p.run(name, bits))
	return name
}

// next begins to fill another page, which has room for a run of 1 << bits numbers. The first
// pages are small, because many pools have few.
func (p *pages[E]) next(bits uint8) {
	p.free = 0
	for p.filling++; p.filling <= len(p.shared); p.filling++ {
		if len(p.all[p.shared[p.filling-1]]) >= 1<<bits {
			return
		}
	}
	p.all = append(p.all, make([]E, min(pageLen, 16<<max(int(bits), min(len(p.shared), pageBits)))))
	p.shared = append(p.shared, uint32(len(p.all)-1))
}

// give takes a run back.
func (p *pages[E]) give(name uint32, bits uint8) { p.spare[bits] = append(p.spare[bits], name) }

// reset takes all runs back and keeps the memory.
func (p *pages[E]) reset() {
	for bits := range p.spare {
		p.spare[bits] = append(p.spare[bits][:0], p.own[bits]...)
	}
	p.filling, p.free = 0, 0
}

// bytes returns about how many bytes are held.
func (p *pages[E]) bytes() int {
	n := cap(p.all)*int(unsafe.Sizeof([]E(nil))) + 4*cap(p.shared)
	for _, page := range p.all {
		n += len(page) * int(unsafe.Sizeof(E(0)))
	}
	for i := range p.spare {
		n += 4 * (cap(p.spare[i]) + cap(p.own[i]))
	}
	return n
}
