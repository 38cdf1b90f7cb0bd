package localtest

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// temporary makes the engine's directory: in memory where two gigabytes of it are
// free, for tests make and drop thousands of small files, and a file system on
// disk takes a quarter of the engine's time for that. A lock on the directory
// says that its process lives; a run that was killed left it without, and it is
// removed here, since it takes memory.
func temporary() (string, error) {
	const memory = "/dev/shm"
	var free unix.Statfs_t
	if unix.Statfs(memory, &free) != nil || free.Type != unix.TMPFS_MAGIC || free.Bavail*uint64(free.Bsize) < 2<<30 {
		return os.MkdirTemp("", pattern)
	}
	left, _ := filepath.Glob(filepath.Join(memory, pattern))
	for _, dir := range left {
		// One that is younger may not have its lock yet.
		if info, err := os.Stat(dir); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if d, err := lock(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = d.Close()
		}
	}
	dir, err := os.MkdirTemp(memory, pattern)
	if err != nil { // not ours to write to
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
