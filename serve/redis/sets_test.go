package redis

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/redistest"
)

// checkSet compares a set with a map, and what it says about its memory with a count.
func checkSet(t *testing.T, s *hashset, want map[string]bool) {
	t.Helper()
	seen, text, number := map[string]bool{}, 0, 0
	for m := range s.all {
		if seen[string(m)] || !want[string(m)] || string(s.member(number)) != string(m) || !s.has(hashMember(m), m) {
			t.Fatalf("member %d is %q: twice %v, wanted %v", number, m, seen[string(m)], want[string(m)])
		}
		seen[string(m)] = true
		text += len(m)
		number++
	}
	held := s.one.Bytes()
	for i := range s.parts {
		held += s.parts[i].Bytes()
	}
	for _, c := range s.chunks {
		held += c.memory()
		long, live := 0, 0
		for i := range c.at {
			if live++; len(c.member(i)) < isLong {
				live += len(c.member(i))
			}
		}
		for _, m := range c.long {
			if m != nil {
				long += allocated(len(m))
			}
		}
		if c.longBytes != long || c.dead != len(c.bytes)-live || len(c.bytes) > 1<<16 || c.dead >= 64 && 2*c.dead >= len(c.bytes) {
			t.Fatalf("a chunk has %d bytes, %d live, %d dead, %d of long members, want %d", len(c.bytes), live, c.dead, c.longBytes, long)
		}
	}
	if len(seen) != len(want) || s.n != len(want) || s.text != text || s.held != held || len(s.chunks) != (s.n+chunkLen-1)/chunkLen {
		t.Fatalf("%d members seen, n %d, want %d; %d bytes of text, want %d; %d held, want %d", len(seen), s.n, len(want), s.text, text, s.held, held)
	}
}

// TestHashset compares a set with a map through growth, the division of its index,
// removals by member and by number, and members of all lengths.
func TestHashset(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var s hashset
	want := map[string]bool{}
	draw := func() []byte {
		n := rng.IntN(70_000)
		switch n % 100 {
		case 0:
			return append(fmt.Appendf(nil, "%d", n), make([]byte, n%1000)...)
		case 1: // all around the length that is stored in another way
			return fmt.Appendf(nil, "%0*d", isLong-2+n/100%5, n)
		}
		return fmt.Appendf(nil, "%d", n)
	}
	const steps = 400_000
	for step := range steps {
		m := draw()
		// More and more of them, then fewer again.
		if grows := step < steps/2; rng.IntN(10) < 2 == grows {
			if s.remove(m) != want[string(m)] {
				t.Fatalf("step %d: remove(%q) is not %v", step, m, want[string(m)])
			}
			delete(want, string(m))
			if s.n > 0 && rng.IntN(10) == 0 {
				number := rng.IntN(s.n)
				delete(want, string(s.member(number)))
				s.removeNumber(number)
			}
		} else {
			if s.add(m) == want[string(m)] {
				t.Fatalf("step %d: add(%q) is %v", step, m, want[string(m)])
			}
			want[string(m)] = true
		}
		if step == steps/2 && s.parts == nil {
			t.Fatalf("%d members do not divide the index: the test tests little", s.n)
		}
		if step%50_000 == 0 {
			checkSet(t, &s, want)
		}
	}
	full := s.memory()
	checkSet(t, &s, want)
	for m := range want {
		s.remove([]byte(m))
		if delete(want, m); len(want) == 1000 {
			checkSet(t, &s, want)
		}
	}
	checkSet(t, &s, want)
	if s.memory() > full/50 {
		t.Errorf("an empty set holds %d bytes, the full one %d", s.memory(), full)
	}
}

// TestSetMemory: what docs and the comment of hashset say about the memory.
func TestSetMemory(t *testing.T) {
	var s hashset
	for i := range 1_000_000 {
		s.add(fmt.Appendf(nil, "user%06d", i))
	}
	if each := float64(s.memory()) / 1e6; each < 20 || each > 36 {
		t.Errorf("a member of ten bytes takes %.1f bytes", each)
	}
}

