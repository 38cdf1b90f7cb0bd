package bitmap

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/sketches/internal/groupbitmap"
)

// TestActivityIsTheString sets the same bits in an Activity and in a
// byte string, and compares their answers to every method.
func TestActivityIsTheString(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 60 {
		var a Activity
		var b []byte
		limit := 1 + r.IntN(1<<(4+r.IntN(14)))
		if r.IntN(3) == 0 { // some full containers
			from, to := r.IntN(1<<17), 1<<17+r.IntN(1<<18)
			a.ones.AddRange(uint64(from), uint64(to))
			a.bytes = uint64(to-1)/8 + 1
			for off := from; off < to; off++ {
				b, _ = SetBit(b, uint64(off), 1)
			}
		}
		for range r.IntN(3000) {
			off := uint32(r.IntN(limit))
			if r.IntN(100) == 0 {
				off = uint32(limit + r.IntN(1000)) // a step beyond
			}
			b, _ = SetBit(b, uint64(off), 1)
			a.Add(off)
		}
		if a.Len() != uint64(len(b)) || a.Count() != Count(b) {
			t.Fatalf("length %d and %d ones, want %d and %d", a.Len(), a.Count(), len(b), Count(b))
		}
		if got := a.AppendBytes([]byte("x")); !bytes.Equal(got[1:], b) || got[0] != 'x' {
			t.Fatal("AppendBytes is not the string")
		}
		for range 200 {
			n := 8*len(b) + 20
			start, end, unit, bit := int64(r.IntN(2*n)-n), int64(r.IntN(2*n)-n), Unit(r.IntN(2)), r.IntN(2)
			if got, want := a.CountIn(start, end, unit), CountIn(b, start, end, unit); got != want {
				t.Fatalf("CountIn(%d, %d, %d) = %d, want %d", start, end, unit, got, want)
			}
			if got, want := a.PosIn(bit, start, end, unit), PosIn(b, bit, start, end, unit); got != want {
				t.Fatalf("PosIn(%d, %d, %d, %d) = %d, want %d", bit, start, end, unit, got, want)
			}
			if got, want := a.PosFrom(bit, start/8), PosFrom(b, bit, start/8); got != want {
				t.Fatalf("PosFrom(%d, %d) = %d, want %d", bit, start/8, got, want)
			}
			if v := uint32(r.IntN(n)); a.Has(v) != (GetBit(b, uint64(v)) == 1) {
				t.Fatalf("Has(%d) = %v", v, a.Has(v))
			}
		}
	}
}

func TestActivityAtTheTop(t *testing.T) {
	var a Activity
	a.Add(0)
	a.Add(1<<32 - 1)
	if a.Len() != MaxBytes || a.CountIn(-1, -1, Bit) != 1 || a.PosIn(1, 1, -1, Bit) != 1<<32-1 {
		t.Fatalf("length %d, last bit %d, found at %d", a.Len(), a.CountIn(-1, -1, Bit), a.PosIn(1, 1, -1, Bit))
	}
	for bit := range uint32(64) {
		a.Add(1<<32 - 1 - bit)
	}
	if got := a.PosIn(0, -64, -1, Bit); got != -1 {
		t.Errorf("no 0 among the last 64 bits, found at %d", got)
	}
	if got := a.PosFrom(0, MaxBytes-8); got != 8*MaxBytes {
		t.Errorf("the first 0 is past the end, found at %d", got)
	}
}

func randomActivity(r *rand.Rand) *Activity {
	a := new(Activity)
	limit := uint32(1) << (3 + r.IntN(16))
	for range r.IntN(4000) {
		a.Add(r.Uint32N(limit))
	}
	if r.IntN(3) == 0 {
		from := r.Uint32N(limit)
		for v := range r.Uint32N(9000) {
			a.Add(from + v)
		}
	}
	return a
}

