package slab

import (
	"math/rand/v2"
	"testing"
)

// TestRunsAreApart fills runs with their own number, frees and reuses some at
// random, and checks that no run sees another run's writes and that every new
// run is zero.
func TestRunsAreApart(t *testing.T) {
	for _, run := range []int{1, 4, 30, 1024, 5000} {
		r := rand.New(rand.NewPCG(1, uint64(run)))
		s := New[uint32](run)
		held := map[uint32]uint32{}
		var stamp uint32
		for step := range 3000 {
			switch {
			case step%1000 == 999:
				s.Reset()
				clear(held)
			case r.IntN(3) > 0:
				name := s.Alloc()
				if _, twice := held[name]; twice {
					t.Fatalf("run %d handed out twice", name)
				}
				stamp++
				for i, v := range s.Run(name) {
					if v != 0 {
						t.Fatalf("run length %d: a new run holds %d at %d", run, v, i)
					}
					s.Run(name)[i] = stamp
				}
				held[name] = stamp
			default:
				for name := range held {
					s.Free(name)
					delete(held, name)
					break
				}
			}
		}
		for name, want := range held {
			for i, v := range s.Run(name) {
				if v != want {
					t.Fatalf("run length %d: run %d holds %d at %d, want %d", run, name, v, i, want)
				}
			}
		}
	}
}

func TestResetLetsABurstGo(t *testing.T) {
	s := New[uint64](1024)
	for range 1000 {
		s.Alloc()
	}
	burst := s.Bytes()
	for range 2 {
		s.Reset()
		for range 10 {
			s.Alloc()
		}
	}
	s.Reset()
	if got := s.Bytes(); got > burst/10 {
		t.Errorf("a slab that needs 10 runs holds %d bytes, a burst of 1000 took %d", got, burst)
	}
}
