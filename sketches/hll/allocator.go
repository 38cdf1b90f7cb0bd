package hll

import "weir/sketches/internal/recycle"

// An allocator holds the logs of one class for a Pool. They are cut from slabs of 8 KiB without
// pointers, and a log given back is handed out again, so growing sketches leave no garbage.
// The number of a log says where it begins: 64 units of 32 entries are on each slab.
type allocator struct {
	slabs []*slab
	next  uint32   // number of the next log to cut
	free  []uint32 // numbers given back
}

type slab [logMax]entry

var slabBin recycle.Bin[slab]

const unitsPerSlab = logMax / logMin

// at returns the log of this number, as far as it has room.
func (s *allocator) at(class uint8, number uint32) log {
	from := number % unitsPerSlab * logMin
	return s.slabs[number/unitsPerSlab][from : from+logMin<<(class&7)]
}

// append puts an entry behind the first n of the log of this number.
func (s *allocator) append(number uint32, n uint16, e entry) {
	s.slabs[number/unitsPerSlab][(number%unitsPerSlab*logMin+uint32(n))%logMax] = e
}

// take hands out room for a log, with what it last had.
func (s *allocator) take(class uint8) (number uint32, room log) {
	if k := len(s.free); k > 0 {
		number = s.free[k-1]
		s.free = s.free[:k-1]
	} else {
		number = s.next
		s.next += 1 << class
		if int(number/unitsPerSlab) == len(s.slabs) {
			s.slabs = append(s.slabs, slabBin.Take())
		}
	}
	return number, s.at(class, number)
}

func (s *allocator) put(number uint32) { s.free = append(s.free, number) }

// reset takes all logs back and gives the slabs back.
func (s *allocator) reset() {
	s.slabs = slabBin.GiveAll(s.slabs)
	s.next = 0
	s.free = s.free[:0]
}

// bytes returns the memory held outside the allocator itself.
func (s *allocator) bytes() int {
	return 8*cap(s.slabs) + 4*logMax*len(s.slabs) + 4*cap(s.free)
}
