package local

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memoryFile makes an anonymous file in memory. The engine opens it under
// /proc/self/fd, which it can: it is the same process.
func memoryFile() (f *os.File, path string, err error) {
	fd, err := unix.MemfdCreate("weir", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, "", os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "weir"), fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

// machineMemory is the size of the machine's memory in bytes.
func machineMemory() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, os.NewSyscallError("sysinfo", err)
	}
	return int64(info.Totalram) * int64(info.Unit), nil
}

// dieWithParent makes the kernel kill a child when the thread that started it
// ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// faults are the signals that Go turns into panics and that the engine resets
// to their default when it starts, even when told to leave signals alone.
var faults = []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGPIPE}

// saveSignals notes how this process handles faults; the returned function
// puts that back. So a nil pointer in the front stays a panic, which net/http
// answers for one request, and a crash inside the engine prints where.
func saveSignals() (restore func()) {
	// The kernel's struct sigaction: handler, flags, restorer, mask.
	type action [4]uint64
	saved := make([]action, len(faults))
	for i, sig := range faults {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&saved[i])), 8, 0, 0)
	}
	return func() {
		for i, sig := range faults {
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&saved[i])), 0, 8, 0, 0)
		}
	}
}