// TestScanOfSet: a member that is there all the time is returned, whatever is added and
// removed during the scan.
func TestScanOfSet(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 30 {
		do(t, c, "DEL", "u")
		args, stays := []any{"SADD", "u"}, map[string]bool{}
		for i := range 400 {
			name := fmt.Sprint("stays", i)
			if i%2 == 0 {
				name = fmt.Sprint("goes", i)
			} else {
				stays[name] = true
			}
			args = append(args, name)
		}
		rng.Shuffle(len(args)-2, func(i, j int) { args[i+2], args[j+2] = args[j+2], args[i+2] })
		do(t, c, args...)
		cursor, calls := "0", 0
		for {
			reply := do(t, c, "SSCAN", "u", cursor, "COUNT", 1+rng.IntN(30)).([]any)
			for _, m := range reply[1].([]any) {
				delete(stays, m.(string))
			}
			if calls++; reply[0] == "0" {
				break
			}
			cursor = reply[0].(string)
			for range rng.IntN(20) {
				do(t, c, []any{"SREM", "SADD"}[(calls+round)%2], "u", fmt.Sprint("goes", rng.IntN(800)))
			}
		}
		if len(stays) > 0 || calls < 5 {
			t.Fatalf("%d calls did not return %v", calls, slices.Collect(maps.Keys(stays)))
		}
	}
	do(t, c, "SADD", "v", "anna", "boris", "carla")
	expect(t, c, []any{"0", []any{"boris"}}, "SSCAN", "v", 0, "MATCH", "b*")
	expect(t, c, []any{"0", []any{}}, "SSCAN", "none", 0)
	do(t, c, "SADD", "w", strings.Repeat("x", 1<<20))
	if r, ok := do(t, c, "SSCAN", "w", 0, "MATCH", "*a*b*c*").(redistest.Error); !ok || !strings.HasPrefix(string(r), errWork) {
		t.Errorf("a long member and a pattern: %.100v", r)
	}
	if r := do(t, c, "SSCAN", "w", 0).([]any); r[0] != "0" || len(r[1].([]any)) != 1 {
		t.Error("a long member without a pattern is not returned")
	}
}

// TestRandomMembers: how many SRANDMEMBER and SPOP return, that a positive count returns
// different ones, that each member comes up as often as any other, and that what SPOP
// returns is gone.
func TestRandomMembers(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	const members, rounds = 10, 4000
	fill := func() {
		args := []any{"SADD", "u"}
		for i := range members {
			args = append(args, i)
		}
		do(t, c, args...)
	}
	distinct := func(list []any) int {
		d := map[any]bool{}
		for _, m := range list {
			d[m] = true
		}
		return len(d)
	}
	even := func(name string, counts map[any]int, draws int) {
		t.Helper()
		want := float64(draws) / members
		chi := 0.0
		for i := range members {
			d := float64(counts[fmt.Sprint(i)]) - want
			chi += d * d / want
		}
		if chi > 60 { // nine degrees of freedom: once in a billion runs
			t.Errorf("%s: chi square %.1f of %v", name, chi, counts)
		}
	}
	fill()
	for name, args := range map[string][]any{
		"one": {"SRANDMEMBER", "u"}, "three": {"SRANDMEMBER", "u", 3}, "seven": {"SRANDMEMBER", "u", 7}, "with repetition": {"SRANDMEMBER", "u", -25},
	} {
		counts, draws := map[any]int{}, 0
		for range rounds {
			reply := do(t, c, args...)
			list, ok := reply.([]any)
			if !ok {
				list = []any{reply}
			}
			switch n := distinct(list); {
			case name == "three" && n != 3, name == "seven" && n != 7, name == "with repetition" && len(list) != 25:
				t.Fatalf("%s: %v", name, list)
			}
			for _, m := range list {
				counts[m]++
				draws++
			}
		}
		even(name, counts, draws)
	}
	for name, count := range map[string]int{"SPOP": 0, "SPOP 1": 1, "SPOP 4": 4, "SPOP 9": 9} {
		counts, draws := map[any]int{}, 0
		for range rounds / 4 {
			fill()
			args := []any{"SPOP", "u"}
			if count > 0 {
				args = append(args, count)
			}
			reply := do(t, c, args...)
			list, ok := reply.([]any)
			if !ok {
				list = []any{reply}
			}
			left := do(t, c, "SMEMBERS", "u").([]any)
			if all := append(slices.Clone(list), left...); len(list) != max(count, 1) || distinct(all) != members || len(all) != members {
				t.Fatalf("%s returns %v and leaves %v", name, list, left)
			}
			for _, m := range list {
				counts[m]++
				draws++
			}
		}
		even(name, counts, draws)
	}
	do(t, c, "DEL", "u")
	fill()
	var popped []any
	for range members {
		popped = append(popped, do(t, c, "SPOP", "u"))
	}
	if distinct(popped) != members {
		t.Errorf("SPOP one at a time: %v", popped)
	}
	expect(t, c, 0, "EXISTS", "u")
	expect(t, c, nil, "SPOP", "u")
	fill()
	if list := do(t, c, "SPOP", "u", members+1).([]any); distinct(list) != members {
		t.Errorf("SPOP of more than there are: %v", list)
	}
	expect(t, c, 0, "EXISTS", "u")
}

