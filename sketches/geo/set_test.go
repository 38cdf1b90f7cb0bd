package geo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"testing"
)

// model is the simplest sorted set: it sorts for each question.
type model map[string]float64

func (m model) sorted() []entry {
	out := make([]entry, 0, len(m))
	for member, score := range m {
		out = append(out, entry{score, member})
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].score != out[j].score {
			return out[i].score < out[j].score
		}
		return out[i].member < out[j].member
	})
	return out
}

// valid checks the invariants of a set's blocks.
func (s *Set) valid() error {
	n := 0
	var last *entry
	for i, b := range s.blocks {
		if len(b) == 0 || len(b) > blockMax {
			return fmt.Errorf("block %d has %d entries", i, len(b))
		}
		for j := range b {
			if last != nil && compareEntries(*last, b[j]) >= 0 {
				return fmt.Errorf("block %d entry %d: %v is not behind %v", i, j, b[j], *last)
			}
			last = &b[j]
			if e := s.scores.get([]byte(last.member)); e == nil || *e != *last {
				return fmt.Errorf("%v is %v in the table", *last, e)
			}
			n++
		}
	}
	if n != s.Len() {
		return fmt.Errorf("%d entries in blocks, Len is %d", n, s.Len())
	}
	all := 0
	for i, x := range append([]table{s.scores.one}, s.scores.parts...) {
		if held := len(x.all) - len(x.freed); held != x.len() {
			return fmt.Errorf("table %d: %d members, %d in the index", i, held, x.len())
		}
		all += x.len()
	}
	if all != n {
		return fmt.Errorf("%d members in blocks, %d in tables", n, all)
	}
	return nil
}

// TestSetOfMany: a set that is cut into parts finds, moves and removes its
// members as before, and so does its copy.
func TestSetOfMany(t *testing.T) {
	const n = 4 * scoreSplit
	name := func(i int) []byte { return fmt.Append(nil, "member ", i) }
	var s Set
	for i := range n {
		if added, _ := s.Put(name(i), float64(i%1000)); !added {
			t.Fatalf("member %d is not new", i)
		}
	}
	if s.scores.parts == nil {
		t.Fatal("the table is in one piece")
	}
	for i := range n / 2 {
		if _, moved := s.Put(name(i), -1); !moved {
			t.Fatalf("member %d did not move", i)
		}
	}
	if removed := s.RemoveRanks(0, n/2); removed != n/2 || s.Len() != n/2 {
		t.Fatalf("%d members removed, %d left", removed, s.Len())
	}
	for i := range n {
		if got := s.Remove(name(i)); got != (i >= n/2) {
			t.Fatalf("Remove of member %d: %v", i, got)
		}
	}
	if err := s.valid(); err != nil || s.Len() != 0 {
		t.Errorf("the emptied set has %d members: %v", s.Len(), err)
	}
}

// collect drains an iterator.
func collect(seq func(func(string, float64) bool)) (out []entry) {
	for member, score := range seq {
		out = append(out, entry{score, member})
	}
	return out
}

