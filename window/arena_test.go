package window

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestArena: pieces stay what they are while arenas take each other's, many times with one of the
// arenas used again, and what is kept does not grow with the number of times.
func TestArena(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	var a arena
	var bytesAt [40]int
	for round := range bytesAt {
		a.reset()
		var want [][]byte
		var at []place
		piece := func() []byte {
			return bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(3)*r.IntN(2000))
		}
		for range 3 {
			for range 200 {
				p := piece()
				want, at = append(want, p), append(at, a.put(p))
			}
			var o arena
			var theirs []place
			for range 200 {
				p := piece()
				want, theirs = append(want, p), append(theirs, o.put(p))
			}
			a.take(&o)
			for _, p := range theirs {
				at = append(at, a.bring(&o, p))
			}
			a.leave()
			other := a.bring(&o, theirs[0]) // a copy
			if p := a.at(other); !bytes.Equal(p, o.at(theirs[0])) || len(p) > 0 && &p[0] == &o.at(theirs[0])[0] {
				t.Fatalf("round %d: after leave, bring does not copy", round)
			}
		}
		for i := range want {
			if !bytes.Equal(a.at(at[i]), want[i]) {
				t.Fatalf("round %d: piece %d has %d bytes of %v, want %d of %v", round, i, len(a.at(at[i])), a.at(at[i])[:1], len(want[i]), want[i][:1])
			}
		}
		bytesAt[round] = a.bytes()
	}
	if most := 2 * bytesAt[0]; bytesAt[len(bytesAt)-1] > most {
		t.Errorf("%d bytes after %d rounds, %d after the first", bytesAt[len(bytesAt)-1], len(bytesAt), bytesAt[0])
	}
}
