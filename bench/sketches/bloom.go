package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	bitsandblooms "github.com/bits-and-blooms/bloom/v3"

	"weir/sketches/bloom"
)

func init() { register("bloom", bloomInCache, bloomMany) }

const (
	bloomError = 0.01
	bloomOther = "bits-and-blooms/bloom"
)

// bloomInCache measures elements of 16 bytes, hashed and added to a filter for
// 65,536, or searched in it when it is full: half of them are there.
func bloomInCache(b *Bench) error {
	const capacity, asked = 1 << 16, 1 << 14
	there, absent := keys(capacity, 70), keys(asked, 71)
	ours := bloom.New(capacity, bloomError)
	theirs := bitsandblooms.NewWithEstimates(capacity, bloomError)
	for _, k := range there {
		ours.Add(bloom.Hash(k))
		theirs.Add(k)
	}
	if err := b.Compare(Row{
		Name: "add to a Bloom filter in cache, hash included", Other: bloomOther, Against: Libraries, Floor: 4, Aim: 6,
		Ours: Here(func(n int) {
			for i := range n {
				ours.Add(bloom.Hash(there[i&(asked-1)]))
			}
		}),
		Theirs: Here(func(n int) {
			for i := range n {
				theirs.Add(there[i&(asked-1)])
			}
		}),
	}); err != nil {
		return err
	}

	question := make([][]byte, asked)
	hits := [2]int{}
	for i := range question {
		question[i] = absent[i]
		if absent[i][0]&1 == 0 {
			question[i] = there[i]
		} else {
			if ours.Has(bloom.Hash(absent[i])) {
				hits[0]++
			}
			if theirs.Test(absent[i]) {
				hits[1]++
			}
		}
	}
	// Both must have the same error, or the comparison is void.
	for side, n := range hits {
		if want := asked / 2 * bloomError; math.Abs(float64(n)-want) > 5*math.Sqrt(want) {
			return fmt.Errorf("side %d has %d false positives, want about %.0f", side, n, want)
		}
	}
	return b.Compare(Row{
		Name: "ask a Bloom filter in cache, hash included", Other: bloomOther, Against: Libraries, Floor: 4, Aim: 6,
		Ours: Here(func(n int) {
			for i := range n {
				sink += one(ours.Has(bloom.Hash(question[i&(asked-1)])))
			}
		}),
		Theirs: Here(func(n int) {
			for i := range n {
				sink += one(theirs.Test(question[i&(asked-1)]))
			}
		}),
	})
}

// one is 1 for true, without a branch, whose mispredictions would cost more
// than the filter.
func one(b bool) uint64 {
	var n uint64
	if b {
		n = 1
	}
	return n
}

// bloomMany measures additions to 100,000 filters for 1,000 items that hold
// about ten each, in an order without any locality.
func bloomMany(b *Bench) error {
	const name, sizeName = "add to one of 100,000 sparse Bloom filters", "bytes per Bloom filter for 1,000 that holds 10"
	if !b.Wants(Libraries, name) && !b.Wants(Libraries, sizeName) {
		return nil
	}
	const live, events, batch, run, capacity = 100_000, 1 << 20, 1 << 10, 1 << 17, 1000
	items := keys(events, 72)
	r := rand.New(rand.NewPCG(4, 60))
	idx := make([]uint32, events)
	for i := range idx {
		idx[i] = r.Uint32N(live)
	}
	ours := bloom.NewPool(capacity, bloomError)
	ours.Grow(live)
	hashes := make([]uint64, batch)
	add := func(from, to int) {
		for ; from < to; from += batch {
			for i := range hashes {
				hashes[i] = bloom.Hash(items[from+i])
			}
			ours.AddBatch(idx[from:from+batch], hashes)
		}
	}
	theirs := make(map[uint32]*bitsandblooms.BloomFilter, live)
	addOther := func(from, to int) {
		for ; from < to; from++ {
			f := theirs[idx[from]]
			if f == nil {
				f = bitsandblooms.NewWithEstimates(capacity, bloomError)
				theirs[idx[from]] = f
			}
			f.Add(items[from])
		}
	}
	add(0, events)
	addOther(0, events)
	if err := b.Compare(Row{
		Name: name, Other: "map of " + bloomOther, Against: Libraries, Floor: 2, Aim: 5, N: run,
		Ours:   Around(events, add),
		Theirs: Around(events, addOther),
	}); err != nil {
		return err
	}
	b.Limit(Limit{Name: sizeName, Against: Libraries, Unit: "B", Value: float64(ours.Bytes()) / live, Most: 250, Aim: 210})
	return nil
}
