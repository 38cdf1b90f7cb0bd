package set

import (
	"fmt"
	"testing"

	"weir/sketches/idset"
)

// TestAnswer: a set finds its ids under its key, and counts those that two sets have in
// common without the pairs of different ids that share a hash.
func TestAnswer(t *testing.T) {
	of := func(key *[16]byte, from, to int) *Answer {
		set := new(idset.Pool)
		set.Grow(1)
		for i := from; i < to; i++ {
			set.Add(0, Hash(key, fmt.Appendf(nil, "user-%d", i)))
		}
		return NewAnswer(set, key)
	}
	const n = 400_000
	a, b, c := of(nil, 0, n), of(nil, n, 2*n), of(nil, n/2, n+n/2)
	for _, x := range []struct {
		a, b *Answer
		want int
		off  int
	}{{a, a, n, 20}, {a, b, 0, 20}, {a, c, n / 2, 20}, {a, of(nil, 0, 0), 0, 0}} {
		if got := int(x.a.Common(x.b)); got < x.want-x.off || got > x.want+x.off {
			t.Errorf("%d in common, want %d", got, x.want)
		}
	}
	if raw := a.hashes.Common(0, b.hashes, 0); raw < 25 {
		t.Errorf("%d common hashes of sets without a common id: the test tests nothing", raw)
	}
	keyed := of(&[16]byte{7}, 0, 100)
	for _, s := range []*Answer{a, keyed} {
		if !s.Has([]byte("user-99")) || s.Has([]byte("user99")) {
			t.Errorf("key %v: user-99 %t, user99 %t", s.key, s.Has([]byte("user-99")), s.Has([]byte("user99")))
		}
	}
	if keyed.Count() != 100 {
		t.Errorf("%d ids, want 100", keyed.Count())
	}
}