// TestClickHouseState: a pool writes the state of a set, an Activity reads it as the set, and a pool merges it.
func TestClickHouseState(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for trial := range 80 {
		a := randomActivity(r)
		if trial < 40 { // around the border of the small form
			a = new(Activity)
			for a.Count() < uint64(trial) {
				a.Add(r.Uint32N(1 << (8 + r.IntN(24))))
			}
		}
		vs := a.ones.ToArray()
		state := stateByRoaring(vs)

		var p Pool
		p.Grow(3)
		for _, i := range r.Perm(len(vs)) {
			p.Add(0, vs[i])
		}
		if !bytes.Equal(p.AppendClickHouse(nil, 0), state) {
			t.Fatalf("a pool writes another state of %d values", len(vs))
		}
		back, err := FromClickHouse(state)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.ones.ToArray(), vs) || len(vs) > 0 && back.Len() != uint64(vs[len(vs)-1])/8+1 {
			t.Fatalf("%d values come back, not %d, of length %d", back.Count(), len(vs), back.Len())
		}
		extra := randomActivity(r)
		for _, v := range extra.ones.ToArray() {
			p.Add(1, v)
		}
		for range 2 {
			if err := p.MergeClickHouse(1, state); err != nil {
				t.Fatal(err)
			}
		}
		extra.ones.Or(&a.ones)
		if !bytes.Equal(p.AppendClickHouse(nil, 1), stateByRoaring(extra.ones.ToArray())) || p.Count(1) != extra.Count() {
			t.Fatal("a state merged into a pool is not the union")
		}
	}
}

// touchingRuns is a state that is well formed, but whose runs 0-4 and 5-7 could
// be one run: no Roaring library writes that.
var touchingRuns = []byte{1, 19, 0x3b, 0x30, 0, 0, 1, 0, 0, 7, 0, 2, 0, 0, 0, 4, 0, 5, 0, 2, 0}

func TestTouchingRuns(t *testing.T) {
	a, err := FromClickHouse(touchingRuns)
	if err != nil {
		t.Fatal(err)
	}
	a.ones.Remove(5)
	if got, want := a.ones.ToArray(), []uint32{0, 1, 2, 3, 4, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestHostileStates(t *testing.T) {
	// 2^16 containers claimed in a few bytes, and a length beyond all memory.
	for _, state := range [][]byte{
		nil, {0}, {0, 200}, {1, 4, 0x3b, 0x30, 0xff, 0xff},
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		append([]byte{1, 8, 0x3a, 0x30, 0, 0}, 0, 0, 1, 0),
	} {
		var p Pool
		p.Grow(1)
		p.Add(0, 7)
		if err := p.MergeClickHouse(0, state); !errors.Is(err, groupbitmap.ErrState) || p.Count(0) != 1 {
			t.Errorf("%x: %v, and %d members", state, err, p.Count(0))
		}
		if _, err := FromClickHouse(state); !errors.Is(err, groupbitmap.ErrState) {
			t.Errorf("%x: %v", state, err)
		}
	}
}

func FuzzFromClickHouse(f *testing.F) {
	r := rand.New(rand.NewPCG(29, 30))
	for range 8 {
		f.Add(stateByRoaring(randomActivity(r).ones.ToArray()))
	}
	f.Add([]byte{0, 2, 9, 0, 0, 0, 3, 0, 0, 0})
	f.Add(touchingRuns)
	f.Fuzz(func(t *testing.T, state []byte) {
		a, err := FromClickHouse(state)
		var p Pool
		p.Grow(1)
		if poolErr := p.MergeClickHouse(0, state); (poolErr == nil) != (err == nil) {
			t.Fatalf("Activity: %v, Pool: %v", err, poolErr)
		}
		if err != nil {
			return
		}
		if want := roaring.BitmapOf(a.ones.ToArray()...); !a.ones.Equals(want) {
			t.Fatal("the bitmap does not equal its own values")
		}
		back, err := FromClickHouse(p.AppendClickHouse(nil, 0))
		if err != nil || !back.ones.Equals(&a.ones) {
			t.Fatalf("a pool's state does not come back: %v", err)
		}
	})
}
