package geo

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// position is one row of Each, as the tests compare it.
type position struct {
	window int64
	member string
	stamp  Stamp
	score  uint64
}

func rows(l *Last) (out []position) {
	l.Each(func(w int64, m []byte, st Stamp, score uint64) bool {
		out = append(out, position{w, string(m), st, score})
		return true
	})
	return out
}

// naive is the simplest form of Last.
type naive map[string]position

func (n naive) put(p position) {
	key := fmt.Sprintf("%d|%s", p.window, p.member)
	old, ok := n[key]
	if !ok || cmp.Or(p.stamp.Compare(old.stamp), cmp.Compare(p.score, old.score)) > 0 {
		n[key] = p
	}
}

func (n naive) rows() (out []position) {
	for _, p := range n {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.window, b.window), cmp.Compare(a.member, b.member))
	})
	return out
}

// randomPosition repeats windows, members and stamps often.
func randomPosition(r *rand.Rand) position {
	members := []string{"", "\x00", "\x00\x00", "a", "ab", "abcdefgh", "abcdefgh\x00", "abcdefghi", "\xff\xfe"}
	m := members[r.IntN(len(members))]
	if r.IntN(3) == 0 {
		m = fmt.Sprint("user:", r.IntN(500))
	}
	return position{
		window: int64(r.IntN(7)-3) * 60_000,
		member: m,
		stamp:  Stamp{Time: int64(r.IntN(5)), Slot: uint64(r.IntN(3)) << 62, Offset: int64(r.IntN(4)) - 1},
		score:  r.Uint64N(4),
	}
}

func TestLastAgainstNaive(t *testing.T) {
	for trial := range 200 {
		r := rand.New(rand.NewPCG(1, uint64(trial)))
		var l Last
		n := naive{}
		for range r.IntN(3000) {
			p := randomPosition(r)
			member := []byte(p.member)
			l.Put(p.window, member, p.stamp, p.score)
			for i := range member {
				member[i] = 'x' // Put must have copied it
			}
			n.put(p)
		}
		if got, want := rows(&l), n.rows(); !slices.Equal(got, want) {
			t.Fatalf("trial %d: got %d rows %v\nwant %d rows %v", trial, len(got), got, len(want), want)
		}
		if l.Len() != len(n) {
			t.Fatalf("trial %d: Len = %d, want %d", trial, l.Len(), len(n))
		}
	}
}

// TestLastLaws: merging is commutative, associative and idempotent, and does
// not depend on the order of Puts.
func TestLastLaws(t *testing.T) {
	build := func(ps []position) *Last {
		l := new(Last)
		for _, p := range ps {
			l.Put(p.window, []byte(p.member), p.stamp, p.score)
		}
		return l
	}
	merge := func(ls ...*Last) []position {
		var sum Last
		for _, l := range ls {
			sum.Merge(l)
		}
		return rows(&sum)
	}
	for trial := range 200 {
		r := rand.New(rand.NewPCG(2, uint64(trial)))
		var all []position
		for range 1 + r.IntN(600) {
			all = append(all, randomPosition(r))
		}
		i := r.IntN(len(all))
		j := i + r.IntN(len(all)-i)
		a, b, c := build(all[:i]), build(all[i:j]), build(all[j:])
		want := rows(build(all))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var ab, bc Last
		ab.Merge(a)
		ab.Merge(b)
		bc.Merge(b)
		bc.Merge(c)
		ab.Merge(&ab)
		for name, got := range map[string][]position{
			"shuffled":    rows(build(all)),
			"a b c":       merge(a, b, c),
			"c b a":       merge(c, b, a),
			"(a b) c":     merge(&ab, c),
			"a (b c)":     merge(a, &bc),
			"a b c a b c": merge(a, b, c, a, b, c),
		} {
			if !slices.Equal(got, want) {
				t.Fatalf("trial %d: %s: %d rows %v\nwant %d rows %v", trial, name, len(got), got, len(want), want)
			}
		}
	}
}

