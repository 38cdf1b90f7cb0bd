package bloom

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// eachForm runs a test with the assembly, where there is one, and without.
func eachForm(t *testing.T, f func(t *testing.T)) {
	t.Run("as built", f)
	if usePlain() {
		defer useAssembly()
		t.Run("plain", f)
	}
}

// TestFilterAgainstBits does the same random operations on a filter and on a
// Roaring bitmap of the bits that the Parquet format names.
func TestFilterAgainstBits(t *testing.T) {
	eachForm(t, func(t *testing.T) {
		for _, capacity := range []int{1, 20, 1000, 50_000} {
			r := rand.New(rand.NewPCG(7, uint64(capacity)))
			f, g := New(capacity, 0.02), New(capacity, 0.02)
			fb, gb := roaring.New(), roaring.New()
			has := func(bits *roaring.Bitmap, h uint64) bool {
				one := roaring.New()
				naiveAdd(one, h, f.Bits())
				return bits.AndCardinality(one) == one.GetCardinality()
			}
			hash := func() uint64 { // some known, some new
				return Hash([]byte(strconv.Itoa(r.IntN(3 * capacity))))
			}
			for range 3000 {
				h := hash()
				want := has(fb, h)
				if got := f.Has(h); got != want {
					t.Fatalf("capacity %d: Has is %v, want %v", capacity, got, want)
				}
				if r.IntN(2) == 0 {
					if got := f.TestAndAdd(h); got != want {
						t.Fatalf("capacity %d: TestAndAdd is %v, want %v", capacity, got, want)
					}
				} else {
					f.Add(h)
				}
				naiveAdd(fb, h, f.Bits())
				if h = hash(); r.IntN(4) == 0 {
					g.Add(h)
					naiveAdd(gb, h, g.Bits())
				}
			}
			same := func(name string, f *Filter, bits *roaring.Bitmap) {
				for p := range f.Bits() {
					if f.words[p/64]>>(p%64)&1 != 0 != bits.Contains(uint32(p)) {
						t.Fatalf("capacity %d, %s: bit %d differs", capacity, name, p)
					}
				}
			}
			same("one", f, fb)
			same("other", g, gb)
			f.Merge(g)
			fb.Or(gb)
			same("merged", f, fb)
			back := New(capacity, 0.02)
			if err := back.MergeClickHouse(stateByRoaring(fb)); err != nil {
				t.Fatal(err)
			}
			same("read back", back, fb)
			f.Reset()
			same("reset", f, roaring.New())
		}
	})
}

func TestMergeNeedsOneShape(t *testing.T) {
	for name, merge := range map[string]func(){
		"filters": func() { New(1000, 0.01).Merge(New(2000, 0.01)) },
		"pools": func() {
			p, q := NewPool(1000, 0.01), NewPool(1000, 0.001)
			p.Grow(1)
			q.Grow(1)
			p.Merge(0, q, 0)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of two sizes merge without a panic", name)
				}
			}()
			merge()
		}()
	}
}

func TestHostileStates(t *testing.T) {
	p, f := NewPool(100, 0.01), New(100, 0.01)
	p.Grow(1)
	p.Add(0, 1<<40)
	far := roaring.BitmapOf(uint32(p.Bits()))
	for range 40 {
		far.Add(uint32(far.GetCardinality()))
	}
	for _, state := range [][]byte{
		nil, {0}, {7, 7}, {1, 1, 0}, stateByRoaring(far),
		stateByRoaring(roaring.BitmapOf(uint32(p.Bits()))),
		stateByRoaring(roaring.BitmapOf(1<<32 - 1)),
	} {
		if f.MergeClickHouse(state) == nil || p.MergeClickHouse(0, state) == nil {
			t.Errorf("%x is taken for a filter's state", state)
		}
	}
	if f.Has(1<<40) || !p.Has(0, 1<<40) || p.Has(0, 5) {
		t.Error("a refused state has changed a filter")
	}
	last := stateByRoaring(roaring.BitmapOf(uint32(p.Bits() - 1)))
	if err := p.MergeClickHouse(0, last); err != nil {
		t.Errorf("the last bit: %v", err)
	}
}

func FuzzMergeClickHouse(f *testing.F) {
	p := NewPool(60, 0.01)
	p.Grow(3)
	for i := range uint64(60) {
		p.Add(uint32(i%3)*uint32(i%7)%3, i*0x9e3779b97f4a7c15)
	}
	for i := range uint32(3) {
		f.Add(p.AppendClickHouse(nil, i))
	}
	f.Add([]byte{0, 1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, state []byte) {
		p, f := NewPool(60, 0.01), New(60, 0.01)
		p.Grow(1)
		p.Add(0, 77)
		f.Add(77)
		err := f.MergeClickHouse(state)
		if (p.MergeClickHouse(0, state) == nil) != (err == nil) {
			t.Fatal("filter and pool do not agree on the state")
		}
		if !p.Has(0, 77) {
			t.Fatal("an item is lost")
		}
		if err == nil {
			g := New(60, 0.01)
			if err := g.MergeClickHouse(p.AppendClickHouse(nil, 0)); err != nil || !slices.Equal(g.words, f.words) {
				t.Fatalf("filter and pool differ: %v", err)
			}
		}
	})
}
