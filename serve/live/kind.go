package live

import (
	"strings"

	"weir/window"
)

// A Kind is how measures of a kind are answered. Each stands in a file of its own.
type Kind struct {
	Name string // hll; hits and partial for the measures that every job has

	// Number is what a Value.Measured, or nil if nothing was found, comes to: what
	// encoding/json writes for people.
	Number func(measured any) any

	// Member reads a member as it is asked for, and returns what looks for it in a
	// Value.Measured. It is nil if nothing is a member of such measures. The error
	// says what members are.
	Member func(text string) (has func(measured any) bool, err error)

	// begin makes an empty value to merge into; nil for kinds by member (places.go).
	begin func(m *window.Measure) merging
}

// kinds has every kind of measure.
var kinds = map[window.Kind]*Kind{
	window.HLL:    &hllKind,
	window.Bitmap: &bitmapKind,
	window.Bloom:  &bloomKind,
	window.Max:    &maxKind,
	window.Geo:    &geoKind,
}

// WithMembers names the kinds that have members: bitmap, bloom or geo.
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

// A merging is the value of one measure while things are merged into it.
type merging interface {
	// mergeState merges a state as the sink holds it.
	mergeState(state []byte) error
	// mergeRow merges a row's value of measure m. It may be gathered until settle.
	mergeRow(row window.Row, m int)
	settle()
	// mergeAll merges others of the same measure, all settled.
	mergeAll(others []merging)
	// measured is what Value has of it, once settled; nil if it is nothing. From
	// then on it is only read.
	measured() any
	bytes() int64
}

func begin(m *window.Measure) merging { return kinds[m.Kind].begin(m) }

// mergePieces merges what is known of the sink's windows, and reports whether
// there is anything. The caller holds the lock that guards the pieces.
func mergePieces(v merging, pieces []*piece) (found bool) {
	var values []merging
	for _, p := range pieces {
		if p.found {
			values = append(values, p.value)
		}
	}
	v.mergeAll(values)
	return len(values) > 0
}

// answerOf is the answer that a value has come to.
func answerOf(v merging, found bool) answer {
	v.settle()
	if measured := v.measured(); found && measured != nil {
		return answer{Value{Measured: measured}, true}
	}
	return answer{}
}

// bytes is about what a value takes.
func (v *Value) bytes() int64 {
	if s, ok := v.Measured.(interface{ Bytes() int }); ok {
		return int64(s.Bytes())
	}
	return 8
}

// settled passes on what merging a state of our own said.
func settled(err error) {
	if err != nil {
		panic(err)
	}
}
