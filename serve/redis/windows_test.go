package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"weir/internal/redistest"
	"weir/serve/key"
	"weir/serve/live"
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

// fakeWindows is a job with one window.
type fakeWindows struct {
	values map[string]any // what the answers hold
}

func (f *fakeWindows) Lookup(_ context.Context, k key.Key) (live.Answer, error) {
	if k.Job == "broken" {
		return live.Answer{}, errors.New("ClickHouse does not answer")
	}
	k.From, k.To = key.Point{}, key.Point{}
	return live.Answer{Value: f.values[k.String()]}, nil
}

func (f *fakeWindows) Keys(context.Context) (all []key.Key, err error) {
	for text := range f.values {
		k, err := key.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

func newFakeWindows() *fakeWindows {
	users, active, seen, places := new(hll.Sketch), new(bitmap.Activity), bloom.New(1000, 0.01), new(geo.Set)
	for i := range 5000 {
		users.Add([]byte("u" + strconv.Itoa(i)))
	}
	for _, v := range []uint32{1, 5, 1000} {
		active.Add(v)
	}
	seen.Add(bloom.Hash([]byte("anna")))
	places.Add([]byte("Palermo"), 13.361389, 38.115556)
	places.Add([]byte("Catania"), 15.087269, 37.502669)
	return &fakeWindows{values: map[string]any{
		"w:clicks:hits:now:/p/1":   live.Count(12345),
		"w:clicks:users:now:/p/1":  users,
		"w:clicks:active:now:/p/1": active,
		"w:clicks:seen:now:/p/1":   seen,
		"w:trips:places:now:*":     places,
	}}
}

// TestWindows: each command that reads window keys answers, and none writes one.
func TestWindows(t *testing.T) {
	w := newFakeWindows()
	users := int(w.values["w:clicks:users:now:/p/1"].(*hll.Sketch).Count())
	_, addr := start(t, Config{Windows: w})
	c := dial(t, addr)
	expect(t, c, "12345", "GET", "w:clicks:hits:now:/p/1")
	expect(t, c, users, "PFCOUNT", "w:clicks:users:now:/p/1")
	expect(t, c, users, "PFCOUNT", "w:clicks:users:-60..now:/p/1")
	expect(t, c, users, "PFCOUNT", "w:clicks:users:now:/p/1", "w:clicks:users:-1:/p/1")
	do(t, c, "PFADD", "mine", "u1", "u2", "nobody")
	both := do(t, c, "PFCOUNT", "mine", "w:clicks:users:now:/p/1").(int64)
	if both < int64(users) || both > int64(users)+2 {
		t.Errorf("with a scratch key there are %d, without %d", both, users)
	}
	expect(t, c, "OK", "PFMERGE", "copy", "mine", "w:clicks:users:now:/p/1")
	expect(t, c, both, "PFCOUNT", "copy")
	expect(t, c, "OK", "PFMERGE", "exact", "w:clicks:users:now:/p/1")
	expect(t, c, do(t, c, "GET", "w:clicks:users:now:/p/1"), "GET", "exact")

	const active = "w:clicks:active:now:/p/1"
	expect(t, c, 3, "BITCOUNT", active)
	expect(t, c, 2, "BITCOUNT", active, 0, 0)
	expect(t, c, 1, "GETBIT", active, 1000)
	expect(t, c, 0, "GETBIT", active, 4294967296-1)
	expect(t, c, 1, "BITPOS", active, 1)
	expect(t, c, 5, "BITPOS", active, 1, 2, -1, "BIT")
	expect(t, c, 126, "STRLEN", active)
	expect(t, c, 126, "BITOP", "OR", "copy", active, "none")
	expect(t, c, do(t, c, "GET", active), "GET", "copy")
	expect(t, c, []any{int64(1)}, "BITFIELD_RO", active, "GET", "u1", "5")

	const seen = "w:clicks:seen:now:/p/1"
	expect(t, c, 1, "BF.EXISTS", seen, "anna")
	expect(t, c, []any{int64(1), int64(0)}, "BF.MEXISTS", seen, "anna", "boris")
	expect(t, c, redistest.Error("ERR not of a window key: ask BF.EXISTS or BF.MEXISTS"), "BF.CARD", seen)

	const places = "w:trips:places:now:*"
	expect(t, c, "166274.1516", "GEODIST", places, "Palermo", "Catania")
	expect(t, c, []any{"sqc8b49rny0"}, "GEOHASH", places, "Palermo")
	expect(t, c, []any{"Catania"}, "GEOSEARCH", places, "FROMLONLAT", 15, 37, "BYRADIUS", 100, "km")
	expect(t, c, 2, "GEOSEARCHSTORE", "near", places, "FROMLONLAT", 15, 37, "BYRADIUS", 300, "km")
	expect(t, c, 2, "ZCARD", places)
	expect(t, c, "3479099956230698", "ZSCORE", places, "Palermo")

	for key, kind := range map[string]string{"w:clicks:hits:now:/p/1": "string", "w:clicks:users:now:/p/1": "string", seen: "MBbloom--", places: "zset", "w:clicks:users:now:none": "none"} {
		expect(t, c, kind, "TYPE", key)
	}
	expect(t, c, -1, "TTL", places)
	expect(t, c, 2, "EXISTS", places, seen, "w:clicks:users:now:none")
	expect(t, c, redistest.Error(errType), "GET", places)
	expect(t, c, redistest.Error(errType), "PFCOUNT", places)
	expect(t, c, redistest.Error("WRONGTYPE Key is not a valid HyperLogLog string value."), "PFCOUNT", "w:clicks:hits:now:/p/1")

	expect(t, c, redistest.Error(`ERR not a window: "today"; want a start such as 20261120T1005Z, now, -3, or a range from..to of these`), "GET", "w:clicks:hits:today")
	expect(t, c, redistest.Error("ERR ClickHouse does not answer"), "GET", "w:broken:hits:now")
	for _, write := range [][]any{
		{"SET", places, "x"}, {"DEL", "a", places}, {"PFADD", places, "x"}, {"PFMERGE", places, "mine"}, {"SETBIT", active, 1, 1},
		{"BITOP", "OR", active, "mine"}, {"GEOADD", places, 1, 1, "x"}, {"EXPIRE", places, 10},
		{"GEOSEARCHSTORE", places, "near", "FROMLONLAT", 15, 37, "BYRADIUS", 300, "km"}, {"GEORADIUS", places, 15, 37, 300, "km", "STORE", "w:x"},
		{"BF.ADD", seen, "x"}, {"CL.THROTTLE", "w:x", 1, 1, 1}, {"PFDEBUG", "TODENSE", "w:clicks:users:now:/p/1"}, {"DELEX", "w:x", "IFEQ", "y"},
		{"EVAL", scriptTexts[0].text, 1, "w:x", "y"},
	} {
		expect(t, c, redistest.Error(errReadOnlyWindow), write...)
	}
	// A search that stores nothing may read one.
	expect(t, c, []any{"Catania"}, "GEORADIUS", places, 15, 37, 100, "km")
	expect(t, c, 1, "GEORADIUS", places, 15, 37, 100, "km", "STORE", "near")
}

// TestWindowsInTransactions: EXEC reads window keys like scratch keys, and
// runs nothing if one cannot be had.
func TestWindowsInTransactions(t *testing.T) {
	w := newFakeWindows()
	_, addr := start(t, Config{Windows: w})
	c := dial(t, addr)
	do(t, c, "MULTI")
	expect(t, c, "QUEUED", "GET", "w:clicks:hits:now:/p/1")
	expect(t, c, "QUEUED", "SET", "a", "1")
	expect(t, c, []any{"12345", "OK"}, "EXEC")
	do(t, c, "MULTI")
	expect(t, c, "QUEUED", "SET", "a", "2")
	expect(t, c, "QUEUED", "GET", "w:broken:hits:now")
	expect(t, c, redistest.Error("EXECABORT Transaction discarded because of: ERR ClickHouse does not answer"), "EXEC")
	expect(t, c, "1", "GET", "a")
	do(t, c, "MULTI")
	expect(t, c, redistest.Error(errReadOnlyWindow), "SET", "w:clicks:hits:now:/p/1", "x")
	expect(t, c, redistest.Error("EXECABORT Transaction discarded because of previous errors."), "EXEC")

	// In a pipeline the order stays.
	for i := range 20 {
		if err := errors.Join(c.Send("SET", "n", i), c.Send("GET", "w:clicks:hits:now:/p/1"), c.Send("GET", "n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		for _, want := range []string{"OK", "12345", strconv.Itoa(i)} {
			if r, err := c.Receive(); r != want || err != nil {
				t.Fatalf("turn %d: %v, %v; want %s", i, r, err, want)
			}
		}
	}
}

// TestWindowsListed: KEYS and SCAN show both kinds, each key once.
func TestWindowsListed(t *testing.T) {
	w := newFakeWindows()
	for i := range 300 {
		w.values[fmt.Sprintf("w:clicks:hits:now:/p/%d", i)] = live.Count(i + 1)
	}
	_, addr := start(t, Config{Windows: w})
	c := dial(t, addr)
	for i := range 50 {
		do(t, c, "SET", i, "x")
	}
	all := len(w.values) + 50
	if got := do(t, c, "KEYS", "*").([]any); len(got) != all {
		t.Errorf("KEYS: %d keys, want %d", len(got), all)
	}
	if got := do(t, c, "KEYS", "w:trips:*").([]any); len(got) != 1 || got[0] != "w:trips:places:now:*" {
		t.Errorf("KEYS w:trips:*: %v", got)
	}
	var got []string
	for cursor, turn := "0", 0; turn == 0 || cursor != "0"; turn++ {
		r := do(t, c, "SCAN", cursor, "COUNT", 9).([]any)
		cursor = r[0].(string)
		for _, k := range r[1].([]any) {
			got = append(got, k.(string))
		}
	}
	slices.Sort(got)
	if len(got) != all || len(slices.Compact(got)) != all {
		t.Errorf("SCAN: %d keys, %d different; want %d", len(got), len(slices.Compact(got)), all)
	}
	expect(t, c, 50, "DBSIZE")
}
