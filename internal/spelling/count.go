package spelling

import (
	"fmt"
	"strings"
)

// Count returns a number and its noun, which has an ending unless the number is 1:
// "1 job", "0 jobs", "2 mismatches".
func Count[N int | int64 | uint64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}
