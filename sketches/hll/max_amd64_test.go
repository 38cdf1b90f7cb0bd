//go:build !purego

package hll

import "testing"

// Each assembly routine against its plain form, on random, extreme and
// unaligned registers, with guards around them.
func TestMaxAssembly(t *testing.T) {
	if !hasAVX2 {
		t.Log("no AVX2 on this machine: only SSE2 is compared")
	}
	forEachMaxCase(t, func(name string, d *registers, sources []*registers) {
		want, sse2, avx2 := *d, *d, *d
		for _, s := range sources {
			maxWords(&want, s)
			maxSSE2(&sse2, s)
			if hasAVX2 {
				maxAVX2(&avx2, s)
			}
		}
		if sse2 != want {
			t.Fatalf("%s: SSE2 differs from plain Go", name)
		}
		if !hasAVX2 {
			return
		}
		if avx2 != want {
			t.Fatalf("%s: AVX2 differs from plain Go", name)
		}
		if len(sources) >= 4 {
			want, avx2 = *d, *d
			for _, s := range sources[:4] {
				maxWords(&want, s)
			}
			max4AVX2(&avx2, sources[0], sources[1], sources[2], sources[3])
			if avx2 != want {
				t.Fatalf("%s: four at once differ from plain Go", name)
			}
		}
		v := make([]byte, denseBytes)
		sources[0].pack(v[headerBytes:])
		for i := range headerBytes {
			v[i] = 0xff // read by the assembly and to be ignored
		}
		want, avx2 = *d, *d
		maxPacked(&want, v[headerBytes:])
		maxPackedAVX2(&avx2, &v[headerBytes])
		if avx2 != want {
			t.Fatalf("%s: packed AVX2 differs from plain Go", name)
		}
	})
}
