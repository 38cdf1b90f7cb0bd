package bloom

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	bnb "github.com/bits-and-blooms/bloom/v3"
)

// keys16 are n different keys of 16 bytes.
func keys16(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	room := make([]byte, 16*n)
	for i := range out {
		out[i] = room[16*i : 16*i+16]
		binary.LittleEndian.PutUint64(out[i], r.Uint64())
		binary.LittleEndian.PutUint64(out[i][8:], r.Uint64())
	}
	return out
}

const inCache = 1 << 16

func BenchmarkAdd(b *testing.B) {
	f, keys := New(inCache, 0.01), keys16(inCache)
	for i := 0; b.Loop(); i++ {
		f.Add(Hash(keys[i%inCache]))
	}
}

func BenchmarkHas(b *testing.B) {
	f, keys := New(inCache, 0.01), keys16(inCache)
	for _, k := range keys[:inCache/2] {
		f.Add(Hash(k))
	}
	n := 0
	for i := 0; b.Loop(); i++ {
		if f.Has(Hash(keys[i%inCache])) {
			n++
		}
	}
}

func BenchmarkAddHashed(b *testing.B) {
	f := New(inCache, 0.01)
	h := uint64(1)
	for b.Loop() {
		h = h*6364136223846793005 + 1
		f.Add(h)
	}
}

func BenchmarkHasHashed(b *testing.B) {
	f := New(inCache, 0.01)
	h, n := uint64(1), 0
	for b.Loop() {
		h = h*6364136223846793005 + 1
		if f.Has(h) {
			n++
		}
	}
}

func BenchmarkAddBatch(b *testing.B) {
	f := New(inCache, 0.01)
	var hashes [64]uint64
	h, i := uint64(1), 0
	for b.Loop() {
		h = h*6364136223846793005 + 1
		hashes[i] = h
		if i++; i == len(hashes) {
			f.AddBatch(hashes[:])
			i = 0
		}
	}
}

func BenchmarkBitsAndBloomsAdd(b *testing.B) {
	f, keys := bnb.NewWithEstimates(inCache, 0.01), keys16(inCache)
	for i := 0; b.Loop(); i++ {
		f.Add(keys[i%inCache])
	}
}

func BenchmarkBitsAndBloomsHas(b *testing.B) {
	f, keys := bnb.NewWithEstimates(inCache, 0.01), keys16(inCache)
	for _, k := range keys[:inCache/2] {
		f.Add(k)
	}
	n := 0
	for i := 0; b.Loop(); i++ {
		if f.Test(keys[i%inCache]) {
			n++
		}
	}
}

func BenchmarkTestAndAddBatch10M(b *testing.B) {
	const n = 10_000_000
	f := New(n, 0.01)
	r := rand.New(rand.NewPCG(1, 2))
	var hashes [1024]uint64
	var seen [1024]bool
	done := 0
	for b.Loop() {
		if done%1024 == 0 {
			b.StopTimer()
			if done >= n {
				f.Reset()
				done = 0
			}
			for i := range hashes {
				hashes[i] = r.Uint64()
			}
			b.StartTimer()
			f.TestAndAddBatch(hashes[:], seen[:])
		}
		done++
	}
}

// A pool's hot filter: 65,536 items of one page, sized for 100,000.
func BenchmarkPoolAddHot(b *testing.B) {
	p := NewPool(100_000, 0.01)
	p.Grow(1)
	h, i := uint64(1), 0
	for b.Loop() {
		h = h*6364136223846793005 + 1
		if i++; i%inCache == 0 {
			h = 1
		}
		p.Add(0, h)
	}
}

// A million filters for 1,000 items that have got about four each, in batches.
func BenchmarkPoolAddBatch1MFilters(b *testing.B) {
	const n = 1_000_000
	p := NewPool(1000, 0.01)
	p.Grow(n)
	r := rand.New(rand.NewPCG(1, 2))
	idx, hashes := make([]uint32, 1<<22), make([]uint64, 1<<22)
	for i := range idx {
		idx[i] = r.Uint32N(n)
		hashes[i] = r.Uint64()
	}
	i := 0
	for b.Loop() {
		if i%1024 == 0 {
			at := i % len(idx)
			p.AddBatch(idx[at:at+1024], hashes[at:at+1024])
		}
		i++
	}
	b.ReportMetric(float64(p.Bytes())/n, "B/filter")
}
