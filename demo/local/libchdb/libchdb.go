// Package libchdb finds the shared library that holds ClickHouse's
// engine. It is published as the npm packages @chdb/lib-<platform>, about
// 170 MB packed and 570 MB unpacked, under Apache-2.0; weir does not
// redistribute it. One version is pinned, by checksum.
//
// Its command fetch gets it, which `make engine` runs.
//
// The package imports the standard library only and never loads what it finds.
package libchdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Version is the pinned version of the npm package. It carries ClickHouse 26.7.
const Version = "26.7.3-stable.1"

// Env is the environment variable that names the library's file and thereby
// overrides every other place.
const Env = "WEIR_ENGINE"

// File is the library's name inside its directory and inside the package.
const File = "libchdb.so"

// Dir is where a checkout keeps fetched engines, relative to its root.
const Dir = ".cache/engine"

// ErrMissing is returned by Find when the library is nowhere to be found.
var ErrMissing = errors.New("libchdb: the ClickHouse engine is not here; `make engine` fetches it once (170 MB), or set " + Env + " to the path of " + File)

// Path returns where the library of this version and platform lives below an
// engine directory such as <checkout>/.cache/engine.
func Path(dir string) string {
	return filepath.Join(dir, Version+"-"+runtime.GOOS+"-"+runtime.GOARCH, File)
}

// Find returns the library's path. It looks, in this order, at $WEIR_ENGINE;
// beside the executable; in .cache/engine of the working directory and of every
// directory above it; and the same from the executable's directory. If
// WEIR_ENGINE is set and names no file, Find returns an error instead of using
// another library.
func Find() (string, error) {
	if path := os.Getenv(Env); path != "" {
		if err := isFile(path); err != nil {
			return "", fmt.Errorf("libchdb: %s: %w", Env, err)
		}
		return path, nil
	}
	var roots []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dir := filepath.Dir(exe)
		if path := filepath.Join(dir, File); isFile(path) == nil {
			return path, nil
		}
		roots = append(roots, dir)
	}
	if wd, err := os.Getwd(); err == nil {
		roots = append([]string{wd}, roots...)
	}
	for _, root := range roots {
		for dir := root; ; dir = filepath.Dir(dir) {
			if path := Path(filepath.Join(dir, Dir)); isFile(path) == nil {
				return path, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", ErrMissing
}

func isFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	return nil
}
