package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// machineMemory returns the size of the machine's memory in bytes.
func machineMemory() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, os.NewSyscallError("sysinfo", err)
	}
	return int64(info.Totalram) * int64(info.Unit), nil
}
