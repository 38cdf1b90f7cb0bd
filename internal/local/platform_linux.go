package local

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile makes an anonymous file in memory. The engine runs in the same
// process, so it can open the file under /proc/self/fd.
func memoryFile() (f *os.File, path string, err error) {
	fd, err := unix.MemfdCreate("weir", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, "", os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "weir"), fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

// machineMemory returns the size of the machine's memory in bytes.
func machineMemory() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, os.NewSyscallError("sysinfo", err)
	}
	return int64(info.Totalram) * int64(info.Unit), nil
}
