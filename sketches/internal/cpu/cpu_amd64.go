//go:build !purego

package cpu

// Bits of the registers that CPUID and XGETBV fill (Intel SDM, volume 2A,
// CPUID; volume 1, 13.3).
const (
	osxsave  = 1 << 27 // leaf 1, ECX
	avx      = 1 << 28 // leaf 1, ECX
	avx2     = 1 << 5  // leaf 7, EBX
	avx512f  = 1 << 16 // leaf 7, EBX
	vpopcnt  = 1 << 14 // leaf 7, ECX
	saves256 = 0x06    // XCR0: SSE and AVX state
	saves512 = 0xe6    // XCR0: and the three AVX-512 states
)

func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)
func xgetbv() uint32

func detect() (f features) {
	if top, _, _, _ := cpuid(0, 0); top < 7 {
		return f
	}
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 {
		return f
	}
	saved := xgetbv()
	_, b, c, _ := cpuid(7, 0)
	f.avx2 = saved&saves256 == saves256 && b&avx2 != 0
	f.vpopcnt = f.avx2 && saved&saves512 == saves512 && b&avx512f != 0 && c&vpopcnt != 0
	return f
}
