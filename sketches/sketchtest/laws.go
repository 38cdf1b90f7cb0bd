// Package sketchtest holds the laws that every sketch of the family must obey
// to be merged in any order, any number of times: a merge is a join.
//
//	sketchtest.Laws(t, sketchtest.Join[*hll.Sketch]{
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

// A Join is a kind of sketch S, as the laws see it.
type Join[S any] struct {
	New   func() S
	Add   func(s S, id uint64)
	Merge func(dst, src S)    // joins src into dst and leaves src alone
	Bytes func(s S) []byte    // equal exactly when the contents are
	Count func(s S) uint64    // if set: must never fall
	Sizes []int               // of the sets tried; DefaultSizes if nil
	ID    func(uint64) uint64 // if set: turns random numbers into valid ids
}

// DefaultSizes cross the places where sketches change their form.
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
func Laws[S any](t Reporter, j Join[S]) {
	t.Helper()
	if j.Sizes == nil {
		j.Sizes = DefaultSizes
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 0x5ca1ab1e))
		a, b, c := j.set(r, nil), []uint64(nil), []uint64(nil)
		b = j.set(r, a)
		c = j.set(r, append(a[:len(a):len(a)], b...))
		what := fmt.Sprintf("seed %d, sets of %d, %d and %d ids", seed, len(a), len(b), len(c))
		j.laws(t, r, what, a, b, c)
	}
}

// set makes a random set, part of it drawn from known ids.
func (j Join[S]) set(r *rand.Rand, known []uint64) []uint64 {
	ids := make([]uint64, j.Sizes[r.IntN(len(j.Sizes))])
	for i := range ids {
		switch {
		case len(known) > 0 && r.IntN(2) == 0:
			ids[i] = known[r.IntN(len(known))]
		case j.ID != nil:
			ids[i] = j.ID(r.Uint64())
		default:
			ids[i] = r.Uint64()
		}
	}
	return ids
}

func (j Join[S]) of(ids ...[]uint64) S {
	s := j.New()
	for _, list := range ids {
		for _, id := range list {
			j.Add(s, id)
		}
	}
	return s
}

// union is a new sketch of these ids, each list sketched and then merged.
func (j Join[S]) union(ids ...[]uint64) S {
	s := j.New()
	for _, list := range ids {
		j.Merge(s, j.of(list))
	}
	return s
}

func (j Join[S]) laws(t Reporter, r *rand.Rand, what string, a, b, c []uint64) {
	t.Helper()
	same := func(law string, x, y S) {
		t.Helper()
		if p, q := j.Bytes(x), j.Bytes(y); !bytes.Equal(p, q) {
			t.Errorf("%s: %s broken: %d bytes %.40x… against %d bytes %.40x…", what, law, len(p), p, len(q), q)
		}
	}
	whole := j.of(a, b, c)
	same("union of sketches = sketch of the union", j.union(a, b, c), whole)
	same("commutativity", j.union(a, b), j.union(b, a))
	right := j.of(a)
	bc := j.of(b)
	j.Merge(bc, j.of(c))
	j.Merge(right, bc)
	same("associativity", right, whole)
	same("idempotence", j.union(a, b, b, a), j.union(a, b))
	same("identity", j.union(nil, a, nil), j.of(a))

	shuffled := append(append([]uint64{}, a...), b...)
	shuffled = append(shuffled, shuffled[:len(shuffled)/2]...)
	r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	same("independence of order and repetition", j.of(shuffled), j.of(a, b))

	dst, src := j.of(a), j.of(b)
	j.Merge(dst, src)
	same("the source of a merge left alone", src, j.of(b))
	for _, id := range c {
		j.Add(dst, id)
	}
	same("the source unaffected by later additions to the union", src, j.of(b))
	same("additions after a merge", dst, whole)

	if j.Count == nil {
		return
	}
	nab, nabc := j.Count(j.union(a, b)), j.Count(whole)
	if na, nb := j.Count(j.of(a)), j.Count(j.of(b)); nab < max(na, nb) || nabc < nab {
		t.Errorf("%s: the count falls: %d and %d, union %d, with more ids %d", what, na, nb, nab, nabc)
	}
	growing, last := j.New(), uint64(0)
	for i, id := range a {
		j.Add(growing, id)
		if i%7 != 0 {
			continue
		}
		n := j.Count(growing)
		if n < last {
			t.Errorf("%s: the count falls from %d to %d with id %d", what, last, n, i)
			return
		}
		last = n
	}
}
