// Package sketchtest holds the laws that every kind of sketch must obey so that
// states can be merged in any order, any number of times.
//
//	sketchtest.Laws(t, sketchtest.Sketch[*hll.Sketch]{
//		New:   func() *hll.Sketch { return new(hll.Sketch) },
//		Add:   func(s *hll.Sketch, id uint64) { s.AddHash(id) },
//		Merge: (*hll.Sketch).Merge,
//		Bytes: func(s *hll.Sketch) []byte { return s.AppendClickHouse(nil) },
//	})
package sketchtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// A Sketch is what the laws need of a kind of sketch S.
type Sketch[S any] struct {
	New   func() S
	Add   func(s S, id uint64)
	Merge func(dst, src S)    // merges src into dst and does not change src
	Bytes func(s S) []byte    // equal exactly when the contents are
	Count func(s S) uint64    // if set, it must never fall
	Sizes []int               // of the sets tried; DefaultSizes if nil
	ID    func(uint64) uint64 // if set: turns random numbers into valid ids
}

// DefaultSizes lie on both sides of each size at which a sketch changes its
// form.
var DefaultSizes = []int{0, 1, 2, 13, 14, 15, 16, 17, 90, 101, 700, 1600, 6000}

// A Reporter is the part of testing.TB that Laws needs.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

const rounds = 40

// Laws builds random overlapping sets of ids and reports every law broken:
// commutative, associative and idempotent merge, the empty sketch as identity,
// union of sketches = sketch of the union, no influence of order or repetition,
// sources left alone, and a count that never falls.
func Laws[S any](t Reporter, k Sketch[S]) {
	t.Helper()
	if k.Sizes == nil {
		k.Sizes = DefaultSizes
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 0x5ca1ab1e))
		a, b, c := k.set(r, nil), []uint64(nil), []uint64(nil)
		b = k.set(r, a)
		c = k.set(r, append(a[:len(a):len(a)], b...))
		what := fmt.Sprintf("seed %d, sets of %d, %d and %d ids", seed, len(a), len(b), len(c))
		k.laws(t, r, what, a, b, c)
	}
}

// set makes a random set, part of it drawn from known ids.
func (k Sketch[S]) set(r *rand.Rand, known []uint64) []uint64 {
	ids := make([]uint64, k.Sizes[r.IntN(len(k.Sizes))])
	for i := range ids {
		switch {
		case len(known) > 0 && r.IntN(2) == 0:
			ids[i] = known[r.IntN(len(known))]
		case k.ID != nil:
			ids[i] = k.ID(r.Uint64())
		default:
			ids[i] = r.Uint64()
		}
	}
	return ids
}

func (k Sketch[S]) of(ids ...[]uint64) S {
	s := k.New()
	for _, list := range ids {
		for _, id := range list {
			k.Add(s, id)
		}
	}
	return s
}

// union returns a new sketch of these ids, each list sketched and then merged.
func (k Sketch[S]) union(ids ...[]uint64) S {
	s := k.New()
	for _, list := range ids {
		k.Merge(s, k.of(list))
	}
	return s
}

func (k Sketch[S]) laws(t Reporter, r *rand.Rand, what string, a, b, c []uint64) {
	t.Helper()
	same := func(law string, x, y S) {
		t.Helper()
		if p, q := k.Bytes(x), k.Bytes(y); !bytes.Equal(p, q) {
			t.Errorf("%s: %s broken: %d bytes %.40x… against %d bytes %.40x…", what, law, len(p), p, len(q), q)
		}
	}
	whole := k.of(a, b, c)
	same("union of sketches = sketch of the union", k.union(a, b, c), whole)
	same("commutativity", k.union(a, b), k.union(b, a))
	right := k.of(a)
	bc := k.of(b)
	k.Merge(bc, k.of(c))
	k.Merge(right, bc)
	same("associativity", right, whole)
	same("idempotence", k.union(a, b, b, a), k.union(a, b))
	same("identity", k.union(nil, a, nil), k.of(a))

	shuffled := append(append([]uint64{}, a...), b...)
	shuffled = append(shuffled, shuffled[:len(shuffled)/2]...)
	r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	same("independence of order and repetition", k.of(shuffled), k.of(a, b))

	dst, src := k.of(a), k.of(b)
	k.Merge(dst, src)
	same("the source of a merge left alone", src, k.of(b))
	for _, id := range c {
		k.Add(dst, id)
	}
	same("the source unaffected by later additions to the union", src, k.of(b))
	same("additions after a merge", dst, whole)

	if k.Count == nil {
		return
	}
	nab, nabc := k.Count(k.union(a, b)), k.Count(whole)
	if na, nb := k.Count(k.of(a)), k.Count(k.of(b)); nab < max(na, nb) || nabc < nab {
		t.Errorf("%s: the count falls: %d and %d, union %d, with more ids %d", what, na, nb, nab, nabc)
	}
	growing, last := k.New(), uint64(0)
	for i, id := range a {
		k.Add(growing, id)
		if i%7 != 0 {
			continue
		}
		n := k.Count(growing)
		if n < last {
			t.Errorf("%s: the count falls from %d to %d with id %d", what, last, n, i)
			return
		}
		last = n
	}
}
