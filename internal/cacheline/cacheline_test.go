package cacheline

import "testing"

func TestSlice(t *testing.T) {
	s := Slice[[24]byte](3)
	if len(s) != 3 || cap(s) != 3 {
		t.Errorf("%d values of %d, want 3 of 3", len(s), cap(s))
	}
	for size, want := range map[int]int{0: 0, 1: line, line - 1: 2, line: 1, line + 1: 1} {
		if got := room(size); got != want {
			t.Errorf("%d values of %d bytes make room, want %d", got, size, want)
		}
	}
}
