package window

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"weir/sketches/bitmap"
	"weir/sketches/hll"
)

// TestSet: which ids are members, and why others are dead letters. A number is its text.
func TestSet(t *testing.T) {
	people := Measure{Name: "people", Kind: Set, Path: "user"}
	row := taken(t, &people, `"7"`, `7`, `"6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11"`, `""`, `"ü"`, `1.50`, `1.5`)
	pool, i := row.Set(0)
	for _, id := range []string{"7", "6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11", "", "ü", "1.50", "1.5"} {
		if !pool.Has(i, SetHash(nil, []byte(id))) {
			t.Errorf("%q is not a member", id)
		}
	}
	if n := row.Number(0); n != 6 {
		t.Errorf("%d members, want 6", n)
	}
	if SetHash(nil, nil) != 0x51d8e999 {
		t.Errorf("the empty text has hash %x, want the lower half of its XXH64", SetHash(nil, nil))
	}
	key := [16]byte{1, 2, 3}
	if SetHash(&key, []byte("7")) != uint32(hll.KeyedHash(key, []byte("7"))) || SetHash(&key, []byte("7")) == SetHash(nil, []byte("7")) {
		t.Error("the key does not change the hash")
	}
	for value, want := range map[string]string{
		`true`: "field user is neither text nor number",
		`[7]`:  "field user is neither text nor number",
		`{}`:   "field user is neither text nor number",
		`null`: "field user is missing",
	} {
		if _, found, dead := take(t, people, `,"user":`+value); found || len(dead) != 1 || dead[0].Outcome != Malformed || dead[0].Reason != want {
			t.Errorf("%s: counted %t, %v, want a dead letter: %s", value, found, dead, want)
		}
	}
}

// TestSetCount: no id is missed up to 10,000, and of a million at most one in 5,000. Ids are
// texts as people have them.
func TestSetCount(t *testing.T) {
	for _, form := range []string{"user-%d", "%d", "%08x-6f1c-4a2e-9a53-5d1d2f1b7c11"} {
		c := new(setColumn)
		c.grow(1)
		next := 100
		for n := 1; n <= 1_000_000; n++ {
			c.pool.Add(0, SetHash(nil, fmt.Appendf(nil, form, n)))
			if n < next {
				continue
			}
			next *= 10
			off := math.Abs(float64(c.number(0)) - float64(n))
			if n <= 10_000 && off > 0 || off/float64(n) > 0.0002 {
				t.Errorf("%s: %d ids of %d", form, c.number(0), n)
			}
		}
	}
}

// BenchmarkSetHot adds events of one page: a million users, of whom 65,536 are about. The
// hash is part of it.
func BenchmarkSetHot(b *testing.B) {
	var ids [][]byte
	for i := range 1 << 16 {
		ids = append(ids, strconv.AppendInt(nil, int64(i*15), 10))
	}
	var pool bitmap.Pool
	pool.Grow(1)
	var hashes, rows [blockSize]uint32
	for at := 0; b.Loop(); at++ {
		n := at % blockSize
		hashes[n] = SetHash(nil, ids[at%len(ids)])
		if n == blockSize-1 {
			pool.AddBatch(rows[:], hashes[:])
		}
	}
}
