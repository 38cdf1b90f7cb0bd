package live

import (
	"strings"

	"weir/window"
)

// A Kind says how measures of a kind are answered. Each kind has a file of its own.
type Kind struct {
	Name string // such as hll; hits and partial for the measures that every job has

	// Number returns the number that an Answer.Value stands for, in a type that
	// encoding/json writes. The value is nil if nothing was counted.
	Number func(value any) any

	// Shows says what the number counts; zero: the value has no number to show.
	Shows Shows

	// Spread returns the standard error of a number, in its unit; nil: the number is exact.
	Spread func(number float64) float64

	// Common returns how many people two Answer.Values have in common; nil: such values
	// do not say it.
	Common func(a, b any) uint64

	// Level returns the number with a share of the numbers of an Answer.Value below it, 0.5
	// for the median; nil: the value is no distribution. With it, Number is no number.
	Level func(value any, share float64) any

	// Command is the Redis command that reads the number of a window key; empty: none.
	Command string

	// Member reads a member as a client writes it, and returns a function that looks for
	// it in an Answer.Value. It is nil if such measures have no members. The error
	// says what members are.
	Member func(text string) (has func(value any) bool, err error)

	// value returns the Answer.Value of a row that has measure m of some windows and groups, nil
	// if that is nothing. It is nil for kinds by member and for the measures that every job has.
	value func(row window.Row, m int) any
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

// numberOf makes the Number of a kind from the method that counts its values. It is 0 if
// nothing was counted.
func numberOf[T, N any](count func(T) N) func(value any) any {
	return func(value any) any {
		if v, ok := value.(T); ok {
			return count(v)
		}
		return 0
	}
}

// hitsKind answers with a Count.
var hitsKind = Kind{Name: Hits, Shows: Events, Command: "GET", Number: func(value any) any {
	n, _ := value.(Count)
	return uint64(n)
}}

// partialKind answers with a Reason, which is no number.
var partialKind = Kind{Name: Partial, Number: func(any) any { return 0 }}

// kinds has every kind of measure.
var kinds = map[window.Kind]*Kind{
	window.HLL:      &hllKind,
	window.Set:      &setKind,
	window.Bitmap:   &bitmapKind,
	window.Bloom:    &bloomKind,
	window.Min:      &minKind,
	window.Max:      &maxKind,
	window.First:    &firstKind,
	window.Last:     &lastKind,
	window.Sum:      &sumKind,
	window.Avg:      &avgKind,
	window.Quantile: &quantileKind,
	window.TopK:     &topKind,
	window.Geo:      &geoKind,
}

// WithMembers names the kinds that have members: set, bitmap, bloom or geo.
func WithMembers() string {
	var names []string
	for _, k := range window.Kinds() {
		if kinds[k].Member != nil {
			names = append(names, k.String())
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// must panics if a state that this process has made itself cannot be merged.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
