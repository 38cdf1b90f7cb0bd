//go:build profile

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// A build with the tag profile writes a CPU profile of the process, and a heap profile of its
// end, into the directory that WEIR_PROFILE names. A usual build has none of this.
func profiled(run func() int) int {
	dir := os.Getenv("WEIR_PROFILE")
	if dir == "" {
		return run()
	}
	name := filepath.Join(dir, fmt.Sprint(os.Getpid()))
	cpu, err := os.Create(name + ".cpu")
	if err == nil {
		err = pprof.StartCPUProfile(cpu)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitFailed
	}
	code := run()
	pprof.StopCPUProfile()
	heap, err := os.Create(name + ".heap")
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(heap), heap.Close(), cpu.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return code
}

func init() { runtime.MemProfileRate = 64 << 10 }
