package bitmap

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDistinct: the correction is nothing for few bits, and inverts the number of bits
// that so many ids are expected to set.
func TestDistinct(t *testing.T) {
	for bits := range uint64(65_536) {
		if n := Distinct(bits); n != bits {
			t.Fatalf("%d ids for %d bits", n, bits)
		}
	}
	for bits, want := range map[uint64]uint64{65_536: 65_537, 999_884: 1_000_000, 1 << 31: 2_977_044_472, 1<<32 - 1: 95_265_423_098, 1 << 32: 95_265_423_098} {
		if n := Distinct(bits); n != want {
			t.Errorf("%d ids for %d bits, want %d", n, bits, want)
		}
	}
	for ids := uint64(1000); ids < 1<<34; ids = ids*3 + 1 {
		bits := -(1 << 32) * math.Expm1(-float64(ids)/(1<<32))
		if n := Distinct(uint64(math.Round(bits))); math.Abs(float64(n)-float64(ids)) > 1+float64(ids)/1e8*math.Exp(float64(ids)/(1<<32)) {
			t.Errorf("%d ids for %.0f bits, want %d", n, bits, ids)
		}
	}
}

// TestValues: a set of any form is written as its values in order, and read in any order.
func TestValues(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 0))
	for _, n := range []int{0, 1, 2, 5, 32, 33, 1000, 100_000, 3_000_000} {
		for name, below := range map[string]uint64{"far": 1 << 32, "near": uint64(n) + 2} {
			var values []uint32
			p := new(Pool)
			p.Grow(2)
			for range n {
				v := uint32(r.Uint64N(below))
				p.Add(0, v)
				values = append(values, v)
			}
			slices.Sort(values)
			values = slices.Compact(values)
			var want []byte
			for _, v := range values {
				want = binary.LittleEndian.AppendUint32(want, v)
			}
			if got := p.AppendValues([]byte{7}, 0); !bytes.Equal(got[1:], want) {
				t.Fatalf("%d values %s: %d bytes of other values, want %d", n, name, len(got)-1, len(want))
			}
			r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			var mixed []byte
			for _, v := range values {
				mixed = binary.LittleEndian.AppendUint32(mixed, v)
			}
			if err := p.MergeValues(1, mixed); err != nil || !bytes.Equal(p.AppendValues(nil, 1), want) || p.Count(1) != uint64(len(values)) {
				t.Fatalf("%d values %s: read %d, %v", n, name, p.Count(1), err)
			}
			a, err := FromValues(mixed)
			if err != nil || a.Count() != uint64(len(values)) || slices.ContainsFunc(values, func(v uint32) bool { return !a.Has(v) }) {
				t.Fatalf("%d values %s: read %d as a bitmap, %v", n, name, a.Count(), err)
			}
		}
	}
	p := new(Pool)
	p.Grow(1)
	if err := p.MergeValues(0, []byte{1, 0, 0, 0, 2}); err == nil || p.Count(0) != 0 {
		t.Errorf("five bytes are read: %d values, %v", p.Count(0), err)
	}
	if _, err := FromValues([]byte{1}); err == nil {
		t.Error("one byte is read")
	}
}
