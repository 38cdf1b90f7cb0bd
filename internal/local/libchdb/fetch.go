package libchdb

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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Fetch makes sure that the pinned library is in dir (see Path) and returns
// its path. A library that is there is hashed (about half a second) and kept
// if the digest is right; otherwise the package is fetched with `npm pack`,
// checked, unpacked and put in place by a rename, so no other process ever
// sees half a file. Parallel calls wait for each other. Progress goes to log,
// in lines.
func Fetch(ctx context.Context, dir string, log io.Writer) (string, error) {
	rel, ok := releases[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("libchdb: the engine is not published for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return fetch(ctx, dir, log, rel, npmPack)
}

// fetch is Fetch with the release and the downloader as arguments.
func fetch(ctx context.Context, dir string, log io.Writer, rel release, pack packer) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, ".lock"), log)
	if err != nil {
		return "", fmt.Errorf("libchdb: %w", err)
	}
	defer unlock()

	path := Path(dir)
	if isFile(path) == nil {
		got, err := digestFile(path, sha256.New())
		if rel.library == "" || err == nil && hex.EncodeToString(got) == rel.library {
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
	fmt.Fprintf(log, "engine: fetching %s@%s (%d MB, once)\n", rel.pkg, Version, rel.bytes/1e6)
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
			return "", fmt.Errorf("libchdb: %s@%s has sha512-%s, want sha512-%s", rel.pkg, Version, sum, rel.tarball)
		}
	}
	fmt.Fprintln(log, "engine: unpacking")
	library := filepath.Join(tmp, File)
	sum, err := unpack(tarball, library)
	if err != nil {
		return "", fmt.Errorf("libchdb: unpack %s: %w", rel.pkg, err)
	}
	if rel.library != "" && sum != rel.library {
		return "", fmt.Errorf("libchdb: %s in %s@%s has sha256 %s, want %s", File, rel.pkg, Version, sum, rel.library)
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
		return "", fmt.Errorf("npm (part of Node.js) is needed to fetch the engine; without it, set %s to the path of a %s: %w", Env, File, err)
	}
	cmd := exec.CommandContext(ctx, npm, "pack", rel.pkg+"@"+Version, "--pack-destination", dir, "--cache", filepath.Join(dir, "npm"), "--loglevel", "error")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm pack %s@%s: %w\n%s", rel.pkg, Version, err, strings.TrimSpace(stderr.String()))
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack %s@%s left %d tarballs", rel.pkg, Version, len(found))
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
			return "", fmt.Errorf("no package/%s in it", File)
		}
		if err != nil {
			return "", err
		}
		if head.Name == "package/"+File && head.Typeflag == tar.TypeReg {
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
