package redis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestItemSize: an item has two cache lines; the first one has the fields that
// every command needs.
func TestItemSize(t *testing.T) {
	var it item
	if unsafe.Sizeof(uintptr(0)) == 8 && (unsafe.Sizeof(it) != 128 || unsafe.Offsetof(it.size) != 64) {
		t.Errorf("an item has %d bytes, and %d in front of its size", unsafe.Sizeof(it), unsafe.Offsetof(it.size))
	}
}

// TestIndex compares the index with a map, through growth and removals, with
// keys that share slots and with long keys.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := newIndex()
	twin := map[string]*item{}
	key := func() []byte {
		n := rng.IntN(20_000)
		if n%10 == 0 {
			return fmt.Appendf(nil, "a key that is longer than the room for one: %d", n)
		}
		return fmt.Appendf(nil, "%d", n)
	}
	for step := range 300_000 {
		k := key()
		switch it := twin[string(k)]; {
		case rng.IntN(100_000) < step%90_000: // more and more of them, then fewer again
			if it != nil {
				x.remove(it)
				delete(twin, string(k))
			}
		default:
			it = new(item)
			it.name(k)
			x.put(it)
			twin[string(k)] = it
		}
		k = key()
		if got, want := x.find(k), twin[string(k)]; got != want {
			t.Fatalf("step %d: %q is %v, want %v", step, k, got, want)
		}
		if x.count != len(twin) {
			t.Fatalf("step %d: %d keys, want %d", step, x.count, len(twin))
		}
	}
	for k, it := range twin {
		if x.find([]byte(k)) != it {
			t.Errorf("%q is lost", k)
		}
		x.remove(it)
	}
	for i := range x.parts {
		if x.parts[i].Len() != 0 {
			t.Fatalf("part %d is not empty", i)
		}
	}
}

// TestPrefetch: prefetch changes nothing, whatever the commands are.
func TestPrefetch(t *testing.T) {
	s := newStore()
	for i := range 100 {
		s.put(fmt.Appendf(nil, "k%d", i), newString([]byte("value")))
	}
	s.put([]byte("z"), &item{kind: kindZset, value: new(zset)})
	s.put([]byte("empty"), newString(nil))
	commands := [][][]byte{{[]byte("PING")}, {[]byte("GET"), nil}, {[]byte("GET"), []byte("empty")}, {[]byte("ZCARD"), []byte("z")},
		{[]byte("GET"), []byte("none")}, {[]byte("GET"), make([]byte, 1000)}}
	for i := range batchMost - len(commands) {
		commands = append(commands, [][]byte{[]byte("GET"), fmt.Appendf(nil, "k%d", i), []byte("x")})
	}
	before := s.dirty
	s.prefetch(commands)
	if s.prefetched == 0 || s.dirty != before || s.index.count != 102 {
		t.Errorf("prefetched %d, %d changes, %d keys", s.prefetched, s.dirty-before, s.index.count)
	}
}
