package histogram

import (
	"slices"

	"weir/internal/hashtable"
)

// A Pool has many histograms, numbered from 0, and knows which counts of each have changed
// since they were taken last. The zero value is ready.
//
// A histogram has counts of single buckets, which are found by a hash table that all
// histograms share, and a window: an array with a count for each bucket of a range. Once a
// range holds so many buckets that an array of it is not much larger than their single
// counts, it becomes the window. So memory is in proportion to the buckets that have numbers,
// whatever these are: a single count takes 16 bytes and 11 to 21 in the table; a window has
// at most 8 counts of 4 bytes for each bucket, and may have followed smaller ones, whose
// memory is free after Reset only. It has at least 4 counts for each bucket, because numbers
// are mostly near to those before them.
type Pool struct {
	histograms []histogram
	singles    []single
	free       uint32                  // the first single that is not in use + 1, chained by next
	index      hashtable.Table[uint32] // singles by histogram and bucket
	windows    []uint32                // counts, one window after another

	// To use again.
	near []Bucket // of widen
	far  []uint64 // of AppendNew
}

type histogram struct {
	base Bucket // the first bucket of the window
	span uint32 // how many it has
	at   uint32 // where it begins in windows

	first   uint32 // its latest single + 1; 0: none
	singles uint32 // how many
	retry   uint32 // with so many singles a larger window is tried
}

// A single is the count of one bucket.
type single struct {
	bucket Bucket
	of     uint32 // the histogram
	n      uint32
	next   uint32 // the next single of the histogram + 1
}

const (
	// changed is set in a count when it grows, and cleared by Taken.
	changed = 1 << 31

	firstRetry = 16
	sparsest   = 8 // counts of a window for each of its buckets that has numbers, at most
	roomy      = 4 // and at least
)

// Grow makes the histograms [0, n) exist.
func (p *Pool) Grow(n int) {
	for len(p.histograms) < n {
		p.histograms = append(p.histograms, histogram{retry: firstRetry})
	}
}

// Reset removes all histograms and keeps the memory.
func (p *Pool) Reset() {
	p.histograms, p.singles, p.windows, p.free = p.histograms[:0], p.singles[:0], p.windows[:0], 0
	p.index.Reset()
}

// Bytes returns about how many bytes the pool holds in memory.
func (p *Pool) Bytes() int {
	return 24*cap(p.histograms) + 16*cap(p.singles) + 4*cap(p.windows) + 4*cap(p.near) + 8*cap(p.far) + p.index.Bytes()
}

// Add counts a number of bucket b in histogram i. A bucket has at most 2^31 − 1 numbers.
func (p *Pool) Add(i uint32, b Bucket) { p.AddBatch([]uint32{i}, []Bucket{b}) }

// AddBatch counts a number of bucket buckets[n] in histogram of[n], for each n.
func (p *Pool) AddBatch(of []uint32, buckets []Bucket) {
	for n, i := range of {
		b := buckets[n]
		h := &p.histograms[i]
		if at := uint32(b - h.base); at < h.span {
			c := &p.windows[h.at+at]
			*c = (*c + 1) | changed
			continue
		}
		p.addSingle(i, b)
	}
}

func hash(i uint32, b Bucket) uint32 {
	return uint32((uint64(i)<<32 | uint64(b)) * 0x9e3779b97f4a7c15 >> 32)
}

func (p *Pool) addSingle(i uint32, b Bucket) {
	hash := hash(i, b)
	at := p.index.First(hash)
	for ; at >= 0; at = p.index.Next(at) {
		if s := &p.singles[*p.index.At(at)]; s.bucket == b && s.of == i {
			s.n = (s.n + 1) | changed
			return
		}
	}
	place := p.free
	if place > 0 {
		p.free = p.singles[place-1].next
	} else {
		p.singles = append(p.singles, single{})
		place = uint32(len(p.singles))
	}
	p.index.Insert(at, hash, place-1)
	h := &p.histograms[i]
	p.singles[place-1] = single{bucket: b, of: i, n: 1 | changed, next: h.first}
	h.first = place
	if h.singles++; h.singles >= h.retry {
		p.widen(h)
	}
}

