package face

import (
	"weir/sketches/geo"
	"weir/window"
)

// A Live says how a question about a measure is answered from memory.
type Live struct {
	// Number returns the number that a value, as Value makes it, stands for, in a type that
	// encoding/json writes. The value is nil if nothing was counted.
	Number func(value any) any

	// Shows says what the number counts; zero: the value has no number to show.
	Shows Shows

	// Spread returns the standard error of a number, in its unit; nil: the number is exact.
	Spread func(number float64) float64

	// Common returns how many people two values have in common; nil: such values
	// do not say it.
	Common func(a, b any) uint64

	// Level returns the number with a share of the numbers of a value below it, 0.5
	// for the median; nil: the value is no distribution. With it, Number is no number.
	Level func(value any, share float64) any

	// Command is the Redis command that reads the number of a window key; empty: none.
	Command string

	// Member reads a member as a client writes it, and returns a function that looks for
	// it in a value. It is nil if such measures have no members. The error
	// says what members are.
	Member func(text string) (has func(value any) bool, err error)

	// Value returns the value of a row that has measure m of some windows and groups, nil
	// if that is nothing. Many may read the value at once, and later than the row: it holds no
	// memory of the row that changes. If it takes more than some bytes, its method Bytes returns
	// how many. Value is nil for kinds by member and for the measures that every job has.
	Value func(row window.Row, m int) any
}

// Shows is what the number of a kind counts.
type Shows string

// The values of Shows.
const (
	Events    Shows = "events"
	People    Shows = "people"    // different ids
	Quantity  Shows = "number"    // a number of the events' own
	Texts     Shows = "text"      // no number, but a text
	List      Shows = "list"      // a list of TopKeys
	Positions Shows = "positions" // members with a position: see Heat, Near and Within
)

// NumberOf makes the Number of a kind from the method that counts its values. It is 0 if
// nothing was counted.
func NumberOf[T, N any](count func(T) N) func(value any) any {
	return func(value any) any {
		if v, ok := value.(T); ok {
			return count(v)
		}
		return 0
	}
}

// A Number is the value of a measure of numbers.
type Number float64

// AppendText appends the number as Redis writes a double.
func (n Number) AppendText(b []byte) ([]byte, error) { return geo.AppendScore(b, float64(n)), nil }

// NumberOrNil is the Number of kinds whose values are Numbers.
func NumberOrNil(value any) any {
	if n, ok := value.(Number); ok {
		return float64(n)
	}
	return nil
}

// Must panics if a state that this process has made itself cannot be merged.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
