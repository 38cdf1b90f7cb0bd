package bloom

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
)

func mustScalable(t testing.TB, c ScalableConfig) *Scalable {
	t.Helper()
	s, err := NewScalable(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// addNumbers adds the texts "0" to n-1.
func addNumbers(t testing.TB, s *Scalable, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.Add([]byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMurmurVector(t *testing.T) {
	a, b := hashes([]byte("foo"))
	if a != 0x822b4f99b121f10d || b != 0x9d63d52a557f61c2 {
		t.Errorf("foo hashes to %x and %x", a, b)
	}
}

// TestRedisBloomFixtures are the figures of RedisBloom's own tests
// (tests/flow/test_overall.py): they depend on the hash, the sizing, the
// growth and on every false positive on the way.
func TestRedisBloomFixtures(t *testing.T) {
	for _, c := range []struct {
		config ScalableConfig
		n      int
		want   map[int]string // of lines of BF.DEBUG; -1 is the last
	}{
		{ScalableConfig{Capacity: 10, Error: 0.01, Expansion: 2}, 100, map[int]string{
			0: "size:99",
			1: "bytes:16 bits:128 hashes:8 hashwidth:64 capacity:10 size:10 ratio:0.005",
			2: "bytes:32 bits:256 hashes:9 hashwidth:64 capacity:20 size:20 ratio:0.0025",
			3: "bytes:72 bits:576 hashes:10 hashwidth:64 capacity:40 size:40 ratio:0.00125",
			4: "bytes:160 bits:1280 hashes:11 hashwidth:64 capacity:80 size:29 ratio:0.000625",
		}},
		{ScalableConfig{Capacity: 100, Error: 0.001, Expansion: 2}, 4000, map[int]string{
			0:  "size:3997",
			-1: "bytes:9216 bits:73728 hashes:16 hashwidth:64 capacity:3200 size:897 ratio:1.5625e-05",
		}},
	} {
		s := mustScalable(t, c.config)
		addNumbers(t, s, c.n)
		lines := debug(s)
		for i, want := range c.want {
			if got := lines[(i+len(lines))%len(lines)]; got != want {
				t.Errorf("line %d is %q, want %q", i, got, want)
			}
		}
	}
	for expansion, want := range map[uint32]int{1: 23, 2: 5, 4: 4} {
		s := mustScalable(t, ScalableConfig{Capacity: 4, Error: 0.01, Expansion: expansion})
		addNumbers(t, s, 100)
		if got := s.Info().Filters; got != want {
			t.Errorf("expansion %d: %d layers, want %d", expansion, got, want)
		}
	}
}

// TestLayersAreWhole: a layer has the least multiple of 64 bits that its items
// need, also where they need exactly a multiple of 64.
func TestLayersAreWhole(t *testing.T) {
	exact := 0
	for capacity := uint64(1); capacity < 3000; capacity++ {
		l := newLayer(capacity, 0.01)
		bits := uint64(float64(capacity) * l.bpe)
		want := bits / 64
		if bits%64 != 0 {
			want++
		} else {
			exact++
		}
		if l.bytes != 8*want || l.modulus != 64*want {
			t.Fatalf("%d items: %d bytes and %d bits, want %d words", capacity, l.bytes, l.modulus, want)
		}
	}
	if exact == 0 {
		t.Fatal("no layer fits exactly: the test does not test its border")
	}
}

func TestNonScalingFills(t *testing.T) {
	for name, c := range map[string]ScalableConfig{
		"NONSCALING":  {Capacity: 10, Error: 0.01, Expansion: 2, NonScaling: true},
		"EXPANSION 0": {Capacity: 10, Error: 0.01},
	} {
		s := mustScalable(t, c)
		items := make([][]byte, 12)
		for i := range items {
			items[i] = []byte{'x', byte(i)}
		}
		added, err := s.AddMany(items, nil)
		if !errors.Is(err, ErrFull) || len(added) != 10 || slices.Contains(added, false) || s.Card() != 10 {
			t.Errorf("%s: added %v, %v", name, added, err)
		}
		if again, err := s.Add(items[3]); again || err != nil {
			t.Errorf("%s: an item that is there must not need room: %v", name, err)
		}
		for i, item := range items {
			if s.Has(item) != (i < 10) {
				t.Errorf("%s: has item %d: %v", name, i, s.Has(item))
			}
		}
		info := s.Info()
		if !info.NonScaling || info.Capacity != 10 || info.Items != 10 || info.Filters != 1 || info.Size != 32+64+16 || info.Expansion != c.Expansion {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func TestScalableRefuses(t *testing.T) {
	for _, c := range []struct {
		config ScalableConfig
		want   error
	}{
		{ScalableConfig{Capacity: 10, Error: 0}, ErrErrorRate},
		{ScalableConfig{Capacity: 10, Error: 1}, ErrErrorRate},
		{ScalableConfig{Capacity: 10, Error: math.NaN()}, ErrErrorRate},
		{ScalableConfig{Capacity: 0, Error: 0.1}, ErrCapacity},
		{ScalableConfig{Capacity: 1<<30 + 1, Error: 0.1}, ErrCapacity},
		{ScalableConfig{Capacity: 10, Error: 0.1, Expansion: 32769}, ErrExpansion},
		{ScalableConfig{Capacity: 1 << 30, Error: 1e-300, Expansion: 2}, ErrTooLarge},
		{ScalableConfig{Capacity: 1, Error: math.SmallestNonzeroFloat64, Expansion: 2}, ErrTooLarge},
		{ScalableConfig{Capacity: 1000, Error: 0.01, Expansion: 2, MaxBytes: 1000}, ErrTooLarge},
	} {
		if s, err := NewScalable(c.config); !errors.Is(err, c.want) || s != nil {
			t.Errorf("%+v: %v, want %v", c.config, err, c.want)
		}
	}
	s := mustScalable(t, ScalableConfig{Capacity: 4, Error: 0.9, Expansion: 32768, MaxBytes: 1 << 20})
	if s.layers[0].err != maxError*tightening {
		t.Errorf("an error of 0.9 counts as %v", s.layers[0].err)
	}
	for i := 0; ; i++ {
		_, err := s.Add([]byte(strconv.Itoa(i)))
		if errors.Is(err, ErrTooLarge) {
			break
		}
		if err != nil || i > 1<<20 {
			t.Fatal("a filter outgrows MaxBytes: ", err)
		}
	}
	if s.Bytes() > 1<<20 || !s.Has([]byte("0")) {
		t.Errorf("%d bytes", s.Bytes())
	}
}

// debug returns the lines of BF.DEBUG.
func debug(s *Scalable) []string {
	lines := []string{fmt.Sprintf("size:%d", s.size)}
	for i := range s.layers {
		l := &s.layers[i]
		lines = append(lines, fmt.Sprintf("bytes:%d bits:%d hashes:%d hashwidth:64 capacity:%d size:%d ratio:%s",
			l.bytes, 8*l.bytes, l.hashes, l.capacity, l.size, ratio(l.err)))
	}
	return lines
}

// ratio is C's %g: six significant digits, no trailing zeros.
func ratio(x float64) string {
	return fmt.Sprintf("%.6g", x)
}