// TestSetsAsKeys: sets end, are renamed, watched, counted in the memory and refused as
// other keys are.
func TestSetsAsKeys(t *testing.T) {
	clock := newClock()
	s, addr := start(t, Config{Now: clock.now, Memory: 4 << 20})
	c := dial(t, addr)
	used := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.store.used
	}
	expect(t, c, 3, "SADD", "u", 1, 2, 3)
	expect(t, c, "set", "TYPE", "u")
	expect(t, c, "intset", "OBJECT", "ENCODING", "u")
	expect(t, c, 1, "SADD", "u", "x")
	expect(t, c, "listpack", "OBJECT", "ENCODING", "u")
	expect(t, c, 1, "SADD", "u", strings.Repeat("x", 65))
	expect(t, c, "hashtable", "OBJECT", "ENCODING", "u")
	expect(t, c, []any{"0", []any{"u"}}, "SCAN", 0, "TYPE", "set")
	expect(t, c, "OK", "RENAME", "u", "v")
	expect(t, c, 5, "SCARD", "v")
	expect(t, c, 1, "EXPIRE", "v", 10)
	expect(t, c, 0, "SUNIONSTORE", "v2", "none", "v3")
	clock.pass(11 * time.Second)
	expect(t, c, 0, "SCARD", "v")
	if n := used(); n != 0 {
		t.Errorf("%d bytes are used without a key", n)
	}
	args := []any{"SADD", "big"}
	for i := range 5000 {
		args = append(args, i)
	}
	before := used()
	expect(t, c, 5000, args...)
	if got := do(t, c, "MEMORY", "USAGE", "big"); got != int64(used()-before) || got.(int64) < 5000*15 {
		t.Errorf("%v bytes, %d in the store", got, used()-before)
	}
	expect(t, c, "OK", "WATCH", "big")
	other := dial(t, addr)
	expect(t, other, 1, "SREM", "big", 17)
	expect(t, c, "OK", "MULTI")
	expect(t, c, "QUEUED", "SCARD", "big")
	expect(t, c, nil, "EXEC")
	expect(t, c, 2, "SADD", "from", "there already", "new")
	expect(t, c, 1, "SADD", "to", "there already")
	for _, x := range []struct {
		member string
		want   any
	}{{"there already", []any{"PONG"}}, {"new", nil}} { // moving what is there already changes nothing there
		expect(t, c, "OK", "WATCH", "to")
		expect(t, other, 1, "SMOVE", "from", "to", x.member)
		expect(t, c, "OK", "MULTI")
		expect(t, c, "QUEUED", "PING")
		if got := do(t, c, "EXEC"); !reflect.DeepEqual(got, x.want) {
			t.Errorf("EXEC after SMOVE of %s: %v, want %v", x.member, got, x.want)
		}
	}
	expect(t, c, "OK", "MULTI")
	expect(t, c, "QUEUED", "SADD", "u", "a", "b")
	expect(t, c, "QUEUED", "SMOVE", "u", "v", "a")
	expect(t, c, "QUEUED", "SINTERCARD", 2, "u", "v")
	expect(t, c, []any{int64(2), int64(1), int64(0)}, "EXEC")
	for i := 0; ; i++ { // until the memory is full
		args := []any{"SADD", fmt.Sprint("fill", i)}
		for j := range 1000 {
			args = append(args, fmt.Sprintf("%100d", j))
		}
		if r := do(t, c, args...); r == redistest.Error(errMemory) {
			break
		} else if i > 100 {
			t.Fatal("the memory never fills")
		}
	}
	for _, args := range [][]any{{"SADD", "n", 1}, {"SUNIONSTORE", "n", "u"}, {"SMOVE", "u", "n", "b"}} {
		expect(t, c, redistest.Error(errMemory), args...)
	}
	expect(t, c, 1, "SREM", "u", "b")
	expect(t, c, 1, "UNLINK", "fill0")
	expect(t, c, redistest.Error(errLongKey), "SMOVE", "v", strings.Repeat("k", keyMost+1), "a")
	expect(t, c, 1, "SCARD", "v")
}

