//go:build prove

package weir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImageBinary builds the image's binary as the Dockerfile does, without .git: it is
// small, prints its version, and says that it has no engine. In make test: TestImageIsStatic.
func TestImageBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "weir")
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "static", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3 -X main.revision=0123abcd", "-o", binary, "./cmd/weir")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 38_000_000 {
		t.Errorf("the binary has %d bytes; it is to stay below 38 MB, and the image below 40", info.Size())
	}
	run := func(args ...string) string {
		c := exec.Command(binary, args...)
		c.Dir = t.TempDir()
		out, _ := c.CombinedOutput()
		return string(out)
	}
	if said := run("--version"); !strings.HasPrefix(said, "weir v1.2.3 (0123abcd, go") {
		t.Errorf("weir --version: %s", said)
	}
	if said := run("up"); !strings.Contains(said, "without the embedded engine") || !strings.Contains(said, "weir run") {
		t.Errorf("weir up: %s", said)
	}
}
