package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/demo/local/libchdb"
)

const library = "pretend this is a library"

// tarball packs files as npm does.
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w.Close()
	gz.Close()
	return b.Bytes()
}

// shop is a fake registry with one package.
type shop struct {
	rel   release
	ball  []byte
	sold  atomic.Int64
	delay time.Duration
	fail  error
}

func newShop(t *testing.T) *shop {
	ball := tarball(t, map[string]string{"package/package.json": "{}", "package/" + libchdb.File: library})
	sum := sha512.Sum512(ball)
	lib := sha256.Sum256([]byte(library))
	return &shop{ball: ball, rel: release{
		pkg: "@test/lib", bytes: int64(len(ball)),
		tarball: base64.StdEncoding.EncodeToString(sum[:]), library: hex.EncodeToString(lib[:]),
	}}
}

func (s *shop) pack(_ context.Context, _ release, dir string) (string, error) {
	s.sold.Add(1)
	time.Sleep(s.delay)
	if s.fail != nil {
		return "", s.fail
	}
	path := filepath.Join(dir, "lib.tgz")
	return path, os.WriteFile(path, s.ball, 0o644)
}

func (s *shop) fetch(dir string) (string, error) {
	return fetch(context.Background(), dir, io.Discard, s.rel, s.pack)
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFetchOnce(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	for range 3 {
		path, err := s.fetch(dir)
		if err != nil {
			t.Fatal(err)
		}
		if path != libchdb.Path(dir) || content(t, path) != library {
			t.Errorf("%s holds %q", path, content(t, path))
		}
	}
	if n := s.sold.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "fetch-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFetchReplacesDamage(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	for name, damage := range map[string]func(path string) error{
		"flipped bit": func(path string) error {
			b := []byte(library)
			b[3] ^= 1
			return os.WriteFile(path, b, 0o644)
		},
		"cut short": func(path string) error { return os.Truncate(path, 5) },
		"gone":      os.Remove,
	} {
		path, err := s.fetch(dir)
		if err != nil {
			t.Fatal(err)
		}
		before := s.sold.Load()
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		if path, err = s.fetch(dir); err != nil || content(t, path) != library {
			t.Errorf("%s: %v", name, err)
		}
		if s.sold.Load() != before+1 {
			t.Errorf("%s: not fetched again", name)
		}
	}
}

func TestFetchRefuses(t *testing.T) {
	for name, spoil := range map[string]struct {
		how  func(t *testing.T, s *shop)
		want string
	}{
		"another tarball": {func(t *testing.T, s *shop) { s.ball = append(bytes.Clone(s.ball), 0) }, "want sha512-"},
		"another library": {func(_ *testing.T, s *shop) { s.rel.library = strings.Repeat("0", 64) }, "want 0000"},
		"no library in it": {func(t *testing.T, s *shop) {
			s.ball = tarball(t, map[string]string{"package/x": "y"})
			s.rel.tarball = ""
		}, "no package/libchdb.so"},
		"no tarball at all":     {func(_ *testing.T, s *shop) { s.ball = []byte("<html>"); s.rel.tarball = "" }, "unpack"},
		"a download that fails": {func(_ *testing.T, s *shop) { s.fail = errors.New("no network") }, "no network"},
	} {
		s, dir := newShop(t), t.TempDir()
		spoil.how(t, s)
		if _, err := s.fetch(dir); err == nil || !strings.Contains(err.Error(), spoil.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(libchdb.Path(dir)); err == nil {
			t.Errorf("%s: the library is in place", name)
		}
	}
}

func TestFetchParallel(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	s.delay = 50 * time.Millisecond
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			path, err := s.fetch(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != library {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	wg.Wait()
	if n := s.sold.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}
