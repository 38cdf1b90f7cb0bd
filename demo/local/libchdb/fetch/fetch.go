// Command fetch gets the pinned ClickHouse engine into the checkout, once.
// It is what `make engine` runs; it prints the library's path on stdout and
// everything else on stderr.
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
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"weir/demo/local/libchdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
	fmt.Println(path)
}

// run fetches the library into the checkout that holds the working directory.
func run(ctx context.Context) (string, error) {
	rel, ok := releases[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("libchdb: the engine is not published for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return "", fmt.Errorf("libchdb: run it in the root of the checkout: %w", err)
	}
	dir, err := filepath.Abs(libchdb.Dir)
	if err != nil {
		return "", err
	}
	return fetch(ctx, dir, os.Stderr, rel, npmPack)
}

// release is one platform's package.
type release struct {
	pkg string // npm package
	// tarball is the SHA-512 of the packed package in base64, as npm writes
	// it after "sha512-"; library the SHA-256 of the library in hex. Where
	// they are empty nothing is pinned: npm's own integrity check stands for
	// the download.
	tarball, library string
	bytes            int64 // size of the packed package, to be told
}

// releases by GOOS/GOARCH. The package for arm64 is published under the same
// version, but no copy of it was at hand to compute its digests.
var releases = map[string]release{
	"linux/amd64": {
		pkg:     "@chdb/lib-linux-x64-gnu",
		tarball: "XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
		library: "36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5",
		bytes:   177_817_999,
	},
	"linux/arm64": {pkg: "@chdb/lib-linux-arm64-gnu", bytes: 170_000_000},
}

// fetch makes sure that the pinned library is in dir (see libchdb.Path) and returns
// its path. A library that is there is hashed (about half a second) and kept
// if the digest is right; otherwise the package is got from pack,
// checked, unpacked and put in place by a rename, so no other process ever
// sees half a file. Parallel calls wait for each other. Progress goes to log,
// in lines.
func fetch(ctx context.Context, dir string, log io.Writer, rel release, pack packer) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, ".lock"), log)
	if err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	defer unlock()

	path := libchdb.Path(dir)
	if got, err := digestFile(path, sha256.New()); !errors.Is(err, fs.ErrNotExist) {
		if err == nil && (rel.library == "" || hex.EncodeToString(got) == rel.library) {
			return path, nil
		}
		fmt.Fprintf(log, "engine: %s is damaged (sha256 %x); fetching it again\n", path, got)
	}

	// Remove what a killed run has left. No other process uses it: this one holds
	// the lock.
	stale, _ := filepath.Glob(filepath.Join(dir, "fetch-*"))
	for _, s := range stale {
		os.RemoveAll(s)
	}
	tmp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	defer os.RemoveAll(tmp)

	start := time.Now()
	fmt.Fprintf(log, "engine: fetching %s@%s (%d MB, once)\n", rel.pkg, libchdb.Version, rel.bytes/1e6)
	tarball, err := pack(ctx, rel, tmp)
	if err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	if rel.tarball != "" {
		got, err := digestFile(tarball, sha512.New())
		if err != nil {
			return "", fmt.Errorf("libchdb: %w", err)
		}
		if sum := base64.StdEncoding.EncodeToString(got); sum != rel.tarball {
			return "", fmt.Errorf("libchdb: %s@%s has sha512-%s, want sha512-%s", rel.pkg, libchdb.Version, sum, rel.tarball)
		}
	}
	fmt.Fprintln(log, "engine: unpacking")
	library := filepath.Join(tmp, libchdb.File)
	sum, err := unpack(tarball, library)
	if err != nil {
		return "", fmt.Errorf("libchdb: unpack %s: %w", rel.pkg, err)
	}
	if rel.library != "" && sum != rel.library {
		return "", fmt.Errorf("libchdb: %s in %s@%s has sha256 %s, want %s", libchdb.File, rel.pkg, libchdb.Version, sum, rel.library)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	if err := os.Rename(library, path); err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	fmt.Fprintf(log, "engine: %s (sha256 %s), %.1f s\n", path, sum, time.Since(start).Seconds())
	return path, nil
}

// A packer downloads a release into dir and returns the tarball's path.
type packer func(ctx context.Context, rel release, dir string) (string, error)

// npmPack downloads with the npm client, so that the user's registry, proxy and
// credentials apply. npm gets a cache of its own inside dir. That keeps 170 MB
// out of the user's cache.
func npmPack(ctx context.Context, rel release, dir string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("npm (part of Node.js) is needed to fetch the engine; without it, set %s to the path of a %s: %w", libchdb.Env, libchdb.File, err)
	}
	cmd := exec.CommandContext(ctx, npm, "pack", rel.pkg+"@"+libchdb.Version, "--pack-destination", dir, "--cache", filepath.Join(dir, "npm"), "--loglevel", "error")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm pack %s@%s: %w\n%s", rel.pkg, libchdb.Version, err, strings.TrimSpace(stderr.String()))
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack %s@%s left %d tarballs", rel.pkg, libchdb.Version, len(found))
	}
	return found[0], nil
}

// unpack writes the library from an npm tarball to path, flushed to disk, and
// returns its SHA-256 in hex.
func unpack(tarball, path string) (string, error) {
	in, err := os.Open(tarball)
	if err != nil {
		return "", err
	}
	defer in.Close()
	gz, err := gzip.NewReader(in)
	if err != nil {
		return "", err
	}
	tr := tar.NewReader(gz)
	for {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("no package/%s in it", libchdb.File)
		}
		if err != nil {
			return "", err
		}
		if head.Name == "package/"+libchdb.File && head.Typeflag == tar.TypeReg {
			break
		}
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	defer out.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, sum), tr); err != nil {
		return "", err
	}
	if err := out.Sync(); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), out.Close()
}

// lock takes an exclusive lock that the kernel drops with the process.
func lock(path string, log io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		fmt.Fprintln(log, "engine: waiting for another run that is fetching it")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			f.Close()
			return nil, err
		}
	}
	return func() { f.Close() }, nil
}

func digestFile(path string, sum hash.Hash) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}
