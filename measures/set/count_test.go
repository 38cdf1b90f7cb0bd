package set

import (
	"testing"

	"weir/measures/measuretest"
	"weir/sketches/hll"
	"weir/window"
)

// TestSet: which ids are members, and why others are dead letters. A number is its text.
func TestSet(t *testing.T) {
	people := window.Measure{Name: "people", Kind: Kind, Path: "user"}
	row := measuretest.Taken(t, &people, `"7"`, `7`, `"6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11"`, `""`, `"ü"`, `1.50`, `1.5`)
	pool, i := Of(row, 0)
	for _, id := range []string{"7", "6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11", "", "ü", "1.50", "1.5"} {
		if !pool.Has(i, Hash(nil, []byte(id))) {
			t.Errorf("%q is not a member", id)
		}
	}
	if n := row.Number(0); n != 6 {
		t.Errorf("%d members, want 6", n)
	}
	if Hash(nil, nil) != 0x51d8e999 {
		t.Errorf("the empty text has hash %x, want the lower half of its XXH64", Hash(nil, nil))
	}
	key := [16]byte{1, 2, 3}
	if Hash(&key, []byte("7")) != uint32(hll.KeyedHash(key, []byte("7"))) || Hash(&key, []byte("7")) == Hash(nil, []byte("7")) {
		t.Error("the key does not change the hash")
	}
	for value, want := range map[string]string{
		`true`: "field user is neither text nor number",
		`[7]`:  "field user is neither text nor number",
		`{}`:   "field user is neither text nor number",
		`null`: "field user is missing",
	} {
		if _, found, dead := measuretest.Take(t, people, `,"user":`+value); found || len(dead) != 1 || dead[0].Outcome != window.Malformed || dead[0].Reason != want {
			t.Errorf("%s: counted %t, %v, want a dead letter: %s", value, found, dead, want)
		}
	}
}
