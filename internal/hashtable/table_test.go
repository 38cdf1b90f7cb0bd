package hashtable

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// twin is a table beside the obvious structure: for each hash, its values in any order.
type twin struct {
	t     *testing.T
	table Table[int]
	want  map[uint32][]int
	n     int
}

const counted = 1<<31 - 1 // the bits of a hash that count

// found returns the values that a search meets, in order of size.
func (w *twin) found(hash uint32) (values []int) {
	for at := w.table.First(hash); at >= 0; at = w.table.Next(at) {
		values = append(values, *w.table.At(at))
	}
	slices.Sort(values)
	return values
}

// slot returns the slot of a value, or the negative number that the search ends with.
func (w *twin) slot(hash uint32, v int) (at int) {
	for at = w.table.First(hash); at >= 0 && *w.table.At(at) != v; at = w.table.Next(at) {
	}
	return at
}

func (w *twin) do(what byte, hash uint32) {
	w.t.Helper()
	of := w.want[hash&counted]
	switch what % 8 {
	case 0, 1:
		w.n++
		w.table.Add(hash, w.n)
		w.want[hash&counted] = append(of, w.n)
	case 2, 3:
		w.n++
		w.table.Insert(w.slot(hash, w.n), hash, w.n)
		w.want[hash&counted] = append(of, w.n)
	case 4, 5:
		if len(of) > 0 {
			w.table.Remove(w.slot(hash, of[0]))
			w.want[hash&counted] = of[1:]
		}
	case 6:
		if len(of) > 0 {
			w.n++
			*w.table.At(w.slot(hash, of[0])) = w.n
			of[0] = w.n
		}
	case 7:
		w.table.Grow(int(hash % 9))
	}
	if got, want := w.found(hash), slices.Sorted(slices.Values(w.want[hash&counted])); !slices.Equal(got, want) {
		w.t.Fatalf("hash %x has %v, want %v", hash, got, want)
	}
}

// check compares everything.
func (w *twin) check() {
	w.t.Helper()
	n, all := 0, map[uint32][]int{}
	for hash, v := range w.table.All {
		all[hash&counted] = append(all[hash&counted], v)
	}
	for hash, want := range w.want {
		n += len(want)
		slices.Sort(all[hash])
		slices.Sort(want)
		if got := w.found(hash | inUse); !slices.Equal(got, want) || !slices.Equal(all[hash], want) {
			w.t.Fatalf("hash %x has %v, and %v in All, want %v", hash, got, all[hash], want)
		}
	}
	if w.table.Len() != n || 4*n > 3*len(w.table.slots) {
		w.t.Fatalf("%d values in %d slots, want %d in a third more at least", w.table.Len(), len(w.table.slots), n)
	}
}

// TestTwin: a table finds what a map of lists does, whether its hashes are spread, or
// end alike, or are few, and while it grows and empties.
func TestTwin(t *testing.T) {
	for name, hash := range map[string]func(r *rand.Rand) uint32{
		"spread": func(r *rand.Rand) uint32 { return r.Uint32() },
		"many":   func(r *rand.Rand) uint32 { return r.Uint32N(3000) * 0x9E3779B1 },
		"alike":  func(r *rand.Rand) uint32 { return r.Uint32N(200) << 20 },
		"few":    func(r *rand.Rand) uint32 { return 0xffff_ffff - r.Uint32N(64) },
	} {
		t.Run(name, func(t *testing.T) {
			w := twin{t: t, want: map[uint32][]int{}}
			r := rand.New(rand.NewPCG(1, 2))
			for range 10_000 {
				w.do(byte(r.Uint32()), hash(r))
			}
			w.check()
			for hash, values := range w.want {
				for _, v := range values {
					w.table.Remove(w.slot(hash, v))
				}
			}
			w.want = map[uint32][]int{}
			w.check()
			if slices.ContainsFunc(w.table.slots, func(s slot[int]) bool { return s != slot[int]{} }) {
				t.Error("an empty table has slots in use")
			}
		})
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 1, 4, 1, 6, 1, 7, 9, 0, 255, 4, 1})
	f.Fuzz(func(t *testing.T, steps []byte) {
		w := twin{t: t, want: map[uint32][]int{}}
		for ; len(steps) >= 2; steps = steps[2:] {
			// Two bits for the home, two above the largest table, and the one that does
			// not count: hashes collide in every way.
			h := uint32(steps[1])
			w.do(steps[0], h&3|h>>2&3<<29|h>>4<<31)
		}
		w.check()
	})
}

// TestEmpty: the zero table has nothing, and says so without memory.
func TestEmpty(t *testing.T) {
	var x Table[*int]
	if x.First(1) >= 0 || x.Len() != 0 || x.Bytes() != 0 {
		t.Error("an empty table has a value")
	}
	v := 7
	x.Insert(x.First(1), 1, &v)
	if at := x.First(1 | inUse); at < 0 || *x.At(at) != &v || x.Bytes() != slotsMin*16 {
		t.Errorf("a value is at %d in %d bytes", at, x.Bytes())
	}
	x.Reset()
	if x.First(1) >= 0 || x.Len() != 0 || x.Bytes() != slotsMin*16 {
		t.Error("Reset leaves a value, or no memory")
	}
}

// TestGrow: there is room for as many values as Grow was told, but not for many more.
func TestGrow(t *testing.T) {
	for n := range 1000 {
		var x Table[uint32]
		x.Grow(n)
		before := x.Bytes()
		for i := range n {
			x.Insert(x.First(uint32(i)), uint32(i), 0)
		}
		if x.Bytes() != before || before > max(8*slotsMin, 8*n*8/3) {
			t.Errorf("%d values: %d bytes, %d before", n, x.Bytes(), before)
		}
	}
}

// TestProbe compares Probe with a map.
func TestProbe(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		slots, have := make([]uint16, 64), map[uint16]bool{}
		for range 60 {
			key := uint16(r.Uint32N(80) + 1)
			home := uint32(key) * 0x9E3779B1 // the last bits, the first ones not
			at, found := Probe(slots, home, key)
			if found != have[key] || found && slots[at] != key || !found && slots[at] != 0 {
				t.Fatalf("%d: found %v in slot %d, which has %d, want %v", key, found, at, slots[at], have[key])
			}
			if len(have) < 48 || found {
				slots[at], have[key] = key, true
			}
		}
	}
}

// TestInlining: the compiler copies the search into its caller's loop. As a call it would
// take a nanosecond or two longer, for each event.
func TestInlining(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-m", "weir/internal/hashtable", "weir/window").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, name := range []string{"First", "Next", "At"} {
		if !strings.Contains(string(out), "inlining call to hashtable.(*Table[go.shape.uint32])."+name+"\n") {
			t.Errorf("window calls %s", name)
		}
	}
}
