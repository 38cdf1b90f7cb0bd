package bitmap

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestAssemblyAgainstPlain runs the vector loops and their plain twins over
// all lengths around the block sizes, at odd addresses, and checks that
// nothing beyond the slices is touched.
func TestAssemblyAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for n := 0; n < 1100; n++ {
		at := r.IntN(32)
		room := func() []byte {
			b := make([]byte, at+n+64)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		}
		d, s, u := room(), room(), room()
		if got, want := count(s[at:at+n]), countGeneric(s[at:at+n]); got != want {
			t.Fatalf("count of %d bytes is %d, want %d", n, got, want)
		}
		got, want := bytes.Clone(d), bytes.Clone(d)
		or(got[at:at+n], s[at:at+n])
		orGeneric(want[at:at+n], s[at:at+n])
		if !bytes.Equal(got, want) {
			t.Fatalf("or of %d bytes differs from the plain form", n)
		}
		got, want = bytes.Clone(d), bytes.Clone(d)
		or2(got[at:at+n], s[at:at+n], u[at:at+n])
		or2Generic(want[at:at+n], s[at:at+n], u[at:at+n])
		if !bytes.Equal(got, want) {
			t.Fatalf("or2 of %d bytes differs from the plain form", n)
		}
	}
}
