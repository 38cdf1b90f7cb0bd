package bloom

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestForms: every form of what a filter does with a hash does the same as the plain one.
func TestForms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for plain := range 2 {
		if plain == 1 && !usePlain() {
			continue
		}
		words, twin := make([]uint64, 3*blockWords), make([]uint64, 3*blockWords)
		for range 300 {
			h := r.Uint64()
			if got, want := test(words, h), testGeneric(twin, h); got != want {
				t.Fatalf("test of %x: %t, want %t", h, got, want)
			}
			if r.IntN(2) == 0 {
				set(words, h)
				setGeneric(twin, h)
			} else if got, want := testAndSet(words, h), testAndSetGeneric(twin, h); got != want {
				t.Fatalf("testAndSet of %x: %t, want %t", h, got, want)
			}
			if !slices.Equal(words, twin) {
				t.Fatalf("after %x the words are %x, want %x", h, words, twin)
			}
		}
	}
	useAssembly()
}
