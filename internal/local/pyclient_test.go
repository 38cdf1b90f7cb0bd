package local_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/local/localtest"
)

// TestPythonClient runs ClickHouse's Python client against the engine. The
// checks are in testdata/client.py.
func TestPythonClient(t *testing.T) {
	python, err := filepath.Abs("../../.cache/pyclient/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("clickhouse-connect is not here; `make tools` installs it once: %v", err)
	}
	url, db := localtest.Engine(t)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", host, port, db).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%v\n%s", err, out)
	}
}
