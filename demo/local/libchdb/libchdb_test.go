package libchdb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const library = "pretend this is a library"

func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	t.Setenv(Env, "")
	place := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(library), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := Find(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make engine") {
		t.Fatalf("nowhere: %q, %v", path, err)
	}
	above := Path(filepath.Join(root, Dir))
	place(above)
	if got, err := Find(); err != nil || !same(got, above) {
		t.Errorf("above: %q, %v", got, err)
	}
	near := Path(filepath.Join(deep, Dir))
	place(near)
	if got, err := Find(); err != nil || !same(got, near) {
		t.Errorf("nearer: %q, %v", got, err)
	}
	named := filepath.Join(root, "mine.so")
	t.Setenv(Env, named)
	if _, err := Find(); err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), Env) {
		t.Errorf("%s names nothing: %v", Env, err)
	}
	place(named)
	if got, err := Find(); err != nil || got != named {
		t.Errorf("named: %q, %v", got, err)
	}
	t.Setenv(Env, root)
	if _, err := Find(); err == nil {
		t.Error("a directory passes for the library")
	}
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
