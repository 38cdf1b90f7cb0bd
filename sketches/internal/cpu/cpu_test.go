//go:build linux && amd64 && !purego

package cpu

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAgreesWithTheKernel compares the results of CPUID with /proc/cpuinfo.
func TestAgreesWithTheKernel(t *testing.T) {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(b), "\nflags")
	line, _, _ = strings.Cut(line, "\n")
	flags := strings.Fields(line)
	if has := slices.Contains(flags, "avx2"); AVX2 != has {
		t.Errorf("AVX2 is %v, the kernel says %v", AVX2, has)
	}
	has := slices.Contains(flags, "avx512f") && slices.Contains(flags, "avx512_vpopcntdq")
	if VPOPCNT != has {
		t.Errorf("VPOPCNT is %v, the kernel says %v", VPOPCNT, has)
	}
}
