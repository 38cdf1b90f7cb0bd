package bloom

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
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
		lines := s.Debug()
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

// TestLn: the logarithm behind every size is rounded correctly. The twin is
// the power series of e^y, which is x again.
func TestLn(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	xs := []float64{0.01, 0.001, 0.25, 0.5, 0.125, 0.005, 0.0003125, 1 - 1e-16, math.SmallestNonzeroFloat64, 1e-300}
	for range 300 {
		xs = append(xs, math.Exp(-20*r.Float64()))
	}
	for _, x := range xs {
		y := ln(x)
		// (On amd64 math.Log is wrong for numbers below 2^-1022.)
		if x > 1e-307 && math.Abs(y/math.Log(x)-1) > 4e-16 {
			t.Fatalf("ln(%v) = %v, math.Log says %v", x, y, math.Log(x))
		}
		// e^(y ± half a unit in the last place) must lie on both sides of x.
		low, high := expBig(y, (math.Nextafter(y, -1e9)-y)/2), expBig(y, (math.Nextafter(y, 0)-y)/2)
		if at := new(big.Float).SetFloat64(x); low.Cmp(at) > 0 || high.Cmp(at) < 0 {
			t.Fatalf("ln(%v) = %v is not the nearest number", x, y)
		}
	}
	if ln(0.01) != -4.605170185988091 {
		t.Errorf("ln(0.01) = %v", ln(0.01))
	}
}

// expBig is e^(y+d) to some 190 bits, by its series at (y+d)/2^12, squared
// twelve times.
func expBig(y, d float64) *big.Float {
	const prec = 220
	z := new(big.Float).SetPrec(prec).SetFloat64(y)
	z.Add(z, new(big.Float).SetFloat64(d))
	z.Quo(z, new(big.Float).SetFloat64(4096))
	sum, term := new(big.Float).SetPrec(prec).SetInt64(1), new(big.Float).SetPrec(prec).SetInt64(1)
	for k := int64(1); k < 60; k++ {
		term.Mul(term, z).Quo(term, new(big.Float).SetInt64(k))
		sum.Add(sum, term)
	}
	for range 12 {
		sum.Mul(sum, sum)
	}
	return sum
}

// dump takes a filter apart as a client of BF.SCANDUMP does.
func dump(s *Scalable) (header []byte, pieces []piece) {
	iter, header := s.Dump(0)
	for {
		next, data := s.Dump(iter)
		if next == 0 {
			return header, pieces
		}
		pieces = append(pieces, piece{next, bytes.Clone(data)})
		iter = next
	}
}

type piece struct {
	iter int64
	data []byte
}