// widen gives a histogram a window with those of its singles that are near to each other
// and to the window that it has. The others, such as zeros among latencies, stay singles.
func (p *Pool) widen(h *histogram) {
	old := p.windows[h.at:][:h.span]
	held := uint32(0)
	for _, n := range old {
		if n > 0 {
			held++
		}
	}
	near := p.near[:0]
	for next := h.first; next > 0; next = p.singles[next-1].next {
		near = append(near, p.singles[next-1].bucket)
	}
	p.near = near
	slices.Sort(near)
	bounds := func(near []Bucket) (base, end Bucket) {
		switch {
		case len(near) == 0:
			return h.base, h.base + Bucket(h.span)
		case h.span == 0:
			return near[0], near[len(near)-1] + 1
		}
		return min(near[0], h.base), max(near[len(near)-1]+1, h.base+Bucket(h.span))
	}
	base, end := bounds(near)
	for uint32(end-base) > sparsest*(held+uint32(len(near))) { // drop the end with the wider gap
		later, _ := bounds(near[1:])
		_, earlier := bounds(near[:len(near)-1])
		if later-base > end-earlier {
			near = near[1:]
		} else {
			near = near[:len(near)-1]
		}
		base, end = bounds(near)
	}
	if len(near) < firstRetry/2 {
		h.retry *= 2
		return
	}
	if want := roomy * (held + uint32(len(near))); want > uint32(end-base) { // more numbers will come beside these
		more := Bucket(want) - (end - base)
		base -= min(more/2, base)
		end += more / 2
	}
	at := uint32(len(p.windows))
	p.windows = slices.Grow(p.windows, int(end-base))[:at+uint32(end-base)]
	window := p.windows[at:]
	clear(window)
	if h.span > 0 {
		copy(window[h.base-base:], old)
	}
	next := h.first
	*h = histogram{base: base, span: uint32(end - base), at: at}
	for next > 0 {
		s, place := &p.singles[next-1], next
		next = s.next
		if b := s.bucket; b >= base && b < end {
			window[b-base] = s.n
			p.forget(s, place-1)
			s.next, p.free = p.free, place
		} else {
			s.next, h.first = h.first, place
			h.singles++
		}
	}
	h.retry = h.singles + max(firstRetry, held+uint32(len(near)))
}

// forget removes a single from the table.
func (p *Pool) forget(s *single, place uint32) {
	at := p.index.First(hash(s.of, s.bucket))
	for *p.index.At(at) != place {
		at = p.index.Next(at)
	}
	p.index.Remove(at)
}

// AppendNew appends the counts of histogram i that have changed since Taken. Each is the
// count of all numbers of its bucket since the histogram was empty.
func (p *Pool) AppendNew(dst Counts, i uint32) Counts {
	h := &p.histograms[i]
	far := p.far[:0] // singles, none of which is in the window
	for next := h.first; next > 0; next = p.singles[next-1].next {
		if s := &p.singles[next-1]; s.n&changed != 0 {
			far = append(far, uint64(s.bucket)<<32|uint64(s.n&^changed))
		}
	}
	p.far = far
	slices.Sort(far)
	for ; len(far) > 0 && Bucket(far[0]>>32) < h.base; far = far[1:] {
		dst = append(dst, Count{Bucket(far[0] >> 32), far[0] & (changed - 1)})
	}
	for at, n := range p.windows[h.at:][:h.span] {
		if n&changed != 0 {
			dst = append(dst, Count{h.base + Bucket(at), uint64(n &^ changed)})
		}
	}
	for _, s := range far {
		dst = append(dst, Count{Bucket(s >> 32), s & (changed - 1)})
	}
	return dst
}

// Taken notes that the counts of histogram i were taken: none has changed since then.
func (p *Pool) Taken(i uint32) {
	h := &p.histograms[i]
	for next := h.first; next > 0; next = p.singles[next-1].next {
		p.singles[next-1].n &^= changed
	}
	window := p.windows[h.at:][:h.span]
	for at := range window {
		window[at] &^= changed
	}
}
