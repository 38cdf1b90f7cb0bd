package ingest

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// compareUsual fails if usual accepts a record's fields and reads them otherwise than
// unusual. It returns whether usual accepts them.
func compareUsual(t *testing.T, r []byte) bool {
	t.Helper()
	time, delta, size, w := usual(r)
	if w == 0 {
		return false
	}
	if time2, delta2, size2, w2 := unusual(r); time != time2 || delta != delta2 || size != size2 || w != w2 {
		t.Fatalf("%x: usual %d %d %d at %d, unusual %d %d %d at %d", r, time, delta, size, w, time2, delta2, size2, w2)
	}
	return true
}

// TestUsual: the short way to read a record agrees with the long one, and it is taken for
// the records that it is made for.
func TestUsual(t *testing.T) {
	edges := []int64{0, 1, -1, 2, 63, -64, 64, -65, 100, 8191, -8192, 8192, -8193, 1 << 20, -1 << 40}
	for _, time := range edges {
		for _, delta := range edges {
			for _, size := range edges {
				for _, key := range []int64{-2, -1, 0, 1, 5, 63, 64, 200} {
					r := binary.AppendVarint(nil, time)
					r = binary.AppendVarint(r, delta)
					r = binary.AppendVarint(r, key)
					r = append(r, make([]byte, max(key, 0))...)
					r = binary.AppendVarint(r, size)
					r = append(r, make([]byte, 8)...)
					short := func(v int64) bool { return -8192 <= v && v < 8192 }
					want := short(time) && short(delta) && short(size) && -1 <= key && key < 64
					if got := compareUsual(t, r); got != want {
						t.Fatalf("time %d, delta %d, key %d, size %d: usual %v, want %v", time, delta, key, size, got, want)
					}
					for cut := range r {
						compareUsual(t, r[:cut])
					}
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 200_000 {
		r := make([]byte, random.IntN(24))
		for i := range r {
			r[i] = byte(random.Uint32())
		}
		if compareUsual(t, r) {
			accepted++
		}
	}
	if accepted == 0 {
		t.Error("usual accepts no random bytes")
	}
}

func FuzzUsual(f *testing.F) {
	f.Add([]byte{2, 4, 1, 10, 'a', 'b', 'c', 'd', 'e', 0})
	f.Add([]byte{0x80, 1, 0x82, 1, 4, 'k', 'e', 0xf4, 2, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, r []byte) { compareUsual(t, r) })
}
