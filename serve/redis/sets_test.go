package redis

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"weir/internal/redistest"
)

// TestHashset: a set is the same as a map, its members are numbered without gaps, and a
// scan returns each that stays, whatever is added and removed meanwhile.
func TestHashset(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s hashset
	want := map[string]bool{}
	change := func() {
		m := fmt.Sprint("m", rng.IntN(2000))
		if rng.IntN(2) == 0 {
			if s.add(m) == want[m] {
				t.Fatalf("add(%s) with it there: %v", m, want[m])
			}
			want[m] = true
		} else {
			if s.remove(m) != want[m] {
				t.Fatalf("remove(%s) with it there: %v", m, want[m])
			}
			delete(want, m)
		}
	}
	for round := range 30 {
		for range 1000 {
			change()
		}
		text := 0
		for i, m := range s.members {
			if !want[m] || s.numbers[m] != i || !s.has([]byte(m)) {
				t.Fatalf("round %d: member %d is %s", round, i, m)
			}
			text += len(m)
		}
		if len(s.members) != len(want) || len(s.numbers) != len(want) || s.text != text {
			t.Fatalf("round %d: %d members of %d, %d bytes of %d", round, len(s.members), len(want), s.text, text)
		}
		stay := map[string]bool{}
		for m := range want {
			stay[m] = true
		}
		for next, turn := uint64(0), 0; turn == 0 || next != 0; turn++ {
			next = scan(next, len(s.members), 1+rng.IntN(50), func(number int) { delete(stay, s.members[number]) })
			change()
			for m := range stay {
				if !want[m] {
					delete(stay, m)
				}
			}
		}
		if len(stay) > 0 {
			t.Fatalf("round %d: a scan did not return %v", round, stay)
		}
	}
}

// TestMemoryIsReckoned: what the server reckons for keys and members is about what they take.
func TestMemoryIsReckoned(t *testing.T) {
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	s := newStore()
	set := new(hashset)
	for i := range 200_000 {
		s.put(fmt.Appendf(nil, "key:%06d", i), newString([]byte("value")))
		set.add(fmt.Sprintf("user%06d", i))
	}
	s.put([]byte("set"), &item{typ: typeSet, value: set})
	took := heap() - before
	if s.used < took*2/3 || s.used > took*3/2 {
		t.Errorf("%d bytes are reckoned for %d", s.used, took)
	}
	runtime.KeepAlive(s)
}

// TestRandomMembers: how many SRANDMEMBER and SPOP return, that a positive count returns
// different ones, that each member comes up as often as any other, and that what SPOP
// returns is gone.
func TestRandomMembers(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	const members, rounds = 10, 1000
	for _, x := range []struct {
		args      []any
		n, differ int
	}{
		{[]any{"SRANDMEMBER", "u"}, 1, 1}, {[]any{"SRANDMEMBER", "u", 7}, 7, 7}, {[]any{"SRANDMEMBER", "u", -25}, 25, 0},
		{[]any{"SPOP", "u"}, 1, 1}, {[]any{"SPOP", "u", 4}, 4, 4}, {[]any{"SPOP", "u", 11}, 10, 10},
	} {
		counts := map[any]int{}
		for range rounds {
			do(t, c, "SADD", "u", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			reply := do(t, c, x.args...)
			list, ok := reply.([]any)
			if !ok {
				list = []any{reply}
			}
			left := members
			if x.args[0] == "SPOP" {
				left -= x.n
			}
			expect(t, c, left, "SCARD", "u")
			different := map[any]bool{}
			for _, m := range list {
				counts[m]++
				different[m] = true
			}
			if len(list) != x.n || x.differ > 0 && len(different) != x.differ {
				t.Fatalf("%v: %v", x.args, list)
			}
		}
		want, chi := float64(rounds*x.n)/members, 0.0
		for i := range members {
			d := float64(counts[fmt.Sprint(i)]) - want
			chi += d * d / want
		}
		if chi > 70 { // nine degrees of freedom: less than once in a billion runs
			t.Errorf("%v: chi square %.1f of %v", x.args, chi, counts)
		}
	}
}

// TestLongCommands: a command is not refused for its length, nor because of what it has to
// look at.
func TestLongCommands(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	const n = 100_000
	series := func(command string, key string, each func(i int) []any) []any {
		args := []any{command, key}
		for i := range n {
			args = append(args, each(i)...)
		}
		return args
	}
	member := func(i int) []any { return []any{i} }
	expect(t, c, n, series("GEOADD", "g", func(i int) []any { return []any{float64(i%1000) / 100, float64(i/1000) / 100, i} })...)
	expect(t, c, n, series("SADD", "u", member)...)
	expect(t, c, 1, series("PFADD", "h", member)...)
	for _, x := range []struct {
		want int
		args []any
	}{
		{n, []any{"GEOSEARCH", "g", "FROMLONLAT", 5, 0, "BYRADIUS", 3000, "km", "ASC"}},
		{n, []any{"SMEMBERS", "u"}},
		{2 * n, []any{"ZRANGE", "g", 0, -1, "WITHSCORES"}},
		{n + 1, []any{"SRANDMEMBER", "u", -n - 1}},
	} {
		if list, ok := do(t, c, x.args...).([]any); len(list) != x.want {
			t.Errorf("%v: %d, %v", x.args, len(list), ok)
		}
	}
	expect(t, c, n, "SUNIONSTORE", "v", "u", "u")
	expect(t, c, n, "GEOSEARCHSTORE", "near", "g", "FROMLONLAT", 5, 0, "BYRADIUS", 3000, "km")
	expect(t, c, 1, append(series("DEL", "none", member), "u")...)
	key := strings.Repeat("k", 100_000)
	expect(t, c, "OK", "SET", key, "x")
	expect(t, c, []any{key}, "KEYS", strings.Repeat("k*", 1000))
}

// TestCountedKeys: the keys of SINTERCARD are found by their number, also for window keys.
func TestCountedKeys(t *testing.T) {
	_, addr := start(t, Config{Windows: newFakeWindows()})
	c := dial(t, addr)
	do(t, c, "SADD", "u", 1, 2)
	expect(t, c, 2, "SINTERCARD", 2, "u", "u", "LIMIT", 0)
	expect(t, c, redistest.Error("ERR ClickHouse does not answer"), "SINTERCARD", 2, "u", "w:broken:ids:now", "x")
	if got := slices.Collect(countedKeys.of([][]byte{[]byte("sintercard"), []byte("9"), []byte("a"), []byte("b")})); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the keys of SINTERCARD 9 a b are at %v", got)
	}
}
