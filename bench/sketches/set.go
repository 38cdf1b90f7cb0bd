package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/measures/set"
	"weir/sketches/idset"
)

func init() { register("set", setPool) }

// setPool measures additions of 65,536 UUIDs that one set already has, in batches, and
// those of their hashes alone.
func setPool(b *Bench) error {
	const name, hashName, limitName = "add a UUID to a hot set", "add its hash to a hot set", "time of that"
	if !b.Wants(Libraries, name) && !b.Wants(Libraries, hashName) && !b.Wants(Libraries, limitName) {
		return nil
	}
	const known, batch = 1 << 16, 1 << 9
	r := rand.New(rand.NewPCG(6, 60))
	ids, hashes := make([][]byte, known), make([]uint32, known)
	var ours idset.Pool
	ours.Grow(1)
	theirs, plain := roaring.New(), map[string]struct{}{}
	for i := range ids {
		ids[i] = fmt.Appendf(nil, "%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.Uint32N(1<<16), r.Uint32N(1<<12), r.Uint32N(1<<12), r.Uint64N(1<<48))
		hashes[i] = set.Hash(nil, ids[i])
		ours.Add(0, hashes[i])
		theirs.Add(hashes[i])
		plain[string(ids[i])] = struct{}{}
	}
	if have := ours.Len(0); have != theirs.GetCardinality() {
		return fmt.Errorf("the set has %d hashes here and %d there", have, theirs.GetCardinality())
	}
	idx, block := make([]uint32, batch), make([]uint32, batch)
	add := Here(func(n int) {
		for i := 0; i < n; i += batch {
			ours.AddBatch(idx, hashes[i:i+batch])
		}
	})
	if err := b.Compare(Row{
		Name: name, Other: "map[string]struct{}", Against: Libraries, Floor: 1.5, Aim: 3, N: known,
		Ours: Here(func(n int) {
			for i := 0; i < n; i += batch {
				for k, id := range ids[i : i+batch] {
					block[k] = set.Hash(nil, id)
				}
				ours.AddBatch(idx, block)
			}
		}),
		Theirs: Here(func(n int) {
			for _, id := range ids[:n] {
				if _, ok := plain[string(id)]; !ok {
					plain[string(id)] = struct{}{}
				}
			}
		}),
	}); err != nil {
		return err
	}
	if err := b.Compare(Row{
		Name: hashName, Other: "RoaringBitmap/roaring", Against: Libraries, Floor: 4, Aim: 10, N: known,
		Ours: add,
		Theirs: Here(func(n int) {
			for _, h := range hashes[:n] {
				theirs.Add(h)
			}
		}),
	}); err != nil {
		return err
	}
	best := math.Inf(1)
	for range b.rounds {
		d, err := add(known)
		if err != nil {
			return err
		}
		best = min(best, float64(d)/known)
	}
	b.Limit(Limit{Name: limitName, Against: Libraries, Unit: "ns", Value: best, Most: 20, Aim: 10})
	return nil
}
