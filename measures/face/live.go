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
	List      Shows = "list"      // a list of Counted
	Positions Shows = "positions" // members with a position: see Heat, Near and Within
)

// A Counted is a key that has at least Count events, and at most Count + Error.
type Counted struct {
	Key   string `json:"key"`
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
}

// NumberOf makes the Number of a kind from the method that counts its values, and the number of nothing.
func NumberOf[T, N any](count func(T) N, nothing N) func(value any) any {
	return func(value any) any {
		if v, ok := value.(T); ok {
			return count(v)
		}
		return nothing
	}
}

// CommonOf makes the Common of a kind from the method that says it of two of its values.
func CommonOf[T any](common func(a, b T) uint64) func(a, b any) uint64 {
	return func(a, b any) uint64 {
		x, ok := a.(T)
		if y, both := b.(T); ok && both {
			return common(x, y)
		}
		return 0
	}
}

// MemberOf makes the Member of a kind from the method that looks for a text in its values.
func MemberOf[T any](has func(value T, member []byte) bool) func(text string) (func(any) bool, error) {
	return func(text string) (func(any) bool, error) {
		return func(value any) bool {
			v, ok := value.(T)
			return ok && has(v, []byte(text))
		}, nil
	}
}

// A Number is the value of a measure of numbers.
type Number float64

// AppendText appends the number as Redis writes a double.
func (n Number) AppendText(b []byte) ([]byte, error) { return geo.AppendScore(b, float64(n)), nil }

// NumberOrNil is the Number of kinds whose values are Numbers.
var NumberOrNil = NumberOf(func(n Number) any { return float64(n) }, nil)

// Must panics if a state that this process has made itself cannot be merged.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
