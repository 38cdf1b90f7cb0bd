package hll

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// The naive twin does everything in the most obvious way. It shares no code
// with the package but the hash.
type naive [1 << 14]int

func (n *naive) add(h uint64) {
	i := h % (1 << 14)
	h /= 1 << 14
	rank := 1
	for rank < 51 && h%2 == 0 {
		h /= 2
		rank++
	}
	n[i] = max(n[i], rank)
}

func (n *naive) merge(o *naive) {
	for i, r := range o {
		n[i] = max(n[i], r)
	}
}

// count sums 2^-rank register by register. It is right only as long as no
// register is at its highest rank, which takes 2^50 elements.
func (n *naive) count() float64 {
	const m = 1 << 14
	sum, zeros := 0.0, 0
	for _, r := range n {
		if r == 0 {
			zeros++
		} else {
			sum += math.Pow(2, -float64(r))
		}
	}
	x := float64(zeros) / m
	if zeros == m {
		return 0
	}
	sigma := x
	for k := 1; k < 60; k++ {
		sigma += math.Pow(x, math.Pow(2, float64(k))) * math.Pow(2, float64(k-1))
	}
	return m * m / (2 * math.Ln2 * (m*sigma + sum))
}

// same reports registers that differ.
func (n *naive) same(t *testing.T, what string, d []uint8) {
	t.Helper()
	for i, r := range n {
		if int(d[i]) != r {
			t.Fatalf("%s: register %d is %d, want %d", what, i, d[i], r)
		}
	}
}

// registersOf reads the registers of any form back.
func registersOf(v view) []uint8 {
	var d registers
	d.merge(v)
	return d[:]
}

// hashes returns random hashes with ranks of every size, not only small ones.
func randomHash(r *rand.Rand) uint64 {
	h := r.Uint64()
	if r.IntN(4) == 0 {
		k := r.IntN(51)
		h = h&(1<<14-1) | h>>14>>k<<k<<14
	}
	return h
}

// sizes cross every change of form: list to log or table at 16, both doubling, a table
// dense at 1,536, a log behind 2,048.
var sizes = []int{0, 1, 15, 16, 17, 18, 23, 24, 25, 31, 32, 33, 47, 48, 49, 64, 65, 100, 101, 383, 384, 385, 1200, 1535, 1536, 1537, 1700, 2048, 2049, 2200, 9000}

func TestSketchTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for _, size := range sizes {
		var s Sketch
		var n naive
		for range size {
			h := randomHash(r)
			was := n[h%(1<<14)]
			n.add(h)
			if rose := s.AddHash(h); rose != (n[h%(1<<14)] > was) {
				t.Fatalf("size %d: AddHash says a register rose: %v", size, rose)
			}
			if r.IntN(50) == 0 {
				checkCount(t, s.Count(), &n)
			}
		}
		list := s.Registers()
		n.same(t, "sketch", list[:])
		checkCount(t, s.Count(), &n)
	}
}

func checkCount(t *testing.T, got uint64, n *naive) {
	t.Helper()
	if want := n.count(); math.Abs(float64(got)-want) > 0.5+want*1e-12 {
		t.Fatalf("Count = %d, want %.3f", got, want)
	}
}

func TestSketchMergeTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 2))
	for range 150 {
		k := 1 + r.IntN(9)
		list := make([]*Sketch, k)
		twins := make([]naive, k)
		for i := range list {
			list[i] = new(Sketch)
			for range sizes[r.IntN(len(sizes))] {
				h := randomHash(r)
				list[i].AddHash(h)
				twins[i].add(h)
			}
		}
		var union naive
		for i := range twins {
			union.merge(&twins[i])
		}
		one, all, dst := new(Sketch), new(Sketch), new(Sketch)
		for _, o := range list {
			one.Merge(o)
		}
		all.Merge(list[0])
		all.MergeAll(list...)
		dst.MergeAll(list...)
		for _, s := range []*Sketch{one, all, dst} {
			h := randomHash(r) // an addition while the histogram is stale
			s.AddHash(h)
			after := union
			after.add(h)
			after.same(t, "merged", registersOf(s.view()))
			checkCount(t, s.Count(), &after)
		}
		for i, s := range list {
			twins[i].same(t, "source", registersOf(s.view()))
		}
		one.Merge(one)
		checkCount(t, one.Count(), func() *naive { n := naive{}; copyRegisters(&n, one); return &n }())
	}
	if new(Sketch).Count() != 0 {
		t.Error("nothing is not counted as 0")
	}
}

func copyRegisters(n *naive, s *Sketch) {
	for i, r := range registersOf(s.view()) {
		n[i] = int(r)
	}
}

