package bitmap

import (
	"math/rand/v2"
	"testing"
)

const mbit = 1 << 20 / 8

func noise(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, mbit)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func BenchmarkCount1Mbit(b *testing.B) {
	s := noise(1)
	for b.Loop() {
		Count(s)
	}
}

func BenchmarkCount1MbitPlain(b *testing.B) {
	s := noise(1)
	for b.Loop() {
		countGeneric(s)
	}
}

func BenchmarkOr60x1Mbit(b *testing.B) {
	src := make([][]byte, 60)
	for i := range src {
		src[i] = noise(uint64(i))
	}
	var dst []byte
	for b.Loop() {
		dst, _ = Op(dst, Or, src...)
	}
}