// TestSetAgainstModel drives sets of several blocks through random commands.
func TestSetAgainstModel(t *testing.T) {
	for trial := range 30 {
		r := rand.New(rand.NewPCG(6, uint64(trial)))
		var s Set
		m := model{}
		member := func() []byte { return fmt.Appendf(nil, "m%d", r.IntN(3000)) }
		score := func() float64 {
			switch r.IntN(12) {
			case 0:
				return math.Inf(1 - 2*r.IntN(2))
			case 1:
				return math.Copysign(0, float64(r.IntN(2))-0.5)
			case 2, 3, 4:
				return float64(r.IntN(5)) // many members of one score
			}
			return r.NormFloat64() * 100
		}
		interval := func() Interval {
			return Interval{Min: score(), Max: score(), OpenMin: r.IntN(2) == 0, OpenMax: r.IntN(2) == 0}
		}
		inside := func(v float64, in Interval) bool {
			return (v > in.Min || v == in.Min && !in.OpenMin) && (v < in.Max || v == in.Max && !in.OpenMax)
		}
		grow := trial%3 + 1 // of 4 steps, how many add
		for step := range 4000 {
			name := member()
			switch op := r.IntN(100); {
			case op < 24*grow:
				v := score()
				old, known := m[string(name)]
				added, moved := s.Put(name, v)
				if added != !known || moved != (known && old != v) {
					t.Fatalf("trial %d step %d: Put(%s, %v) over %v, %v = %v, %v", trial, step, name, v, old, known, added, moved)
				}
				if !known || old != v {
					m[string(name)] = v
				}
				for i := range name {
					name[i] = 'x' // Put must have copied it
				}
			case op < 97:
				_, known := m[string(name)]
				if got := s.Remove(name); got != known {
					t.Fatalf("trial %d step %d: Remove(%s) = %v", trial, step, name, got)
				}
				delete(m, string(name))
			case op < 98:
				in := interval()
				if r.IntN(4) > 0 {
					in.Max = in.Min + 10
				}
				from, to := s.Ranks(in)
				got, want := s.RemoveRanks(from, to), 0
				for k, v := range m {
					if inside(v, in) {
						delete(m, k)
						want++
					}
				}
				if got != want {
					t.Fatalf("trial %d step %d: %d removed from %+v, want %d", trial, step, got, in, want)
				}
			case op < 99:
				in := interval()
				from, to := s.Ranks(in)
				var want []entry
				for _, e := range m.sorted() {
					if inside(e.score, in) {
						want = append(want, e)
					}
				}
				if got := collect(s.Slice(from, to)); !slices.Equal(got, want) || to-from != len(want) {
					t.Fatalf("trial %d step %d: %+v: ranks %d, %d: %v, want %v", trial, step, in, from, to, got, want)
				}
			default:
				want := m.sorted()
				from, to := r.IntN(len(want)+4)-2, r.IntN(len(want)+4)-2
				cut := func(i int) int { return min(max(i, 0), len(want)) }
				part := slices.Clone(want[cut(from):max(cut(from), cut(to))])
				if got := collect(s.Slice(from, to)); !slices.Equal(got, part) {
					t.Fatalf("trial %d step %d: Slice(%d, %d) = %v, want %v", trial, step, from, to, got, part)
				}
				slices.Reverse(part)
				if got := collect(s.Backward(from, to)); !slices.Equal(got, part) {
					t.Fatalf("trial %d step %d: Backward(%d, %d) = %v, want %v", trial, step, from, to, got, part)
				}
			}
			if s.Len() != len(m) {
				t.Fatalf("trial %d step %d: Len = %d, want %d", trial, step, s.Len(), len(m))
			}
			if step%500 == 0 {
				if err := s.valid(); err != nil {
					t.Fatalf("trial %d step %d: %v", trial, step, err)
				}
			}
		}
		if err := s.valid(); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if got := collect(s.Slice(0, s.Len())); !slices.Equal(got, m.sorted()) {
			t.Fatalf("trial %d: contents differ", trial)
		}
		s.RemoveRanks(0, s.Len())
		if s.Len() != 0 || len(s.blocks) != 0 {
			t.Fatalf("trial %d: %d members, %d blocks after removing all", trial, s.Len(), len(s.blocks))
		}
	}
}

// TestSetSplits puts one entry at every place of a full block.
func TestSetSplits(t *testing.T) {
	for at := range blockMax + 1 {
		var s Set
		for i := range 3 * blockMax {
			s.Put(fmt.Appendf(nil, "%d", i), float64(i))
		}
		if len(s.blocks[1]) != blockMax {
			t.Fatalf("the second block has %d entries", len(s.blocks[1]))
		}
		s.Put([]byte("new"), float64(blockMax+at)-0.5)
		if err := s.valid(); err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		if got := collect(s.Slice(blockMax+at, blockMax+at+1)); len(got) != 1 || got[0].member != "new" {
			t.Fatalf("put at %d, where %v is", blockMax+at, got)
		}
	}
}

// TestSetShrinks: removing gives blocks back.
func TestSetShrinks(t *testing.T) {
	var s Set
	for i := range 100_000 {
		s.Put(fmt.Append(nil, i), float64(i))
	}
	held := func() int {
		n := blockMax*len(s.blocks) + cap(s.scores.one.all)
		for i := range s.scores.parts {
			n += cap(s.scores.parts[i].all)
		}
		return n
	}
	full := held()
	for i := range 100_000 {
		if i%100 > 0 {
			s.Remove(fmt.Append(nil, i))
		}
	}
	if err := s.valid(); err != nil {
		t.Fatal(err)
	}
	if got := held(); got > full/20 {
		t.Errorf("1%% of the members hold %d of %d places", got, full)
	}
}