func TestDumpComesBack(t *testing.T) {
	s := mustScalable(t, ScalableConfig{Capacity: 50, Error: 0.01, Expansion: 2})
	addNumbers(t, s, 3000)
	header, pieces := dump(s)
	if len(header) != 20+53*len(s.layers) || len(pieces) != len(s.layers) {
		t.Fatalf("a header of %d bytes and %d pieces for %d layers", len(header), len(pieces), len(s.layers))
	}
	for _, backwards := range []bool{false, true} {
		back, err := LoadHeader(header, 0)
		if err != nil {
			t.Fatal(err)
		}
		if back.Has([]byte("7")) {
			t.Error("a filter without its bits has an item")
		}
		if backwards {
			slices.Reverse(pieces)
		}
		for _, p := range pieces {
			if err := back.LoadChunk(p.iter, p.data); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := fmt.Sprint(back.Debug(), back.Info()), fmt.Sprint(s.Debug(), s.Info()); got != want {
			t.Errorf("%s comes back, want %s", got, want)
		}
		again, _ := dump(back)
		if !bytes.Equal(again, header) {
			t.Error("the header changes on the way")
		}
		for i := range 3000 {
			if !back.Has([]byte(strconv.Itoa(i))) {
				t.Fatalf("%d is lost", i)
			}
		}
		for i := range 2000 { // and both go on alike
			item := []byte("more" + strconv.Itoa(i))
			a, _ := s.Add(item)
			b, err := back.Add(item)
			if err != nil || a != b {
				t.Fatalf("adding %s: %v, want %v (%v)", item, b, a, err)
			}
		}
		s = mustScalable(t, ScalableConfig{Capacity: 50, Error: 0.01, Expansion: 2})
		addNumbers(t, s, 3000)
	}
}

// TestDumpIsFrozen pins the bytes of one dump, header and bits. An independent
// program, written from RedisBloom's description, made them.
func TestDumpIsFrozen(t *testing.T) {
	s := mustScalable(t, DefaultScalable)
	addNumbers(t, s, 250)
	header, pieces := dump(s)
	const want = "fa00000000000000" + "02000000" + "05000000" + "02000000" +
		"9000000000000000" + "8004000000000000" + "6400000000000000" + "7b14ae47e17a743f" + "e9862fb2350e2640" + "08000000" + "6400000000000000" + "00" +
		"3801000000000000" + "c009000000000000" + "9600000000000000" + "7b14ae47e17a643f" + "4af7d49edef02840" + "09000000" + "c800000000000000" + "00"
	if got := fmt.Sprintf("%x", header); got != want {
		t.Errorf("the header is\n%s, want\n%s", got, want)
	}
	sum := fnv.New64a()
	for _, p := range pieces {
		sum.Write(p.data)
	}
	if got := fmt.Sprintf("%x", sum.Sum64()); got != frozenBits {
		t.Errorf("the bits have the checksum %s, want %s", got, frozenBits)
	}
}

const frozenBits = "c88c8f8c8668d580"

func TestLargeLayersComeInPieces(t *testing.T) {
	s := mustScalable(t, ScalableConfig{Capacity: 20_000_000, Error: 0.01, Expansion: 2})
	addNumbers(t, s, 1000)
	_, pieces := dump(s)
	if len(pieces) != 2 || len(pieces[0].data) != 16<<20 || pieces[0].iter != 1+16<<20 {
		t.Fatalf("%d pieces, the first of %d bytes", len(pieces), len(pieces[0].data))
	}
}

func TestLoadChunkRefuses(t *testing.T) {
	s := mustScalable(t, ScalableConfig{Capacity: 10, Error: 0.01, Expansion: 2})
	addNumbers(t, s, 20) // layers of 16 and 32 bytes
	header, _ := dump(s)
	back, err := LoadHeader(header, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		iter int64
		n    int
		want error
	}{
		{0, 1, ErrBadData}, {-5, 1, ErrBadData}, {16, 17, ErrBadData}, {17, 17, ErrNoLayer},
		{17, 16, nil}, {18, 17, ErrTooBig}, {49, 32, nil}, {50, 33, ErrTooBig}, {50, 1, ErrNoLayer},
		{50, 32, ErrTooBig}, {math.MaxInt64, 10, ErrNoLayer}, {1, 1, ErrNoLayer}, {2, 1, nil},
	} {
		if err := back.LoadChunk(c.iter, make([]byte, c.n)); !errors.Is(err, c.want) {
			t.Errorf("%d bytes at %d: %v, want %v", c.n, c.iter, err, c.want)
		}
	}
}

func TestLoadHeaderRefuses(t *testing.T) {
	s := mustScalable(t, ScalableConfig{Capacity: 10, Error: 0.01, Expansion: 2})
	addNumbers(t, s, 20)
	good, _ := dump(s)
	put := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	layer := 20 // where the first layer begins
	for name, header := range map[string][]byte{
		"nothing":             nil,
		"cut off":             good[:len(good)-1],
		"a byte too many":     append(bytes.Clone(good), 0),
		"no layers":           append(put(8, 0, 0, 0, 0)[:20:20], nil...),
		"2^32-1 layers":       put(8, 255, 255, 255, 255),
		"a wrong sum":         put(0, 99),
		"32-bit hashes":       put(12, 1),
		"an unknown option":   put(12, 0x15),
		"bits not 8 bytes":    put(layer+8, 129),
		"no bytes":            put(layer, make([]byte, 16)...),
		"2^63 bytes":          put(layer+7, 0x80),
		"items beyond sum":    put(layer+16, 255, 255, 255, 255, 255, 255, 255, 255),
		"error of 1":          put(layer+24, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f),
		"error not a number":  put(layer+24, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f),
		"bits per item NaN":   put(layer+32, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f),
		"hashes not of error": put(layer+40, 9),
		"capacity 0":          put(layer+44, 0),
		"n2 of 64":            put(layer+52, 64),
		"n2 beyond the bits":  put(layer+52, 8),
	} {
		if _, err := LoadHeader(header, 0); !errors.Is(err, ErrBadData) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := LoadHeader(good, 47); !errors.Is(err, ErrBadData) {
		t.Errorf("48 bytes of layers where 47 are allowed: %v", err)
	}
	if s, err := LoadHeader(good, 48); err != nil || s.Bytes() != 0 {
		t.Errorf("%v: a header alone must take no memory for bits", err)
	}
	if s, err := LoadHeader(put(layer+52, 7), 0); err != nil || s.layers[0].modulus != 128 {
		t.Errorf("a dump of an old filter, with a power of two: %v", err)
	}
}

// FuzzLoad loads a hostile header and piece and uses what comes out.
func FuzzLoad(f *testing.F) {
	for _, c := range []ScalableConfig{{Capacity: 10, Error: 0.01, Expansion: 2}, {Capacity: 5, Error: 0.2, NonScaling: true}, {Capacity: 3, Error: 1e-9, Expansion: 1}} {
		s := mustScalable(f, c)
		for i := range 12 {
			_, _ = s.Add([]byte{byte(i)}) // some are full before
		}
		header, pieces := dump(s)
		for _, p := range pieces {
			f.Add(header, p.iter, p.data)
		}
	}
	f.Fuzz(func(t *testing.T, header []byte, iter int64, data []byte) {
		const limit = 1 << 20
		s, err := LoadHeader(header, limit)
		if err != nil {
			return
		}
		if again := s.header(); !bytes.Equal(again, header) {
			t.Fatalf("the header changes on the way:\n%x\n%x", header, again)
		}
		loaded := s.LoadChunk(iter, data) == nil
		if loaded && len(data) > 0 {
			found := false
			for at := int64(1); ; {
				next, piece := s.Dump(at)
				if next == 0 {
					break
				}
				if from := iter - int64(len(data)); from >= at && from < next {
					found = bytes.HasPrefix(piece[from-at:], data)
				}
				at = next
			}
			if !found {
				t.Fatal("the piece is not in the dump")
			}
		}
		for i := range 30 {
			item := []byte{byte(i)}
			if _, err := s.Add(item); err == nil && !s.Has(item) {
				t.Fatal("an added item is missing")
			}
		}
		s.Info()
		s.Debug()
		if s.Bytes() > 2*limit {
			t.Fatalf("%d bytes, where %d are allowed", s.Bytes(), limit)
		}
	})
}
