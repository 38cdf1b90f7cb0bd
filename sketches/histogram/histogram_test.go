package histogram

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBounds: every bound is exact. Mantissa m is above bound 2^(i/2^s) of an octave exactly
// if (2^52 + m)^(2^s) > 2^(52·2^s + i), which whole numbers decide.
func TestBounds(t *testing.T) {
	for scale := range MaxScale + 1 {
		ends, n := ends(scale), 1<<scale
		if len(ends) != n || ends[n-1] != 1<<mantissaBits {
			t.Fatalf("scale %d has %d buckets, the last one ends at %d", scale, len(ends), ends[len(ends)-1])
		}
		above := func(mantissa uint64, i int) bool {
			p := new(big.Int).SetUint64(1<<mantissaBits | mantissa)
			for range scale {
				p.Mul(p, p)
			}
			return p.Cmp(new(big.Int).Lsh(big.NewInt(1), uint(mantissaBits*n+i))) > 0
		}
		step := max(1, n/64) // the squares are long
		for i := 1; i < n; i += step {
			if end := ends[i-1]; !above(end+1, i) || above(end, i) {
				t.Errorf("scale %d: the first mantissa above bound %d is not %d", scale, i, end+1)
			}
		}
	}
}

// naive finds the bucket of a positive number by a search over the bounds, each compared
// exactly.
func naive(scale int, v float64) Bucket {
	fraction, exp := math.Frexp(v) // in [1/2, 1)
	n := 1 << scale
	power := new(big.Float).SetPrec(uint(53 * n)).SetFloat64(fraction * 2)
	for range scale {
		power.Mul(power, power)
	}
	part := 0 // of the octave that begins at 2^(exp-1): the last bound below v
	for i := range n {
		if power.Cmp(new(big.Float).SetMantExp(big.NewFloat(1), i)) > 0 {
			part = i + 1
		}
	}
	return Bucket(scale<<scaleShift + zeroPlace + (exp-1+bias)*n + part)
}

// TestOf: a number has the bucket that a search over exact bounds finds, on both sides of
// each bound too, at both ends of the range, and with either sign.
func TestOf(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, scale := range []int{0, 1, 2, 5, 6, 7} {
		l := NewLayout(scale)
		var values []float64
		for _, end := range ends(scale) {
			for d := range uint64(4) {
				exp := uint64(1 + r.IntN(2046))
				if bits := exp<<mantissaBits + end + d - 1; bits < 0x7ff<<mantissaBits && bits >= 1<<mantissaBits {
					values = append(values, math.Float64frombits(bits))
				}
			}
		}
		for range 300 {
			values = append(values, math.Float64frombits(uint64(1+r.IntN(2046))<<mantissaBits|r.Uint64()&mantissaMask), math.Ldexp(1, r.IntN(2046)-1022))
		}
		values = append(values, 0x1p-1022, math.Nextafter(0x1p-1022, 1), math.MaxFloat64, 1, math.Nextafter(1, 2), math.Nextafter(1, 0))
		for _, v := range values {
			got, want := l.Of(v), naive(scale, v)
			if got != want {
				t.Fatalf("scale %d: %v is in bucket %x, want %x", scale, v, got, want)
			}
			if neg := l.Of(-v); neg.place() != -got.place() || neg.Scale() != scale {
				t.Fatalf("scale %d: %v is in bucket %x, its negative in %x", scale, v, got, neg)
			}
			if e := math.Abs(got.Value()-v) / v; v > 0x1p-1020 && e > Error(scale)*(1+1e-12) || e > 0.5 {
				t.Fatalf("scale %d: the value of the bucket of %v is %v, off by %v", scale, v, got.Value(), e)
			}
			if -got.Value() != l.Of(-v).Value() {
				t.Fatalf("scale %d: the values of %v and of its negative differ", scale, v)
			}
		}
		for _, v := range []float64{0, math.Copysign(0, -1), 5e-324, math.Nextafter(0x1p-1022, 0), -math.Nextafter(0x1p-1022, 0)} {
			if b := l.Of(v); b.place() != 0 || b.Value() != 0 {
				t.Errorf("scale %d: %v is in bucket %x", scale, v, b)
			}
		}
		slices.Sort(values)
		if !slices.IsSortedFunc(values, func(a, b float64) int { return cmp.Compare(l.Of(a), l.Of(b)) }) {
			t.Errorf("scale %d: the buckets are not in the order of their numbers", scale)
		}
	}
}

// TestScaleFor: the least scale whose error is small enough.
func TestScaleFor(t *testing.T) {
	for err, want := range map[float64]int{0.5: 0, 1. / 3: 0, 0.3: 1, 0.02: 5, 0.01: 6, 0.005: 7, 0.001: 9, 0: MaxScale} {
		if got := ScaleFor(err); got != want {
			t.Errorf("an error of %v takes scale %d, want %d", err, got, want)
		}
	}
	if Error(5) < 0.0108 || Error(5) > 0.0109 {
		t.Errorf("the error of scale 5 is %v", Error(5))
	}
}

