package hll_test

import (
	"fmt"

	"weir/sketches/hll"
)

func Example() {
	var monday, tuesday hll.Sketch
	for _, user := range []string{"anna", "boris", "carla"} {
		monday.Add([]byte(user))
	}
	for _, user := range []string{"carla", "dmitri"} {
		tuesday.Add([]byte(user))
	}
	both := new(hll.Sketch)
	both.MergeAll(&monday, &tuesday)
	fmt.Println(monday.Count(), tuesday.Count(), both.Count())
	// Output: 3 2 4
}

// A batch of page views: which page, and the hash of who looked.
func ExamplePool() {
	var pages hll.Pool
	pages.Grow(2)
	pages.AddBatch(
		[]uint32{0, 1, 1, 1},
		[]uint64{hll.Hash([]byte("anna")), hll.Hash([]byte("anna")), hll.Hash([]byte("boris")), hll.Hash([]byte("anna"))},
	)
	fmt.Println(pages.Count(0), pages.Count(1))
	// Output: 1 2
}

// The string is what Redis keeps: SET it there, and PFCOUNT answers.
func ExampleString() {
	var v hll.String
	v.Add(hll.DefaultSparseMax, []byte("a"), []byte("b"), []byte("c"))
	fmt.Printf("%x\n", []byte(v))
	// Output:
	// 48594c4c01000000000000000000008060f38050b1844bfb80425a
}

func ExampleSketch_AppendClickHouse() {
	var s hll.Sketch
	s.Add([]byte("foo"))
	state := s.AppendClickHouse(nil)
	fmt.Printf("SELECT finalizeAggregation(CAST(unhex('%x') AS AggregateFunction(uniqCombined64(14), UInt64)))\n", state)
	// Output: SELECT finalizeAggregation(CAST(unhex('0101b41c040000000000') AS AggregateFunction(uniqCombined64(14), UInt64)))
}

// What a sketch of n users takes as a Redis string, and as a ClickHouse state.
func Example_sizes() {
	for _, n := range []int{1, 10, 100, 1000, 2000, 100000} {
		var s hll.Sketch
		for i := range n {
			s.Add(fmt.Appendf(nil, "user:%d", i))
		}
		fmt.Println(n, len(s.AppendRedis(nil, hll.DefaultSparseMax)), len(s.AppendClickHouse(nil)))
	}
	// Output:
	// 1 21 10
	// 10 46 82
	// 100 283 802
	// 1000 1910 12499
	// 2000 12304 12499
	// 100000 12304 12499
}
