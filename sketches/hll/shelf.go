package hll

import "weir/sketches/internal/recycle"

// A shelf holds the tables of one class, 32<<class entries each, for a Pool.
// They are cut from boards of 8 KiB without pointers, and a table given back
// is handed out again, so growing sketches leave no garbage.
type shelf struct {
	boards []*board
	next   uint32   // tables cut so far
	free   []uint32 // numbers given back
}

type board [tableMax]entry

var boards recycle.Bin[board]

const (
	classes   = 7 // 32, 64, … 2,048 entries
	classMin  = 32
	classBits = 6 // log2 of the tables of class 0 on a board
)

// at returns the table of this number.
func (s *shelf) at(class uint8, number uint32) table {
	class &= 7
	size := uint32(classMin) << class
	from := number << class * classMin % tableMax
	return s.boards[number>>(classBits-class)][from : from+size]
}

// take hands out an empty table.
func (s *shelf) take(class uint8) (number uint32, t table) {
	if k := len(s.free); k > 0 {
		number = s.free[k-1]
		s.free = s.free[:k-1]
	} else {
		number = s.next
		s.next++
		if int(number>>(classBits-class)) == len(s.boards) {
			s.boards = append(s.boards, boards.Take())
		}
	}
	t = s.at(class, number)
	clear(t)
	return number, t
}

// put takes a table back.
func (s *shelf) put(number uint32) { s.free = append(s.free, number) }

// reset takes all tables back and gives the boards back.
func (s *shelf) reset() {
	s.boards = boards.GiveAll(s.boards)
	s.next = 0
	s.free = s.free[:0]
}

// bytes returns the memory held outside the shelf itself.
func (s *shelf) bytes() int {
	return 8*cap(s.boards) + 4*tableMax*len(s.boards) + 4*cap(s.free)
}
