package slots

import (
	"fmt"

	"weir/window"
)

// checkBits is how many bits of a Checked number tell what a measure holds of the events.
const checkBits = 24

// Checked returns a number of events that has, in its last bits, a check of what a measure holds of them,
// so that the numbers of two that hold other things of as many events differ.
func Checked(events, check uint64) uint64 {
	return events<<checkBits | check*0x9e3779b97f4a7c15>>(64-checkBits)
}

// CheckedText formats a Checked number for people.
func CheckedText(_ *window.Measure, number uint64) string {
	return fmt.Sprintf("%d events (check %06x)", number>>checkBits, number&(1<<checkBits-1))
}
