package bloom_test

import (
	"fmt"

	"weir/sketches/bloom"
)

func ExampleFilter() {
	f := bloom.New(100_000, 0.01)
	for _, id := range []string{"a", "b", "a"} {
		fmt.Println(id, f.TestAndAdd(bloom.Hash([]byte(id))))
	}
	// Output:
	// a false
	// b false
	// a true
}

// How many bits a filter takes for an item.
func ExampleBits() {
	const n = 100_000
	for _, err := range []float64{0.1, 0.01, 0.001, 0.0001, 0.00001} {
		bits, _ := bloom.Bits(n, err)
		fmt.Printf("%v: %.1f bits\n", err, float64(bits)/n)
	}
	// Output:
	// 0.1: 6.0 bits
	// 0.01: 10.5 bits
	// 0.001: 16.9 bits
	// 0.0001: 26.3 bits
	// 1e-05: 41.0 bits
}

// How the error of a filter for 100,000 items at 1 % grows when it is
// overfilled.
func ExampleSplitBlockError() {
	const n = 100_000
	split, _ := bloom.Bits(n, 0.01)
	for _, times := range []float64{0.25, 0.5, 1, 1.5, 2, 4} {
		items := int(n * times)
		fmt.Printf("%v times: %.2g %%\n", times, 100*bloom.SplitBlockError(items, split))
	}
	// Output:
	// 0.25 times: 0.00087 %
	// 0.5 times: 0.032 %
	// 1 times: 1 %
	// 1.5 times: 5.6 %
	// 2 times: 15 %
	// 4 times: 68 %
}

func ExampleScalable() {
	s, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 10, Error: 0.01, Expansion: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 100 {
		if _, err := s.Add(fmt.Append(nil, i)); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(s.Has([]byte("42")), s.Has([]byte("142")))
	fmt.Println(s.Card(), "items in", s.Info().Filters, "layers")
	// Output:
	// true false
	// 99 items in 4 layers
}