// TestLastCollision: two windows of one member whose hashes share all the bits
// that the index looks at are still two.
func TestLastCollision(t *testing.T) {
	member := []byte("a")
	seen := map[uint64]int64{}
	for w := int64(1); w < 1<<22; w++ {
		h := hash(w, member)
		other, ok := seen[h>>32<<32|h&15]
		if !ok {
			seen[h>>32<<32|h&15] = w
			continue
		}
		var l Last // of 16 slots
		l.Put(w, member, Stamp{}, 1)
		l.Put(other, member, Stamp{}, 2)
		if want := []position{{other, "a", Stamp{}, 2}, {w, "a", Stamp{}, 1}}; !slices.Equal(rows(&l), want) {
			t.Errorf("windows %d and %d: %v, want %v", other, w, rows(&l), want)
		}
		var gathered, o Last
		gathered.Put(w, member, Stamp{}, 1)
		o.Put(0, member, Stamp{}, 2)
		gathered.Gather(&o, func(int64) (int64, bool) { return other, true })
		if !slices.Equal(rows(&gathered), rows(&l)) {
			t.Errorf("windows %d and %d, gathered: %v, want %v", other, w, rows(&gathered), rows(&l))
		}
		return
	}
	t.Error("no two windows collide: the test tests nothing")
}

// TestLastGather: Gather has the result of one Put after the other.
func TestLastGather(t *testing.T) {
	for trial := range 200 {
		r := rand.New(rand.NewPCG(4, uint64(trial)))
		var l, o Last
		want := naive{}
		for range r.IntN(1000) * (trial % 3) {
			p := randomPosition(r)
			p.window = int64(r.IntN(2)) // the one that is put into, and another
			l.Put(p.window, []byte(p.member), p.stamp, p.score)
			want.put(p)
		}
		keep := func(window int64) bool { return window >= 0 && window != 120_000 }
		for range r.IntN(2000) {
			p := randomPosition(r)
			o.Put(p.window, []byte(p.member), p.stamp, p.score)
			if keep(p.window) {
				p.window = 1
				want.put(p)
			}
		}
		before := rows(&o)
		l.Gather(&o, func(window int64) (int64, bool) { return 1, keep(window) })
		if got := rows(&l); !slices.Equal(got, want.rows()) {
			t.Fatalf("trial %d: %v\nwant %v", trial, got, want.rows())
		}
		if !slices.Equal(rows(&o), before) {
			t.Fatalf("trial %d: what was put has changed", trial)
		}
	}
}

// TestLastCopies: Merge into an empty Last, and Since, make copies that hold
// the right positions and share nothing with the source.
func TestLastCopies(t *testing.T) {
	for trial := range 100 {
		r := rand.New(rand.NewPCG(3, uint64(trial)))
		var l Last
		want, recent := naive{}, naive{}
		for range r.IntN(2000) {
			p := randomPosition(r)
			l.Put(p.window, []byte(p.member), p.stamp, p.score)
			want.put(p)
		}
		for key, p := range want {
			if p.stamp.Time >= 3 {
				recent[key] = p
			}
		}
		var merged Last
		if trial%2 == 0 { // a used one
			merged.Put(1, []byte("gone"), Stamp{}, 1)
			merged.Reset()
		}
		merged.Merge(&l)
		if got := rows(&merged); !slices.Equal(got, want.rows()) {
			t.Fatalf("trial %d: merged: %v\nwant %v", trial, got, want.rows())
		}
		own := maps.Clone(want)
		for range 200 {
			p := randomPosition(r)
			p.stamp.Time += 10
			merged.Put(p.window, []byte(p.member), p.stamp, p.score)
			own.put(p)
		}
		if got := rows(&merged); !slices.Equal(got, own.rows()) {
			t.Fatalf("trial %d: merged, gone on: %v\nwant %v", trial, got, own.rows())
		}
		const window = 60_000
		members := l.Members(window, 3)
		l.Put(window, []byte("new"), Stamp{Time: 100}, 1) // too late
		want.put(position{window, "new", Stamp{Time: 100}, 1})
		set := members.Set()
		for key, p := range recent {
			if p.window != window {
				delete(recent, key)
			} else if score, ok := set.Score([]byte(p.member)); !ok || score != float64(p.score) {
				t.Fatalf("trial %d: %v is at %v, %v, want %v", trial, p.member, score, ok, p.score)
			}
		}
		if err := set.valid(); err != nil || set.Len() != len(recent) {
			t.Fatalf("trial %d: %d members, want %d, %v", trial, set.Len(), len(recent), err)
		}
		if got := rows(&l); !slices.Equal(got, want.rows()) {
			t.Fatalf("trial %d: the original changed: %v\nwant %v", trial, got, want.rows())
		}
	}
}

