package hll

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// forEachMaxCase calls f with registers to be raised to several sources:
// random ranks, all equal, all extreme, one register only, at addresses of
// every alignment.
func forEachMaxCase(t *testing.T, f func(name string, d *registers, sources []*registers)) {
	t.Helper()
	r := rand.New(rand.NewPCG(20, 1))
	const guard = 0xa5
	for round := range 60 {
		memory := make([][]byte, 6)
		list := make([]*registers, 6)
		for k := range memory {
			at := 64 + r.IntN(33)
			memory[k] = bytes.Repeat([]byte{guard}, at+Registers+64)
			list[k] = (*registers)(unsafe.Pointer(&memory[k][at]))
			switch kind := (round + k) % 5; kind {
			case 0:
				for i := range list[k] {
					list[k][i] = uint8(r.IntN(64))
				}
			case 1, 2:
				for i := range list[k] {
					list[k][i] = uint8((kind - 1) * 63)
				}
			case 3:
				clear(list[k][:])
				list[k][r.IntN(Registers)] = uint8(r.IntN(64))
			case 4:
				for i := range list[k] {
					list[k][i] = uint8(i % 64)
				}
			}
			for i, b := range memory[k] {
				if (i < at || i >= at+Registers) && b != guard {
					t.Fatal("bad guard")
				}
			}
		}
		f(fmt.Sprint("case ", round), list[0], list[1:])
		for k, m := range memory {
			for _, b := range append(m[:64:64], m[len(m)-64:]...) {
				if b != guard {
					t.Fatalf("case %d: bytes around registers %d were written", round, k)
				}
			}
		}
	}
}

func TestMax(t *testing.T) {
	forEachMaxCase(t, func(name string, d *registers, sources []*registers) {
		want := *d
		for _, s := range sources {
			for i, r := range s {
				want[i] = max(want[i], r)
			}
		}
		words, into, all := *d, *d, *d
		for _, s := range sources {
			maxWords(&words, s)
			maxInto(&into, s)
		}
		maxAll(&all, sources)
		if words != want || into != want || all != want {
			t.Fatalf("%s: maximum is wrong: maxWords %v maxInto %v maxAll %v", name, words == want, into == want, all == want)
		}
		v := make(String, denseBytes)
		var packed, str, alone registers
		for i, s := range sources {
			s.pack(v[headerBytes:])
			for i, r := range s {
				if got := packedAt(v[headerBytes:], i); got != r {
					t.Fatalf("%s: packed register %d is %d, want %d", name, i, got, r)
				}
			}
			if alone.unpack(v[headerBytes:]); alone != *s {
				t.Fatalf("%s: unpack is not the inverse of pack", name)
			}
			if h := s.histogram(); h != packedHistogram(v[headerBytes:]) {
				t.Fatalf("%s: histograms of packed and plain registers differ", name)
			}
			if i == 0 {
				packed, str = *d, *d
			}
			maxPacked(&packed, v[headerBytes:])
			maxString(&str, v)
		}
		if packed != want || str != want {
			t.Fatalf("%s: maximum with packed registers is wrong: maxPacked %v maxString %v", name, packed == want, str == want)
		}
	})
}

// packedAt reads a register bit by bit.
func packedAt(b []byte, i int) (r uint8) {
	for k := range 6 {
		bit := 6*i + k
		r |= b[bit/8] >> (bit % 8) & 1 << k
	}
	return r
}

func TestPackedRaise(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 2))
	b := make([]byte, packedBytes)
	var want registers
	for range 400000 {
		i, rank := r.IntN(Registers), uint8(1+r.IntN(63))
		if r.IntN(3) == 0 {
			i = []int{0, 1, 2, 3, Registers - 2, Registers - 1}[r.IntN(6)]
		}
		if old := packedRaise(b, uint32(i), rank); old != want[i] {
			t.Fatalf("register %d was %d, want %d", i, old, want[i])
		}
		want[i] = max(want[i], rank)
	}
	var got registers
	if got.unpack(b); got != want {
		t.Fatal("registers differ after single raises")
	}
}

func TestHistogram(t *testing.T) {
	forEachMaxCase(t, func(name string, d *registers, _ []*registers) {
		var want [64]int
		for _, r := range d {
			want[r]++
		}
		for r, c := range d.histogram() {
			if int(c) != want[r] {
				t.Fatalf("%s: %d registers of rank %d, want %d", name, c, r, want[r])
			}
		}
	})
}
