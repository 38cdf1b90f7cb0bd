package hll

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// The state, written naively from the registers.
func (n *naive) clickhouse() []byte {
	var hist [52]uint32
	var keys []uint64
	packed := make([]byte, 12288)
	for i, r := range n {
		hist[r]++
		if r > 0 {
			key := uint64(i)
			if r < 51 {
				key += 1 << (13 + r)
			}
			keys = append(keys, key)
		}
		for k := range 6 {
			packed[(6*i+k)/8] |= byte(r) >> k & 1 << ((6*i + k) % 8)
		}
	}
	var b []byte
	switch {
	case len(keys) <= 16:
		b = []byte{1, byte(len(keys))}
	case len(keys) <= 100:
		b = []byte{2, byte(len(keys))}
	default:
		b = append([]byte{3}, packed...)
		for _, c := range hist {
			b = binary.LittleEndian.AppendUint32(b, c)
		}
		return binary.LittleEndian.AppendUint16(b, uint16(hist[0]))
	}
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint64(b, k)
	}
	return b
}

// The state depends on the registers alone: in every form that they have in
// memory, and after any order of additions, the bytes are those of the naive
// twin.
func TestClickHouseCanonical(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 1))
	var p Pool
	p.Grow(300)
	for i := range uint32(300) {
		size := sizes[int(i)%len(sizes)]
		if i%3 == 0 {
			size = r.IntN(130)
		}
		var n naive
		var s, viaDense, merged Sketch
		viaDense.becomeDense()
		for range size {
			h := randomHash(r)
			n.add(h)
			s.AddHash(h)
			viaDense.AddHash(h)
			p.Add(i, h)
			var one Sketch
			one.AddHash(h)
			merged.Merge(&one)
		}
		want := n.clickhouse()
		prefix := []byte("prefix")
		for name, got := range map[string][]byte{
			"Sketch": s.AppendClickHouse(nil), "dense Sketch": viaDense.AppendClickHouse(nil), "merged Sketch": merged.AppendClickHouse(nil),
			"Pool":     p.AppendClickHouse(nil, i),
			"appended": bytes.TrimPrefix(s.AppendClickHouse(prefix), prefix),
			// The old contents of a reused buffer must not reach the state.
			"reused": p.AppendClickHouse(bytes.Repeat([]byte{0xff}, 13000)[:0], i),
		} {
			if !bytes.Equal(got, want) {
				t.Fatalf("%s of %d hashes: %d bytes, want %d; first difference at %d", name, size, len(got), len(want), firstDifference(got, want))
			}
		}
	}
	if got := new(Sketch).AppendClickHouse(nil); !bytes.Equal(got, []byte{1, 0}) {
		t.Errorf("empty state is %x, want 0100", got)
	}
}

func TestMergeClickHouse(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 2))
	var p Pool
	p.Grow(1)
	var all naive
	for range 100 {
		var n, m naive
		var s Sketch
		for range sizes[r.IntN(len(sizes))] {
			n.add(randomHash(r))
		}
		for range sizes[r.IntN(len(sizes))] {
			h := randomHash(r)
			m.add(h)
			s.AddHash(h)
		}
		state := n.clickhouse()
		n.merge(&m)
		all.merge(&n)
		// States follow one another without lengths.
		k, err := s.MergeClickHouse(append(state[:len(state):len(state)], 3, 3, 3))
		if err != nil || k != len(state) {
			t.Fatalf("MergeClickHouse = %d, %v, want %d bytes", k, err, len(state))
		}
		n.same(t, "merged", registersOf(s.view()))
		checkCount(t, s.Count(), &n)
		if k, err := p.MergeClickHouse(0, s.AppendClickHouse(nil)); err != nil || k < 2 {
			t.Fatalf("Pool.MergeClickHouse = %d, %v", k, err)
		}
		all.same(t, "pool", registersOf(p.view(p.line(0), new([inline]entry))))
	}
	// A list of real hashes, as ClickHouse writes it, in any order, with a
	// repetition and the key 0, and longer than ClickHouse would make it.
	var n naive
	b := []byte{2}
	b = binary.AppendUvarint(b, 1002)
	hs := []uint64{0, 7, 7}
	for range 999 {
		hs = append(hs, r.Uint64())
	}
	for _, h := range hs {
		n.add(h)
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	var s Sketch
	if k, err := s.MergeClickHouse(b); err != nil || k != len(b) {
		t.Fatalf("MergeClickHouse of real hashes = %d, %v", k, err)
	}
	n.same(t, "real hashes", registersOf(s.view()))
}

// Damaged states: an error that wraps ErrState, nothing changed, and no memory
// to speak of, whatever lengths the bytes claim.
func TestClickHouseDamaged(t *testing.T) {
	var full, s, untouched Sketch
	for i := range uint64(5000) {
		full.AddHash(Hash(binary.LittleEndian.AppendUint64(nil, i)))
	}
	s.AddHash(42)
	untouched.AddHash(42)
	large := full.AppendClickHouse(nil)
	change := func(at int, b byte) []byte {
		c := slices.Clone(large)
		c[at] ^= b
		return c
	}
	var p Pool
	p.Grow(1)
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"form 0":                {0},
		"form 4":                {4, 0},
		"no length":             {1},
		"length cut off":        {2, 0x80},
		"length too long":       {2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"17 keys in small":      append([]byte{1, 17}, make([]byte, 17*8)...),
		"keys cut off":          append([]byte{1, 2}, make([]byte, 15)...),
		"2^63 keys":             {2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0},
		"2^61 keys, 8 bytes":    {2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0, 0, 0, 0, 0, 0},
		"large cut off":         large[:len(large)-1],
		"large, only a byte":    {3},
		"register changed":      change(100, 0x03),
		"rank above 51":         change(1, 0x3f),
		"histogram changed":     change(1+packedBytes+4, 1),
		"number of zeros wrong": change(len(large)-1, 1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		k, err := s.MergeClickHouse(b)
		_, poolErr := p.MergeClickHouse(0, b)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrState) || !errors.Is(poolErr, ErrState) || k != 0 {
			t.Errorf("%s: n = %d, error %v, %v, want ErrState", name, k, err, poolErr)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<17 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		if !bytes.Equal(s.AppendClickHouse(nil), untouched.AppendClickHouse(nil)) || p.Count(0) != 0 {
			t.Fatalf("%s: the sketch changed", name)
		}
	}
	ranks := slices.Clone(full.dense[:])
	for i := range ranks[:3] {
		ranks[i] = 52 + uint8(i) // with a matching histogram, as far as it goes
	}
	var d registers
	copy(d[:], ranks)
	b := []byte{3}
	b = append(b, make([]byte, packedBytes+clickhouseTrailer)...)
	d.pack(b[1:])
	h := d.histogram()
	putClickHouseTrailer(b[1+packedBytes:], &h, Registers-h.nonzero())
	if _, err := s.MergeClickHouse(b); !errors.Is(err, ErrState) {
		t.Errorf("ranks above 51 with a matching trailer: %v", err)
	}
}

// A state to check by hand: the elements of
// registers 8436, 12711 and 15780, of ranks 1, 2 and 1.
func TestClickHouseVector(t *testing.T) {
	var s Sketch
	for _, e := range []string{"a", "b", "c"} {
		s.Add([]byte(e))
	}
	const want = "0103" + "f460000000000000" + "a7b1000000000000" + "a47d000000000000"
	if got := hex.EncodeToString(s.AppendClickHouse(nil)); got != want {
		t.Errorf("state of a, b, c = %s, want %s", got, want)
	}
}