// TestTooManyMembers: a command on sets that would keep all clients waiting is refused
// and changes nothing.
func TestTooManyMembers(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	refused := func(args ...any) {
		t.Helper()
		if r, ok := do(t, c, args...).(redistest.Error); !ok || !strings.HasPrefix(string(r), errWork) {
			t.Errorf("%.80v: %.100v", args, r)
		}
	}
	const members = 60_000
	for from := 0; from < members; from += 2000 {
		a, b := []any{"SADD", "a"}, []any{"SADD", "b"}
		for i := from; i < from+2000; i++ {
			a, b = append(a, i), append(b, i)
		}
		expect(t, c, 2000, a...)
		expect(t, c, 2000, b...)
	}
	refused("SMEMBERS", "a")
	refused("SPOP", "a", members)
	refused("SPOP", "a", members/2)
	refused("SRANDMEMBER", "a", members)
	refused("SRANDMEMBER", "a", "9223372036854775807")
	refused("SRANDMEMBER", "a", "-9223372036854775807")
	for _, command := range []string{"SINTER", "SUNION", "SDIFF"} {
		refused(command, "a", "b")
		refused(command+"STORE", "d", "a", "b")
	}
	refused("SINTERCARD", 2, "a", "b")
	expect(t, c, 100, "SINTERCARD", 2, "a", "b", "LIMIT", 100)
	expect(t, c, members, "SCARD", "a")
	expect(t, c, 0, "EXISTS", "d")
	expect(t, c, 2, "SADD", "few", 17, "x")
	expect(t, c, []any{"17"}, "SINTER", "a", "few", "b")
	expect(t, c, []any{"x"}, "SDIFF", "few", "a", "b")
	many := []any{"SREM", "a"}
	for i := range 10_000 {
		many = append(many, i)
	}
	refused(many...)
	n, cursor := 0, "0"
	for {
		reply := do(t, c, "SSCAN", "a", cursor, "COUNT", 1_000_000).([]any)
		n += len(reply[1].([]any))
		if cursor = reply[0].(string); cursor == "0" {
			break
		}
	}
	if n != members {
		t.Errorf("SSCAN returned %d members", n)
	}
}

// TestCountedKeys: which arguments of SINTERCARD are keys.
func TestCountedKeys(t *testing.T) {
	for line, want := range map[string][]int{
		"SINTERCARD 2 a b":         {2, 3},
		"SINTERCARD 1 a LIMIT 2":   {2},
		"SINTERCARD 9 a b":         {2, 3},
		"SINTERCARD x a":           nil,
		"SINTERCARD -1 a":          nil,
		"SINTERCARD 0 a":           nil,
		"SINTERCARD":               nil,
		"SINTERCARD 99999999999 a": {2},
	} {
		var args [][]byte
		for _, word := range strings.Fields(line) {
			args = append(args, []byte(word))
		}
		if got := slices.Collect(countedKeys.of(args)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
