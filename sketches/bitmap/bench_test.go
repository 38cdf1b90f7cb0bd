package bitmap

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/internal/hashtable"
)

const mbit = 1 << 20 / 8

func noise(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, mbit)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func BenchmarkCount1Mbit(b *testing.B) {
	s := noise(1)
	for b.Loop() {
		Count(s)
	}
}

func BenchmarkCount1MbitPlain(b *testing.B) {
	s := noise(1)
	for b.Loop() {
		countGeneric(s)
	}
}

func BenchmarkOr60x1Mbit(b *testing.B) {
	src := make([][]byte, 60)
	for i := range src {
		src[i] = noise(uint64(i))
	}
	var dst []byte
	for b.Loop() {
		dst, _ = Op(dst, Or, src...)
	}
}

// A pool's hot set: one page, 65,536 of a million users.
func BenchmarkPoolAddHot(b *testing.B) {
	var p Pool
	p.Grow(1)
	r := rand.New(rand.NewPCG(1, 2))
	vals := make([]uint32, 1<<16)
	for i := range vals {
		vals[i] = r.Uint32N(1 << 20)
	}
	for i := 0; b.Loop(); i++ {
		p.Add(0, vals[i%len(vals)])
	}
}

// A pool's hot set of 65,536 hashes.
func BenchmarkPoolAddBatchHashes(b *testing.B) {
	var p Pool
	p.Grow(1)
	r := rand.New(rand.NewPCG(1, 2))
	idx, vals := make([]uint32, 512), make([]uint32, 1<<16)
	for i := range vals {
		vals[i] = r.Uint32()
	}
	for i := 0; b.Loop(); i++ {
		if i%512 == 0 {
			p.AddBatch(idx, vals[i%len(vals):][:512])
		}
	}
}

// A hundred sets of 5,000 hashes, filled again after each flush.
func BenchmarkPoolFillHashes(b *testing.B) {
	var p Pool
	r := rand.New(rand.NewPCG(1, 2))
	idx, vals := make([]uint32, 512), make([]uint32, 512)
	for i := 0; b.Loop(); i++ {
		if i%500_000 == 0 {
			p.Reset()
			p.Grow(100)
		}
		if i%512 == 0 {
			for k := range idx {
				idx[k], vals[k] = r.Uint32N(100), r.Uint32()
			}
			p.AddBatch(idx, vals)
		}
	}
}

// The state of a set of hashes.
func BenchmarkPoolAppendHashes(b *testing.B) {
	for _, n := range []int{40, 80, 300, 5000, 500_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var p Pool
			p.Grow(1)
			r := rand.New(rand.NewPCG(1, 2))
			for range n {
				p.Add(0, r.Uint32())
			}
			var dst []byte
			for b.Loop() {
				dst = p.AppendClickHouse(dst[:0], 0)
			}
		})
	}
}

func BenchmarkRoaringAddHot(b *testing.B) {
	p := roaring.New()
	r := rand.New(rand.NewPCG(1, 2))
	vals := make([]uint32, 1<<16)
	for i := range vals {
		vals[i] = r.Uint32N(1 << 20)
	}
	for i := 0; b.Loop(); i++ {
		p.Add(vals[i%len(vals)])
	}
}

// A million sets of about ten members each, in batches.
func BenchmarkPoolAddBatch1MSets(b *testing.B) {
	const n = 1_000_000
	var p Pool
	p.Grow(n)
	r := rand.New(rand.NewPCG(1, 2))
	idx, vals := make([]uint32, 1<<22), make([]uint32, 1<<22)
	for i := range idx {
		idx[i] = r.Uint32N(n)
		vals[i] = idx[i]*7919 + r.Uint32N(10)
	}
	for at := 0; at < len(idx); at += 1024 {
		p.AddBatch(idx[at:at+1024], vals[at:at+1024])
	}
	i := 0
	for b.Loop() {
		if i%1024 == 0 {
			at := i % len(idx)
			p.AddBatch(idx[at:at+1024], vals[at:at+1024])
		}
		i++
	}
	b.ReportMetric(float64(p.Bytes())/n, "B/set")
}

// The state of a set of 300 of 100,000 users: one page, one flush.
func BenchmarkPoolAppendClickHouse300(b *testing.B) {
	var p Pool
	p.Grow(1)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p.Add(0, r.Uint32N(50_000))
	}
	var dst []byte
	for b.Loop() {
		dst = p.AppendClickHouse(dst[:0], 0)
	}
}

// BenchmarkDirectory finds the sixteen chunks of a set of a million users, with the set's
// own table and with hashtable.Table.
func BenchmarkDirectory(b *testing.B) {
	var s set
	var boxes boxes
	boxes.init()
	var t hashtable.Table[uint32]
	hash := func(key uint16) uint32 { return hash16(uint32(key)) >> 16 }
	for key := range uint16(16) {
		t.Add(hash(key), uint32(len(s.have)))
		s.need(&boxes, key)
	}
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([]uint16, 1<<12)
	for i := range keys {
		keys[i] = uint16(r.Uint32N(16))
	}
	run := func(name string, find func(key uint16) *chunk) {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if key := keys[i%len(keys)]; find(key).key != key {
					b.Fatal(key)
				}
			}
		})
	}
	run("set", s.find)
	run("hashtable", func(key uint16) *chunk {
		for at := t.First(hash(key)); at >= 0; at = t.Next(at) {
			if c := &s.have[*t.At(at)]; c.key == key {
				return c
			}
		}
		return nil
	})
}