// A pool and a keyed set under random additions, batches, merges, counts,
// growth and resets.
func TestPoolTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 3))
	var p Pool
	for round := range 12 {
		n := []int{1, 3, 255, 256, 257, 700}[round%6]
		p.Grow(n / 2)
		p.Grow(n)
		p.Grow(1)
		if p.Len() != n {
			t.Fatalf("Len = %d, want %d", p.Len(), n)
		}
		twins := make([]naive, n)
		zipf := rand.NewZipf(r, 1.3, 2, uint64(n-1))
		for range 60 {
			switch r.IntN(5) {
			case 0, 1, 2:
				k := r.IntN(700)
				idx, hs := make([]uint32, k), make([]uint64, k)
				for j := range idx {
					idx[j], hs[j] = uint32(zipf.Uint64()), randomHash(r)
					twins[idx[j]].add(hs[j])
				}
				p.AddBatch(idx, hs)
			case 3:
				i, h := uint32(r.IntN(n)), randomHash(r)
				p.Add(i, h)
				twins[i].add(h)
			case 4:
				i, j := uint32(r.IntN(n)), uint32(r.IntN(n))
				p.Merge(i, &p, j)
				twins[i].merge(&twins[j])
			}
			i := uint32(r.IntN(n))
			checkCount(t, p.Count(i), &twins[i])
		}
		var other Pool
		other.Grow(2)
		for i := range twins {
			l := p.line(uint32(i))
			twins[i].same(t, "pool", registersOf(p.view(l, new([inline]entry))))
			checkCount(t, p.Count(uint32(i)), &twins[i])
			checkCount(t, p.Sketch(uint32(i)).Count(), &twins[i])
			other.Merge(1, &p, uint32(i))
			twins[0].merge(&twins[i])
		}
		checkCount(t, other.Count(1), &twins[0])
		if other.Count(0) != 0 {
			t.Error("a neighbour of a merged sketch is not empty")
		}
		held := p.Bytes()
		p.Reset()
		if p.Len() != 0 || p.Bytes() > held/2 {
			t.Errorf("Reset: %d sketches, %d bytes held of %d", p.Len(), p.Bytes(), held)
		}
	}
}

// After Reset the logs and dense registers of a Pool may be those of a former one, and no old
// register reaches a new sketch.
func TestPoolReuse(t *testing.T) {
	var p Pool
	fill := func() {
		p.Grow(40)
		for i := range uint32(40) {
			for k := range uint64(100 * i) {
				p.Add(i, k*0x9E3779B97F4A7C15)
			}
		}
	}
	fill()
	held := p.Bytes()
	for range 5 {
		p.Reset()
		p.Grow(40)
		for i := range uint32(40) {
			if n := p.Count(i); n != 0 {
				t.Fatalf("sketch %d counts %d after Reset", i, n)
			}
		}
		p.Reset()
		fill()
		if p.Bytes() != held {
			t.Fatalf("%d bytes held, %d the first time", p.Bytes(), held)
		}
	}
}

// Repetitions do not make a log long: 500 registers, of which most have had several ranks, stay in
// one of 1,024 entries, and 1,500 become dense.
func TestLogCompacts(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 12))
	for _, c := range []struct {
		registers int
		most      uint8 // class
		form      form
	}{{20, 1, formLog}, {500, 5, formLog}, {1000, 6, formLog}, {1500, 0, formDense}} {
		var p Pool
		var n naive
		p.Grow(1)
		for range 100_000 {
			h := randomHash(r)&^(1<<14-1) | r.Uint64N(uint64(c.registers))
			n.add(h)
			p.Add(0, h)
		}
		l := p.line(0)
		if l.form != c.form || l.class > c.most {
			t.Errorf("%d registers: form %d of class %d, want form %d and at most class %d", c.registers, l.form, l.class, c.form, c.most)
		}
		checkCount(t, p.Count(0), &n)
	}
}

// A log is read without being changed, so that it may have several readers.
func TestLogReaders(t *testing.T) {
	var p Pool
	p.Grow(1)
	for k := range uint64(1000) {
		p.Add(0, k/2*0x9E3779B97F4A7C15)
	}
	log := slices.Clone(p.log(p.line(0)))
	want, state := p.Count(0), p.AppendClickHouse(nil, 0)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 100 {
				var s Sketch
				p.MergeInto(0, &s)
				if p.Count(0) != want || s.Count() != want || !bytes.Equal(p.AppendClickHouse(nil, 0), state) {
					t.Error("readers of a log have different results")
					return
				}
			}
		})
	}
	readers.Wait()
	if !slices.Equal(p.log(p.line(0)), log) {
		t.Error("a reader changed the log")
	}
}

func TestPoolBounds(t *testing.T) {
	var p, q Pool
	p.Grow(3)
	q.Grow(300)
	for name, f := range map[string]func(){
		"Add":              func() { p.Add(3, 1) },
		"AddBatch":         func() { p.AddBatch([]uint32{0, 3}, []uint64{1, 2}) },
		"AddBatch lengths": func() { p.AddBatch([]uint32{0}, []uint64{1, 2}) },
		"Count":            func() { p.Count(255) },
		"Merge into":       func() { p.Merge(3, &q, 0) },
		"Merge from":       func() { q.Merge(0, &p, 3) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s beyond the pool does not panic", name)
				}
			}()
			f()
		}()
	}
}

// The batched path allocates nothing once the sketches exist.
func TestAddBatchAllocs(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 5))
	var p Pool
	p.Grow(1000)
	idx, hs := make([]uint32, 5000), make([]uint64, 5000)
	for i := range idx {
		idx[i], hs[i] = uint32(r.IntN(1000)), r.Uint64()
	}
	var s Sketch
	b := binary.LittleEndian.AppendUint64(nil, 1)
	for name, f := range map[string]func(){
		"Pool.AddBatch": func() { p.AddBatch(idx, hs) },
		"Sketch.Add":    func() { s.Add(b) },
		"KeyedHash":     func() { s.AddHash(KeyedHash([16]byte{}, b)) },
		"Count":         func() { s.Count(); p.Count(3) },
	} {
		f()
		if n := testing.AllocsPerRun(20, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