// TestError: on four distributions quantiles are within the stated error, of one histogram
// and of one that is added up from many.
func TestError(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, d := range []struct {
		name string
		draw func() float64
	}{
		{"uniform", func() float64 { return r.Float64() * 1000 }},
		{"lognormal", func() float64 { return math.Exp(r.NormFloat64()*1.5 + 3) }},
		{"Pareto", func() float64 { return math.Pow(1-r.Float64(), -1/1.1) }},
		{"bimodal", func() float64 {
			if r.IntN(3) == 0 {
				return r.NormFloat64()*2 - 50
			}
			return r.NormFloat64()*10 + 400
		}},
	} {
		name, draw := d.name, d.draw
		for _, err := range []float64{0.05, 0.01, 0.001} {
			scale := ScaleFor(err)
			l := NewLayout(scale)
			const n, parts = 100_000, 7
			all := make([]float64, n)
			var pool, shared Pool
			pool.Grow(1)
			shared.Grow(parts)
			for i := range all {
				all[i] = draw()
				pool.Add(0, l.Of(all[i]))
				shared.Add(uint32(r.IntN(parts)), l.Of(all[i]))
			}
			slices.Sort(all)
			one := pool.Append(nil, 0)
			var sum Counts
			for i := range uint32(parts) {
				sum.Add(shared.Append(nil, i))
			}
			if !slices.Equal(one, sum) {
				t.Errorf("%s: the sum of %d histograms is not that of all numbers", name, parts)
			}
			for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
				want := all[min(int(q*n), n-1)]
				got, ok := sum.Quantile(q)
				if wrong := math.Abs(got-want) / math.Abs(want); !ok || wrong > err {
					t.Errorf("%s, error %v: quantile %v is %v, want %v: off by %v", name, err, q, got, want, wrong)
				}
			}
			for _, at := range []float64{-60, -50, 0, 3, 20, 400, 999} {
				i, _ := slices.BinarySearch(all, at)
				low, _ := slices.BinarySearch(all, at-math.Abs(at)*2.5*err)
				high, _ := slices.BinarySearch(all, at+math.Abs(at)*2.5*err)
				if got := sum.Below(at); got < float64(low)/n || got > float64(high)/n {
					t.Errorf("%s, error %v: a share of %v is below %v, want %v", name, err, got, at, float64(i)/n)
				}
			}
		}
	}
}

// TestQuantile: the places of few numbers are those of ClickHouse's quantileExact, and the
// shares those of TDIGEST.CDF.
func TestQuantile(t *testing.T) {
	l := NewLayout(6)
	var pool Pool
	pool.Grow(2)
	for v := range 6 {
		for range v {
			pool.Add(0, l.Of(float64(v)))
		}
	}
	c := pool.Append(nil, 0)
	for q, want := range map[float64]float64{0: 1, 0.1: 2, 0.2: 3, 0.3: 3, 0.4: 4, 0.5: 4, 0.6: 4, 0.7: 5, 0.99: 5, 1: 5} {
		if v, ok := c.Quantile(q); !ok || math.Abs(v-want) > 0.01*want {
			t.Errorf("quantile %v is %v, want %v", q, v, want)
		}
	}
	for v, want := range map[float64]float64{-1: 0, 0: 0, 1: 0.5 / 15, 2: 2. / 15, 3: 4.5 / 15, 4: 8. / 15, 5: 12.5 / 15, 6: 1, math.Inf(1): 1} {
		if got := c.Below(v); math.Abs(got-want) > 1e-15 {
			t.Errorf("a share of %v is below %v, want %v", got, v, want)
		}
	}
	if v, ok := pool.Append(nil, 1).Quantile(0.5); ok || v != 0 {
		t.Errorf("the median of nothing is %v", v)
	}
}

