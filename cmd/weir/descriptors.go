package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// The listeners divide what the limit of open files (ulimit -n) leaves. A flood of one of them
// cannot take the descriptors of health checks, Kafka and ClickHouse.
const (
	ownFiles    = 64 // of the process: files, pollers, the standard streams, what is being accepted
	filesPerJob = 8  // connections to brokers and to ClickHouse, at most; more are seldom

	httpMost = 1280
	respMost = 16384
)

// divideFiles returns how many connections each listener may have, of so many files.
func divideFiles(files uint64, jobs int) (http, resp int) {
	left := int(min(files, math.MaxInt32)) - ownFiles - filesPerJob*jobs
	http = min(max(left/4, 8), httpMost)
	return http, min(max(left-http, 8), respMost)
}

// connectionLimits divides the files that this process may open, and says so if the limit binds.
func connectionLimits(log *slog.Logger, jobs int) (http, resp int) {
	files := uint64(math.MaxUint64)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil { // Go has raised it to what the system allows
		files = uint64(limit.Cur) //nolint:unconvert // int64 on FreeBSD
	}
	http, resp = divideFiles(files, jobs)
	if resp < respMost || http < httpMost {
		log.Warn("the limit of open files bounds the connections; raise it with ulimit -n, or LimitNOFILE of systemd",
			"limit", files, "http", http, "redis", resp)
	}
	return http, resp
}

// keepTo has the garbage collector work harder before the memory of a process that keeps so
// much in it grows beyond half as much again: left alone, it would let it double. GOMEMLIMIT of
// the environment wins. The promise is half as much again and 64 MiB, as the system counts:
// these 64 MiB have room for the pages of the program's file, which the collector does not
// count, and for memory that it gives back late.
func keepTo(memory int64) {
	const program = 20 << 20
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memory + memory/2 + program)
	}
}
