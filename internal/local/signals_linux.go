package local

import (
	"syscall"
	"unsafe"
)

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
