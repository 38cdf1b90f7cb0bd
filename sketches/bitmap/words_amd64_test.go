//go:build !purego

package bitmap

import (
	"math/rand/v2"
	"testing"

	"weir/sketches/internal/cpu"
)

// TestBothCounts tries the two vector forms of count that count chooses from.
func TestBothCounts(t *testing.T) {
	if !cpu.AVX2 {
		t.Log("no AVX2 here: only the plain form is in use")
		return
	}
	r := rand.New(rand.NewPCG(4, 5))
	b := make([]byte, 40*countStep)
	for _, fill := range []func() byte{
		func() byte { return byte(r.Uint32()) },
		func() byte { return 0xff },
		func() byte { return 0 },
	} {
		for i := range b {
			b[i] = fill()
		}
		for blocks := 1; blocks <= 40; blocks++ {
			want := countGeneric(b[:blocks*countStep])
			if got := countAVX2(&b[0], blocks); got != want {
				t.Fatalf("AVX2 counts %d in %d blocks, want %d", got, blocks, want)
			}
			if !cpu.VPOPCNT {
				continue
			}
			if got := countVPOPCNT(&b[0], blocks); got != want {
				t.Fatalf("VPOPCNT counts %d in %d blocks, want %d", got, blocks, want)
			}
		}
	}
}
