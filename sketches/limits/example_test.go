package limits_test

import (
	"fmt"

	"weir/sketches/limits"
)

// Five at once, one more every second: CL.THROTTLE k 4 1 1.
func ExampleFunnel() {
	f, err := limits.NewFunnel(4, 1, 1e9)
	if err != nil {
		panic(err)
	}
	var tat int64
	var a limits.Answer
	for range 6 {
		a, tat = f.Throttle(tat, 1_700_000_000e9, 1)
		fmt.Println(a.Reply())
	}
	// Output:
	// [0 5 4 -1 1]
	// [0 5 3 -1 2]
	// [0 5 2 -1 3]
	// [0 5 1 -1 4]
	// [0 5 0 -1 5]
	// [1 5 0 1 5]
}

// Two in any ten seconds, for each of at most a thousand users.