func TestSetRefusesNaN(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Put of NaN did not panic")
		}
	}()
	new(Set).Put([]byte("a"), math.NaN())
}

// TestSetAtOnce: a set made at once equals one made by a Put for each member,
// also after further changes.
func TestSetAtOnce(t *testing.T) {
	for _, n := range []int{0, 1, blockMax, blockMax + 1, 5000} {
		r := rand.New(rand.NewPCG(10, uint64(n)))
		var last Last
		want := model{}
		for i := range n {
			member, score := fmt.Append(nil, "m", i), r.Uint64N(uint64(n)/2+1)
			last.Put(7, member, Stamp{}, score)
			last.Put(8, member, Stamp{}, 1<<40)
			want[string(member)] = float64(score)
		}
		s := last.Set(7)
		for step := range 2*n + 1 {
			if step == 0 || step == n || step == 2*n {
				if err := s.valid(); err != nil {
					t.Fatalf("%d members, step %d: %v", n, step, err)
				}
				if got := collect(s.Slice(0, s.Len())); !slices.Equal(got, want.sorted()) {
					t.Fatalf("%d members, step %d: %v\nwant %v", n, step, got, want.sorted())
				}
			}
			switch member := fmt.Append(nil, "m", r.IntN(2*n+1)); r.IntN(3) {
			case 0:
				s.Remove(member)
				delete(want, string(member))
			default:
				score := float64(r.IntN(n + 1))
				s.Put(member, score)
				want[string(member)] = score
			}
		}
	}
}

// TestSorted: the order equals that of a sort by comparison, for all kinds of
// scores.
func TestSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for _, n := range []int{0, 1, 2047, 2048, 2049, 20_000} {
		for name, score := range map[string]func() float64{
			"cells": func() float64 { return float64(r.Uint64() >> 12) },
			"close": func() float64 { return float64(r.Uint64N(50)<<46 | r.Uint64N(1<<12)) }, // alike to the 36th bit
			"few":   func() float64 { return float64(r.IntN(7) - 3) },
			"one":   func() float64 { return 1 },
			"any": func() float64 {
				for {
					if f := math.Float64frombits(r.Uint64()); f == f {
						return f
					}
				}
			},
			"odd": func() float64 {
				return []float64{math.Inf(-1), math.Inf(1), 0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64}[r.IntN(7)]
			},
		} {
			var entries []entry
			for i := range n {
				entries = append(entries, entry{score(), fmt.Sprint(i * 7919 % n)})
			}
			want := slices.SortedFunc(slices.Values(entries), compareEntries)
			if got := sorted(entries); !slices.Equal(got, want) {
				t.Errorf("%d scores, %s: not in order", n, name)
			}
		}
	}
}

// TestSetMadeAtOnce: a set made at once behaves like any other.
func TestSetMadeAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{0, 1, 300, 5000} {
		made := func() *Set {
			entries := make([]entry, n)
			for i := range entries {
				entries[i] = entry{float64(r.IntN(1000)), fmt.Sprint("m", i)}
			}
			return newSet(entries)
		}
		for what, change := range map[string]func(s *Set) (more int){
			"nothing": func(*Set) int { return 0 },
			"put":     func(s *Set) int { s.Put([]byte("new"), 1); return 1 },
			"remove": func(s *Set) int {
				if s.Remove([]byte("m0")) {
					return -1
				}
				return 0
			},
			"removeRanks": func(s *Set) int { return -s.RemoveRanks(0, 3) },
		} {
			s := made()
			more := change(s)
			if err := s.valid(); err != nil || s.Len() != n+more {
				t.Errorf("%d, %s: %d members, want %d, %v", n, what, s.Len(), n+more, err)
			}
		}
	}
}

// TestSetBytesPerMember bounds what a member takes.
func TestSetBytesPerMember(t *testing.T) {
	const n = 100_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	r := rand.New(rand.NewPCG(9, 8))
	before := heap()
	s := new(Set)
	for i := range n {
		s.Put(fmt.Appendf(nil, "user:%07d", i), float64(r.Uint64()>>12))
	}
	if measured := float64(heap()-before) / n; measured > 150 {
		t.Errorf("a member takes %.0f bytes, want at most 150", measured)
	}
	runtime.KeepAlive(s)
}
