package bitmap_test

import (
	"fmt"

	"weir/sketches/bitmap"
)

// SETBIT, GETBIT, BITCOUNT and BITPOS on a byte string.
func ExampleSetBit() {
	b, old := bitmap.SetBit(nil, 7, 1)
	fmt.Printf("%d %x\n", old, b)
	b, old = bitmap.SetBit(b, 7, 1)
	fmt.Println(old, bitmap.GetBit(b, 7), bitmap.Count(b), bitmap.PosFrom(b, 1, 0))
	// Output:
	// 0 01
	// 1 1 1 7
}

// BITFIELD k INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 1, four times.
func ExampleFields() {
	ops, err := bitmap.ParseFieldOps([]string{
		"INCRBY", "u2", "100", "1", "OVERFLOW", "SAT", "INCRBY", "u2", "102", "1"}, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	var b []byte
	for range 4 {
		var replies []bitmap.FieldReply
		b, replies, _ = bitmap.Fields(b, ops, nil)
		fmt.Println(replies[0].Value, replies[1].Value)
	}
	// Output:
	// 1 1
	// 2 2
	// 3 3
	// 0 3
}
