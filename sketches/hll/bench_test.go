package hll

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/internal/hashtable"
)

func keys16(n int) [][]byte {
	r := rand.New(rand.NewPCG(60, 1))
	list := make([][]byte, n)
	for i := range list {
		list[i] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, r.Uint64()), r.Uint64())
	}
	return list
}

func denseSketch(n int, seed uint64) *Sketch {
	r := rand.New(rand.NewPCG(60, seed))
	s := new(Sketch)
	for range n {
		s.AddHash(r.Uint64())
	}
	return s
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{8, 16, 36} {
		in := make([]byte, n)
		b.Run(fmt.Sprint("murmur/", n), func(b *testing.B) {
			for b.Loop() {
				Hash(in)
			}
		})
		b.Run(fmt.Sprint("keyed/", n), func(b *testing.B) {
			for b.Loop() {
				KeyedHash([16]byte{}, in)
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	list := keys16(4096)
	b.Run("dense", func(b *testing.B) {
		s, i := denseSketch(1_000_000, 2), 0
		for b.Loop() {
			s.Add(list[i&4095])
			i++
		}
	})
	b.Run("table", func(b *testing.B) {
		s, i := denseSketch(1000, 2), 0
		for b.Loop() {
			s.Add(list[i&511])
			i++
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	list := make([]*Sketch, 60)
	for i := range list {
		list[i] = denseSketch(100_000, uint64(i))
	}
	b.Run("one", func(b *testing.B) {
		d := list[0].Clone()
		for b.Loop() {
			d.Merge(list[1])
		}
	})
	b.Run("60", func(b *testing.B) {
		d := list[0].Clone()
		for b.Loop() {
			d.MergeAll(list...)
		}
	})
	b.Run("60 counted", func(b *testing.B) {
		for b.Loop() {
			CountUnion(list...)
		}
	})
	b.Run("2000 of a pool", func(b *testing.B) { // a few large, most small, as the pages of a site are
		r := rand.New(rand.NewPCG(60, 7))
		var p Pool
		p.Grow(2000)
		for range 200_000 {
			p.Add(min(uint32(200*r.ExpFloat64()), 1999), r.Uint64())
		}
		d := new(Sketch)
		for b.Loop() {
			for i := range uint32(p.Len()) {
				p.MergeInto(i, d)
			}
		}
	})
	strings := make([]String, 60)
	for i := range list {
		strings[i] = list[i].AppendRedis(nil, 0)
	}
	b.Run("60 strings counted", func(b *testing.B) {
		for b.Loop() {
			CountStrings(strings...)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	s := denseSketch(100_000, 3)
	b.Run("live", func(b *testing.B) {
		for b.Loop() {
			s.Count()
		}
	})
	b.Run("after a merge", func(b *testing.B) {
		for b.Loop() {
			s.stale = true
			s.Count()
		}
	})
	v := String(s.AppendRedis(nil, 0))
	b.Run("string", func(b *testing.B) {
		for b.Loop() {
			v.stale()
			v.Count()
		}
	})
}

func BenchmarkClickHouse(b *testing.B) {
	for _, n := range []int{10, 90, 1000, 100_000} {
		s := denseSketch(n, 4)
		var p Pool
		p.Grow(1)
		p.MergeSketch(0, s)
		var buf []byte
		b.Run(fmt.Sprint("append/", n), func(b *testing.B) {
			for b.Loop() {
				buf = p.AppendClickHouse(buf[:0], 0)
			}
		})
		b.Run(fmt.Sprint("merge/", n), func(b *testing.B) {
			for b.Loop() {
				p.MergeClickHouse(0, buf)
			}
		})
	}
}

// Per event, over a pool whose sketches hold about ten elements each.
func BenchmarkPool(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(60, 5))
	var p Pool
	var k Keyed
	p.Grow(n)
	idx, keys, hs := make([]uint32, n), make([]uint64, n), make([]uint64, n)
	event := func(i int) (uint32, uint64) {
		x := uint32(r.IntN(n))
		return x, Hash(binary.LittleEndian.AppendUint64(nil, uint64(x)<<8|uint64(r.IntN(10))))
	}
	for range 10 {
		for i := range idx {
			idx[i], hs[i] = event(i)
			keys[i] = Hash(binary.LittleEndian.AppendUint64(nil, uint64(idx[i])))
		}
		p.AddBatch(idx, hs)
		k.AddBatch(keys, hs)
	}
	b.Run("AddBatch", func(b *testing.B) {
		for b.Loop() {
			p.AddBatch(idx, hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		b.ReportMetric(float64(p.Bytes())/n, "B/sketch")
	})
	b.Run("Keyed.AddBatch", func(b *testing.B) {
		for b.Loop() {
			k.AddBatch(keys, hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		b.ReportMetric(float64(k.Bytes())/float64(k.Len()), "B/key")
	})
}

// A tableKeyed is a Keyed whose index is a hashtable.Table.
type tableKeyed struct {
	pool  Pool
	index hashtable.Table[uint32]
}

func (k *tableKeyed) number(key uint64) uint32 {
	hash := tableHash(key)
	at := k.index.First(hash)
	for ; at >= 0; at = k.index.Next(at) {
		if i := *k.index.At(at); k.pool.lineUnchecked(i).key == key {
			return i
		}
	}
	i := uint32(k.pool.Len())
	k.pool.Grow(int(i) + 1)
	k.pool.lineUnchecked(i).key = key
	k.index.Insert(at, hash, i)
	return i
}

func tableHash(key uint64) uint32 { return uint32(key * 0x9E3779B97F4A7C15 >> 32) }

func (k *tableKeyed) AddBatch(keys, hashes []uint64) {
	var b batch
	var numbers [batchMax]uint32
	var known [batchMax]bool
	for len(keys) > 0 {
		n := min(batchMax, len(keys))
		for j, key := range keys[:n] {
			numbers[j], known[j] = k.index.Likely(tableHash(key))
		}
		for j, key := range keys[:n] {
			if !known[j] {
				numbers[j] = k.number(key)
			}
			b.lines[j], b.entries[j] = k.pool.lineUnchecked(numbers[j]), entryOf(hashes[j])
		}
		for j, key := range keys[:n] {
			if b.lines[j].key != key {
				b.lines[j] = k.pool.lineUnchecked(k.number(key))
			}
		}
		k.pool.settle(&b, n)
		keys, hashes = keys[n:], hashes[n:]
	}
}

// BenchmarkKeyedTable adds events by key, to a Keyed and to one with the other index.
func BenchmarkKeyedTable(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1 << 20} {
		r := rand.New(rand.NewPCG(60, 5))
		keys, hs := make([]uint64, 1<<20), make([]uint64, 1<<20)
		for i := range keys {
			x := uint64(r.IntN(n))
			keys[i] = Hash(binary.LittleEndian.AppendUint64(nil, x))
			hs[i] = Hash(binary.LittleEndian.AppendUint64(nil, x<<8|uint64(r.IntN(10))))
		}
		for _, k := range []interface{ AddBatch(keys, hashes []uint64) }{new(Keyed), new(tableKeyed)} {
			k.AddBatch(keys, hs)
			b.Run(fmt.Sprintf("%T/%d", k, n), func(b *testing.B) {
				for b.Loop() {
					k.AddBatch(keys, hs)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/event")
			})
		}
	}
}

// Per event, from an empty pool to the states of its sketches: a flush of 3,000 pages, of which
// the k-th has a k-th of the events of the first.
func BenchmarkFlush(b *testing.B) {
	const n, sketches = 1 << 19, 3000
	zipf := rand.NewZipf(rand.New(rand.NewPCG(61, 5)), 1.01, 1, sketches-1)
	idx, hs := make([]uint32, n), make([]uint64, n)
	for i := range idx {
		idx[i], hs[i] = uint32(zipf.Uint64()), Hash(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	}
	var p Pool
	var buf []byte
	for b.Loop() {
		p.Grow(sketches)
		for at := 0; at < n; at += 512 {
			p.AddBatch(idx[at:at+512], hs[at:at+512])
		}
		for i := range uint32(sketches) {
			buf = p.AppendClickHouse(buf[:0], i)
		}
		p.Reset()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
}
