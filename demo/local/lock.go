package local

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir makes dir and locks it for this process, as that of a broker or an engine; the
// kernel releases the lock when the process ends.
func lockDir(dir, of string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is used by another %s: %w", dir, of, err)
	}
	return f, nil
}
