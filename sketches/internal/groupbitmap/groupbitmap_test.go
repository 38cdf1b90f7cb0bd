package groupbitmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// sets drawn so that every container form, every header and every border of
// the choices between them occurs.
func sets() map[string][]uint32 {
	r := rand.New(rand.NewPCG(1, 1))
	span := func(from, to, step uint32) (out []uint32) {
		for v := from; v < to; v += step {
			out = append(out, v)
		}
		return out
	}
	random := func(n int, below uint32) []uint32 {
		var out []uint32
		for range n {
			out = append(out, r.Uint32N(below))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return map[string][]uint32{
		"empty":             nil,
		"one":               {1<<32 - 1},
		"32":                span(0, 32, 1),
		"33 in a run":       span(0, 33, 1),
		"33 apart":          span(5, 5+33*7, 7),
		"4096 apart":        span(0, 8192, 2),
		"4097 apart":        span(0, 8194, 2),
		"a whole chunk":     span(1<<16, 2<<16, 1),
		"a word's border":   span(60, 200, 1),
		"three in runs":     append(span(65000, 70000, 1), span(200000, 200500, 1)...),
		"five, one in runs": append(span(0, 1<<18, 5), span(1<<18, 1<<18+9000, 1)...),
		"nine":              span(0, 9<<16, 30000),
		"runs at a tie": slices.Sorted(func(yield func(uint32) bool) { // 33 values in 16 runs
			for v := range uint32(48) {
				if v%3 != 2 && !yield(v) {
					return
				}
			}
			yield(47)
		}),
		"four, one in runs":  append(span(0, 3<<16, 9), span(3<<16, 3<<16+700, 1)...),
		"wide":               random(3000, 1<<32-1),
		"dense":              random(200_000, 1<<20),
		"last of each chunk": span(1<<16-1, 40<<16, 1<<16),
	}
}

// chunks turns ascending values into chunks, as words where words is true for
// the chunk's number.
func chunks(ascending []uint32, words func(i int) bool) []Chunk {
	var out []Chunk
	for _, v := range ascending {
		key := uint16(v >> 16)
		if len(out) == 0 || out[len(out)-1].Key != key {
			c := Chunk{Key: key}
			if words(len(out)) {
				c.Words = make([]uint64, wordsPerChunk)
			}
			out = append(out, c)
		}
		c := &out[len(out)-1]
		c.Card++
		if c.Words != nil {
			c.Words[uint16(v)>>6] |= 1 << (v & 63)
		} else {
			c.Low = append(c.Low, uint16(v))
		}
	}
	return out
}

// twin returns the same state by the Roaring library.
func twin(ascending []uint32) []byte {
	out := []byte{0, byte(len(ascending))}
	if len(ascending) <= SmallMax {
		for _, v := range ascending {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
		return out
	}
	b := roaring.BitmapOf(ascending...)
	b.RunOptimize()
	body, err := b.ToBytes()
	if err != nil {
		panic(err)
	}
	return append(binary.AppendUvarint([]byte{1}, uint64(len(body))), body...)
}

// values reads a state back, sorted.
func values(t *testing.T, state []byte) (out []uint32) {
	t.Helper()
	err := Each(state, func(p Part) bool {
		n := 0
		for v := range p.Values {
			out = append(out, uint32(p.Key)<<16|uint32(v))
			n++
		}
		if n != p.Card {
			t.Errorf("a part of %d gave %d values", p.Card, n)
		}
		return true
	})
	if err != nil {
		t.Fatalf("%v\n%x", err, state[:min(len(state), 100)])
	}
	slices.Sort(out)
	return out
}

func TestStates(t *testing.T) {
	for name, set := range sets() {
		want := twin(set)
		for how, words := range map[string]func(int) bool{
			"lists": func(int) bool { return false },
			"words": func(int) bool { return true },
			"mixed": func(i int) bool { return i%2 == 0 },
		} {
			got := Append([]byte("before"), chunks(set, words))
			if !bytes.HasPrefix(got, []byte("before")) {
				t.Fatalf("%s as %s: Append wrote over what was there", name, how)
			}
			got = got[len("before"):]
			if !bytes.Equal(got, want) {
				t.Errorf("%s as %s:\n%x, the Roaring library writes\n%x", name, how, got[:min(len(got), 100)], want[:min(len(want), 100)])
			}
			if back := values(t, got); !slices.Equal(back, set) {
				t.Errorf("%s as %s: %d values come back, not %d", name, how, len(back), len(set))
			}
		}
		if len(set) <= SmallMax && !bytes.Equal(AppendSmall(nil, set), want) {
			t.Errorf("%s: AppendSmall differs", name)
		}
		// The form that the library chooses without run containers reads as the same
		// set.
		plain, err := roaring.BitmapOf(set...).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		if back := values(t, append(binary.AppendUvarint([]byte{1}, uint64(len(plain))), plain...)); !slices.Equal(back, set) {
			t.Errorf("%s without runs: %d values come back, not %d", name, len(back), len(set))
		}
	}
}

func TestOrIsValues(t *testing.T) {
	for name, set := range sets() {
		for _, size := range []int{0, 3, 700, wordsPerChunk} {
			err := Each(twin(set), func(p Part) bool {
				got, want := make([]uint64, size), make([]uint64, size)
				p.Or(got)
				for v := range p.Values {
					if int(v/64) < size {
						want[v/64] |= 1 << (v % 64)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: Or into %d words differs from Values", name, size)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBrokenStates cuts, extends and flips bits of good states: each is
// refused, or reads as some set.
func TestBrokenStates(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for name, set := range sets() {
		state := twin(set)
		if err := Check(state); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 200 {
			if cut := state[:r.IntN(len(state))]; Check(cut) == nil {
				t.Errorf("%s: %d of %d bytes pass", name, len(cut), len(state))
			}
			flipped := bytes.Clone(state)
			flipped[r.IntN(min(len(state), 200))] ^= 1 << r.IntN(8)
			if Check(flipped) == nil {
				values(t, flipped)
			}
		}
		if Check(append(bytes.Clone(state), 0)) == nil {
			t.Errorf("%s: a byte left over passes", name)
		}
	}
}

func TestErrorsAreNamed(t *testing.T) {
	u16 := func(v ...uint16) (out []byte) {
		for _, v := range v {
			out = binary.LittleEndian.AppendUint16(out, v)
		}
		return out
	}
	roaring := func(b []byte) []byte { return append(binary.AppendUvarint([]byte{1}, uint64(len(b))), b...) }
	for name, state := range map[string][]byte{
		"nothing":            nil,
		"kind 2":             {2, 0},
		"33 small":           append([]byte{0, 33}, make([]byte, 132)...),
		"varint without end": {1, 0x80, 0x80},
		"length too large":   {1, 200, 1, 0},
		"a huge length":      {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"cookie":             roaring(u16(12345, 0, 0, 0)),
		"too many":           roaring(u16(12346, 0, 1, 1)),
		"65536 claimed":      roaring(u16(12346, 0, 0, 1)),
		"65536 with runs":    roaring(u16(12347, 0xffff)),
		"array backwards":    roaring(u16(12346, 0, 1, 0, 0, 1, 16, 0, 5, 4)),
		"array twice":        roaring(u16(12346, 0, 1, 0, 0, 1, 16, 0, 5, 5)),
		"wrong offset":       roaring(u16(12346, 0, 1, 0, 0, 1, 17, 0, 4, 5)),
		"keys backwards":     roaring(u16(12346, 0, 2, 0, 1, 0, 0, 0, 24, 0, 26, 0, 4, 5)),
		"run past the end":   roaring(append(append(u16(12347, 0), 1), u16(0, 9, 1, 0xfffb, 9)...)),
		"runs overlap":       roaring(append(append(u16(12347, 0), 1), u16(0, 9, 2, 0, 5, 5, 3)...)),
		"run of wrong count": roaring(append(append(u16(12347, 0), 1), u16(0, 9, 1, 0, 5)...)),
		"bitmap of wrong count": roaring(append(u16(12346, 0, 1, 0, 0, 5000, 16, 0),
			make([]byte, bitmapBytes)...)),
	} {
		if err := Check(state); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Each(state, func(Part) bool { t.Errorf("%s: a part was handed out", name); return true }); err == nil {
			t.Errorf("%s: Each gives no error", name)
		}
	}
	for name, state := range map[string][]byte{
		"an empty Roaring bitmap":   roaring(u16(12346, 0, 0, 0)),
		"small values in any order": append([]byte{0, 2}, u16(9, 0, 3, 0)...),
		"array":                     roaring(u16(12346, 0, 1, 0, 0, 1, 16, 0, 4, 5)),
		"run":                       roaring(append(append(u16(12347, 0), 1), u16(0, 9, 1, 0, 9)...)),
	} {
		if err := Check(state); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	state := twin(sets()["dense"])
	n := 0
	if got := testing.AllocsPerRun(5, func() {
		if err := Each(state, func(p Part) bool { n += p.Card; return true }); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// FuzzRead compares the reader with the Roaring library: a state that the reader accepts,
// the library reads as the same set, and writing it again gives the same set.
func FuzzRead(f *testing.F) {
	for _, set := range sets() {
		if len(set) < 10000 {
			f.Add(twin(set))
		}
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		if Check(state) != nil {
			return
		}
		set := slices.Compact(values(t, state))
		if state[0] == kindRoaring {
			_, size := binary.Uvarint(state[1:])
			b := roaring.New()
			if _, err := b.FromBuffer(state[1+size:]); err != nil {
				t.Fatalf("the Roaring library refuses what passed: %v", err)
			}
			if !slices.Equal(b.ToArray(), set) {
				t.Fatal("the Roaring library reads another set")
			}
		}
		again := Append(nil, chunks(set, func(i int) bool { return i%2 == 1 }))
		if !slices.Equal(values(t, again), set) {
			t.Fatal("the set does not survive being written again")
		}
	})
}
