// Package cpu says which vector instructions the machine has, so that a loop
// can choose between its assembly and its plain form once, at start.
//
// The figures are fixed when the program starts. Built with the tag purego,
// or for another processor than amd64, they are all false.
package cpu

var (
	// AVX2 is 256-bit integer vectors, usable and saved by the operating system.
	AVX2 = detected.avx2

	// VPOPCNT is AVX2 and, of AVX-512, the counting of bits in 512-bit vectors.
	VPOPCNT = detected.vpopcnt
)

type features struct{ avx2, vpopcnt bool }

var detected = detect()