// TestPool: a pool counts like a map.
func TestPool(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	type at struct {
		i uint32
		b Bucket
	}
	var pool Pool
	most := 0
	for range 5 {
		n := 1 + r.IntN(20)
		pool.Grow(n)
		truth := map[at]uint64{}
		for range 3000 {
			k := at{uint32(r.IntN(n)), Bucket(1 + r.IntN(40))}
			switch r.IntN(20) {
			case 0: // far from all others
				k.b = Bucket(1 + r.IntN(1<<28))
			case 1:
				k.b = Bucket(1000 + r.IntN(300))
			}
			pool.Add(k.i, k.b)
			truth[k]++
		}
		for i := range uint32(n) {
			var want Counts
			for k, count := range truth {
				if k.i == i {
					want = append(want, Count{k.b, count})
				}
			}
			slices.SortFunc(want, func(a, b Count) int { return cmp.Compare(a.Bucket, b.Bucket) })
			if got := pool.Append(nil, i); !slices.Equal(got, want) {
				t.Fatalf("histogram %d is %v, want %v", i, got, want)
			}
			state := want.AppendState(nil)
			packed, n := pool.AppendPacked([]byte{7}, i)
			if !bytes.Equal(packed[1:], Pack(nil, state)) || n != want.Total() || !bytes.Equal(Unpack(nil, packed[1:]), state) {
				t.Fatalf("histogram %d is packed as %d numbers, %x; want %d, %x", i, n, packed[1:], want.Total(), Pack(nil, state))
			}
		}
		// 21 bytes at most for a bucket, as much again for the tables before; slices grow to
		// the double. The pool keeps the memory of the rounds before.
		if most = max(most, 4*(21*len(truth)+48*n)+16<<10); pool.Bytes() > most {
			t.Errorf("%d buckets take %d bytes, want at most %d", len(truth), pool.Bytes(), most)
		}
		pool.Reset()
	}
	pool.Grow(2)
	add := func() {
		for i := range 64 {
			pool.Add(uint32(i%2), Bucket(1+i))
		}
	}
	add()
	if n := testing.AllocsPerRun(100, add); n > 0 {
		t.Errorf("%v allocations for buckets that are known", n)
	}
}

// TestState: a histogram is read as it was stored, whatever its counts, and what none could
// have stored is an error.
func TestState(t *testing.T) {
	for _, c := range []Counts{
		nil,
		{{1, 1}},
		{{7, 3}, {9, mostCount}, {1<<32 - 1, 2}},
		{{7, mostCount + 1}, {8, 3*mostCount + 5}, {9, 2 * mostCount}},
	} {
		state := c.AppendState(nil)
		got, err := Read(Counts{{3, 3}}, state)
		if err != nil || !slices.Equal(got[1:], c) || got[0] != (Count{3, 3}) {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
		packed := Pack([]byte{5}, state)[1:]
		if back := Unpack([]byte{5}, packed)[1:]; !bytes.Equal(back, state) || PackedLen(packed) != len(state) {
			t.Errorf("%x is packed as %x and unpacked as %x, of %d bytes", state, packed, back, PackedLen(packed))
		}
	}
	word := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.BigEndian.AppendUint64(b, w)
		}
		return b
	}
	for what, bad := range map[string][]byte{
		"cut":       word(1<<32 | 1)[:7],
		"ascending": word(1<<32|1, 2<<32|1),
		"no count":  word(2<<32, 1<<32|1),
	} {
		if got, err := Read(nil, bad); err == nil || len(got) > 0 {
			t.Errorf("%s is read as %v, %v", what, got, err)
		}
	}
}

// TestAdd: histograms add up like maps.
func TestAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	draw := func() (c Counts, m map[Bucket]uint64) {
		m = map[Bucket]uint64{}
		for range r.IntN(30) {
			m[Bucket(r.IntN(40))] = 1 + r.Uint64N(5)
		}
		for _, b := range slices.Sorted(maps.Keys(m)) {
			c = append(c, Count{b, m[b]})
		}
		return c, m
	}
	for range 2000 {
		a, want := draw()
		b, other := draw()
		sum := slices.Clone(a)
		sum.Add(b)
		for k, n := range other {
			want[k] += n
		}
		got := map[Bucket]uint64{}
		for _, e := range sum {
			got[e.Bucket] = e.N
		}
		ascending := slices.IsSortedFunc(sum, func(a, b Count) int { return cmp.Compare(a.Bucket, b.Bucket) })
		if !ascending || len(got) != len(sum) || !maps.Equal(got, want) {
			t.Fatalf("%v and %v add up to %v", a, b, sum)
		}
	}
}

func Example() {
	layout := NewLayout(ScaleFor(0.01))
	pool := new(Pool)
	pool.Grow(1)
	for ms := range 1000 {
		pool.Add(0, layout.Of(float64(ms)))
	}
	p99, _ := pool.Append(nil, 0).Quantile(0.99)
	fmt.Printf("%.0f\n", p99)
	// Output: 986
}

func values(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 1))
	all := make([]float64, n)
	for i := range all {
		all[i] = math.Exp(r.NormFloat64() + 3)
	}
	return all
}

// BenchmarkAdd finds the bucket of a number and counts it in a histogram that is full.
func BenchmarkAdd(b *testing.B) {
	l, values := NewLayout(6), values(512)
	of, buckets := make([]uint32, len(values)), make([]Bucket, len(values))
	var pool Pool
	pool.Grow(1)
	for b.Loop() {
		for i, v := range values {
			buckets[i] = l.Of(v)
		}
		pool.AddBatch(of, buckets)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/number")
}