func TestLastReset(t *testing.T) {
	var l Last
	for i := range 1000 {
		l.Put(int64(i%3), fmt.Append(nil, "m", i), Stamp{Time: 9}, 9)
	}
	held := l.Bytes()
	l.Reset()
	if l.Len() != 0 || len(rows(&l)) != 0 {
		t.Fatalf("after Reset: Len = %d, %d rows", l.Len(), len(rows(&l)))
	}
	if got := l.Bytes(); got != held {
		t.Errorf("Reset changed Bytes from %d to %d, want the memory kept", held, got)
	}
	// An older stamp must now be the newest again.
	l.Put(1, []byte("m1"), Stamp{Time: 1}, 4)
	want := []position{{1, "m1", Stamp{Time: 1}, 4}}
	if got := rows(&l); !slices.Equal(got, want) {
		t.Errorf("after Reset and Put: %v, want %v", got, want)
	}
}

func TestLastEachStops(t *testing.T) {
	var l Last
	for i := range 10 {
		l.Put(0, []byte{byte(i)}, Stamp{}, 0)
	}
	n := 0
	l.Each(func(int64, []byte, Stamp, uint64) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("yield was called %d times, want 3", n)
	}
}

func TestLastBytes(t *testing.T) {
	if got := unsafe.Sizeof(lastEntry{}); got != lastEntryBytes {
		t.Errorf("lastEntryBytes = %d, the compiler says %d", lastEntryBytes, got)
	}
	if got := unsafe.Sizeof(lastKey{}); got != lastKeyBytes {
		t.Errorf("lastKeyBytes = %d, the compiler says %d", lastKeyBytes, got)
	}
	var l Last
	if l.Bytes() != 0 {
		t.Errorf("an empty table holds %d bytes", l.Bytes())
	}
	for i := range 100_000 {
		l.Put(0, fmt.Appendf(nil, "user%05d", i), Stamp{}, 0)
	}
	// Slices grow by a quarter, the index by half a load factor.
	if per := l.Bytes() / 100_000; per < 56+9+11 || per > (56+9)*5/4+22 {
		t.Errorf("%d bytes per position, want 76 to 103", per)
	}
}

// TestLastRepeatsDoNotAllocate: a moving member costs no memory.
func TestLastRepeatsDoNotAllocate(t *testing.T) {
	var l Last
	member := []byte("user:1")
	l.Put(0, member, Stamp{}, 0)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now++
		l.Put(0, member, Stamp{Time: now}, 1)
	}); n != 0 {
		t.Errorf("%v allocations per Put of a known member", n)
	}
}

func TestPrefixOrdersAsBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	random := func() []byte {
		b := make([]byte, r.IntN(11))
		for i := range b {
			b[i] = byte(r.IntN(3)) * 127
		}
		return b
	}
	for range 100_000 {
		a, b := random(), random()
		if c := cmp.Compare(prefix(a), prefix(b)); c != 0 && c != bytes.Compare(a, b) {
			t.Fatalf("prefix orders %x and %x as %d", a, b, c)
		}
	}
}
