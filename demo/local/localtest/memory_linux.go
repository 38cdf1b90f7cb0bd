package localtest

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// temporary makes the engine's directory. It lies in memory if two gigabytes are
// free there: tests make and drop thousands of small files, which on disk takes a
// quarter of the engine's time. The process holds a lock on its directory. A
// directory without a lock is left from a killed run, and temporary removes it,
// because it takes memory.
func temporary() (string, error) {
	const memory = "/dev/shm"
	var free unix.Statfs_t
	if unix.Statfs(memory, &free) != nil || free.Type != unix.TMPFS_MAGIC || free.Bavail*uint64(free.Bsize) < 2<<30 {
		return os.MkdirTemp("", pattern)
	}
	left, _ := filepath.Glob(filepath.Join(memory, pattern))
	for _, dir := range left {
		// A younger directory may not have its lock yet.
		if info, err := os.Stat(dir); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if d, err := lock(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = d.Close()
		}
	}
	dir, err := os.MkdirTemp(memory, pattern)
	if err != nil { // no permission to open it
		return os.MkdirTemp("", pattern)
	}
	held, err = lock(dir)
	return dir, err
}

var held *os.File // the lock ends with the process

func lock(dir string) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}
