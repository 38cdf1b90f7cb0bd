package redis

import (
	"strconv"
	"testing"

	"weir/internal/redistest"
)

// TestBloom sends the commands of RedisBloom's own tests
// (tests/flow/test_overall.py) to a server.
func TestBloom(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	expect(t, c, "OK", "BF.RESERVE", "a", "0.01", "10")
	expect(t, c, redistest.Error("ERR item exists"), "BF.RESERVE", "a", "0.01", "10")
	for i := range 100 {
		do(t, c, "BF.ADD", "a", i)
	}
	expect(t, c, 99, "BF.CARD", "a")
	expect(t, c, []any{"Capacity", int64(150), "Size", int64(32 + 64*4 + 16 + 32 + 72 + 160), "Number of filters", int64(4),
		"Number of items inserted", int64(99), "Expansion rate", int64(2)}, "BF.INFO", "a")
	expect(t, c, redistest.Error("ERR not found"), "BF.INFO", "none")

	expect(t, c, "OK", "BF.RESERVE", "b", "0.001", "100")
	batch := []any{"BF.MADD", "b"}
	for i := range 4000 {
		batch = append(batch, strconv.Itoa(i))
	}
	added := int64(0)
	for _, r := range do(t, c, batch...).([]any) {
		added += r.(int64)
	}
	if added != 3997 {
		t.Errorf("%d of 4,000 were new, want 3,997", added)
	}

	// Arguments.
	for _, x := range []struct{ err, line string }{
		{"ERR bad error rate", "k x 10"},
		{"ERR error rate must be in the range (0.000000, 1.000000)", "k 1 10"},
		{"ERR bad capacity", "k 0.1 x"},
		{"ERR capacity must be in the range [1, 1073741824]", "k 0.1 0"},
		{"ERR no expansion", "k 0.1 10 EXPANSION"},
		{"ERR bad expansion", "k 0.1 10 EXPANSION x"},
		{"ERR expansion must be in the range [0, 32768]", "k 0.1 10 EXPANSION 32769"},
		{"Nonscaling filters cannot expand", "k 0.1 10 NONSCALING EXPANSION 2"},
	} {
		expect(t, c, redistest.Error(x.err), append([]any{"BF.RESERVE"}, anys(fields(x.line))...)...)
	}
	expect(t, c, "OK", "BF.RESERVE", "full", "0.01", "2", "NONSCALING")
	expect(t, c, []any{int64(1), int64(1), redistest.Error("ERR non scaling filter is full")}, "BF.MADD", "full", "x", "y", "z", "w")
	expect(t, c, 0, "BF.ADD", "full", "x")
	expect(t, c, redistest.Error("ERR non scaling filter is full"), "BF.ADD", "full", "z")
	if info := do(t, c, "BF.INFO", "full").([]any); info[9] != nil {
		t.Errorf("BF.INFO of a filter that does not grow: %v", info)
	}

	// Other types.
	do(t, c, "SET", "s", "x")
	expect(t, c, redistest.Error(errType), "BF.ADD", "s", "x")
	expect(t, c, redistest.Error(errType), "BF.CARD", "s")
	expect(t, c, redistest.Error(errType), "GET", "a")
	expect(t, c, 0, "BF.EXISTS", "s", "x")
	expect(t, c, []any{int64(0), int64(0)}, "BF.MEXISTS", "none", "x", "y")
	expect(t, c, "MBbloom--", "TYPE", "a")
	expect(t, c, 0, "BF.CARD", "none")
}
