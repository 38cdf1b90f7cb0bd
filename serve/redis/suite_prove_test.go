//go:build prove

package redis

import (
	"net"
	"os"
	osexec "os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestRedisSuite runs Redis 7.0's own tests for HyperLogLog, bitmaps, BITFIELD, positions
// and strings, but for those of commands that are not served. In `make test`,
// TestSameAsRedis stands for it.
func TestRedisSuite(t *testing.T) {
	t.Parallel()
	const dir = "../../.cache/redis-suite"
	if _, err := os.Stat(dir + "/done"); err != nil {
		t.Fatalf("Redis's own tests are not here; internal/redistest/suite.sh fetches them once: %v", err)
	}
	_, addr := start(t, Config{})
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"unit/hyperloglog": 20, "unit/bitops": 45, "unit/bitfield": 16, "unit/geo": 59, "unit/type/string": 50}
	// The suite asks for encodings of Redis's own, for other databases, and for replicas.
	args := []string{"tests/test_helper.tcl", "--host", host, "--port", port, "--clients", "1", "--durable", "--singledb", "--ignore-encoding", "--tags", "-needs:repl",
		"--skiptest", "/^(GETEX|GETSET|LCS|MGET|MSET)"}
	for unit := range want {
		args = append(args, "--single", unit)
	}
	cmd := osexec.CommandContext(t.Context(), "tclsh", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	said := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(string(out), "")
	if err != nil {
		t.Errorf("%v: %.2000s", err, said)
	}
	unit, passed := "", map[string]int{}
	for line := range strings.Lines(said) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "Testing":
			unit = rest
		case "[ok]:":
			passed[unit]++
		case "[err]:", "[exception]:":
			t.Error(line)
		}
	}
	for unit, n := range want {
		if passed[unit] != n {
			t.Errorf("%d tests of %s passed, want %d", passed[unit], unit, n)
		}
	}
}
