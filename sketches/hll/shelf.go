package hll

import "weir/sketches/internal/recycle"

// A shelf holds the logs of one class for a Pool. They are cut from boards of 8 KiB without
// pointers, and a log given back is handed out again, so growing sketches leave no garbage.
// The number of a log says where it begins: 64 units of 32 entries are on each board.
type shelf struct {
	boards []*board
	next   uint32   // number of the next log to cut
	free   []uint32 // numbers given back
}

type board [logMax]entry

var boards recycle.Bin[board]

const unitsPerBoard = logMax / logMin

// at returns the log of this number, as far as it has room.
func (s *shelf) at(class uint8, number uint32) log {
	from := number % unitsPerBoard * logMin
	return s.boards[number/unitsPerBoard][from : from+logMin<<(class&7)]
}

// append puts an entry behind the first n of the log of this number.
func (s *shelf) append(number uint32, n uint16, e entry) {
	s.boards[number/unitsPerBoard][(number%unitsPerBoard*logMin+uint32(n))%logMax] = e
}

// take hands out room for a log, with what it last had.
func (s *shelf) take(class uint8) (number uint32, room log) {
	if k := len(s.free); k > 0 {
		number = s.free[k-1]
		s.free = s.free[:k-1]
	} else {
		number = s.next
		s.next += 1 << class
		if int(number/unitsPerBoard) == len(s.boards) {
			s.boards = append(s.boards, boards.Take())
		}
	}
	return number, s.at(class, number)
}

// put takes a log back.
func (s *shelf) put(number uint32) { s.free = append(s.free, number) }

// reset takes all logs back and gives the boards back.
func (s *shelf) reset() {
	s.boards = boards.GiveAll(s.boards)
	s.next = 0
	s.free = s.free[:0]
}

// bytes returns the memory held outside the shelf itself.
func (s *shelf) bytes() int {
	return 8*cap(s.boards) + 4*logMax*len(s.boards) + 4*cap(s.free)
}
