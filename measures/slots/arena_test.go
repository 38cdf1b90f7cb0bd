package slots

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestArena: pieces stay what they are while arenas take each other's, many times with one of the
// arenas used again, and what is kept does not grow with the number of times.
func TestArena(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	var a Arena
	var bytesAt [40]int
	for round := range bytesAt {
		a.Reset()
		var want [][]byte
		var at []Place
		piece := func() []byte {
			return bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(3)*r.IntN(2000))
		}
		for range 3 {
			for range 200 {
				p := piece()
				want, at = append(want, p), append(at, a.Put(p))
			}
			var o Arena
			var theirs []Place
			for range 200 {
				p := piece()
				want, theirs = append(want, p), append(theirs, o.Put(p))
			}
			a.Take(&o)
			for _, p := range theirs {
				at = append(at, a.Bring(&o, p))
			}
			a.Leave()
			if o.Bytes() > 0 {
				t.Fatalf("round %d: after Leave, the other arena holds %d bytes", round, o.Bytes())
			}
		}
		for i := range want {
			if !bytes.Equal(a.At(at[i]), want[i]) {
				t.Fatalf("round %d: piece %d has %d bytes of %v, want %d of %v", round, i, len(a.At(at[i])), a.At(at[i])[:1], len(want[i]), want[i][:1])
			}
		}
		bytesAt[round] = a.Bytes()
	}
	if most := 2 * bytesAt[0]; bytesAt[len(bytesAt)-1] > most {
		t.Errorf("%d bytes after %d rounds, %d after the first", bytesAt[len(bytesAt)-1], len(bytesAt), bytesAt[0])
	}
}
