//go:build !purego

package bloom

import "weir/sketches/internal/cpu"

// usePlain turns the assembly off and reports whether it was on.
func usePlain() bool {
	was := avx2
	avx2 = false
	return was
}

func useAssembly() { avx2 = cpu.AVX2 }
