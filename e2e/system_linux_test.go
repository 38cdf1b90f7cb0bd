package e2e

import (
	"fmt"
	"syscall"
)

// dieWithTest has the kernel kill a process when the test binary is gone.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// mountDisk puts a file system of that size over a directory.
func mountDisk(dir string, size int64) error {
	return syscall.Mount("weir-e2e", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size))
}

// unmountDisk unmounts it, at the latest when no process uses it any more.
func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
