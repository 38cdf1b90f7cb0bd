//go:build profile

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"time"
)

// A build with the tag profile writes what docs/performance.md takes apart into the
// directory that WEIR_PROFILE names: a CPU profile of the process, a heap profile of the
// moment of its greatest heap, and how the runtime and the kernel counted its memory
// then. A usual build has none of this.
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
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		watchHeap(name, stop)
	}()
	code := run()
	close(stop)
	<-stopped
	pprof.StopCPUProfile()
	_ = cpu.Close()
	return code
}

// watchHeap writes the heap profile anew whenever the memory in use is a twentieth
// greater than ever before.
func watchHeap(name string, stop <-chan struct{}) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/metadata/other:bytes"}, {Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/profiling/buckets:bytes"}, {Name: "/memory/classes/other:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"},
	}
	var peak uint64
	for {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
		}
		metrics.Read(samples)
		now := samples[0].Value.Uint64() + samples[1].Value.Uint64()
		if now < peak+peak/20 {
			continue
		}
		peak = now
		var text strings.Builder
		for _, s := range samples {
			fmt.Fprintf(&text, "%-48s %12d\n", s.Name, s.Value.Uint64())
		}
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "Rss") || strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") {
				text.WriteString(line)
			}
		}
		_ = os.WriteFile(name+".memory", []byte(text.String()), 0o644)
		if f, err := os.Create(name + ".heap"); err == nil {
			_ = pprof.Lookup("heap").WriteTo(f, 0)
			_ = f.Close()
		}
	}
}

func init() { runtime.MemProfileRate = 64 << 10 }
