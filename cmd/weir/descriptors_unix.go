//go:build unix

package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles returns how many files the process may have open. Go has raised it to what
// the system allows.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) //nolint:unconvert // int64 on FreeBSD
}
