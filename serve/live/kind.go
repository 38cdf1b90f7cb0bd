package live

import (
	"strings"

	"weir/measures"
	"weir/measures/face"
	"weir/window"
)

// A Kind is the live face of a kind of measure, or of one of the measures that every job has.
type Kind struct {
	Name string // such as hll; hits and partial for the measures that every job has
	face.Live
}

func kindOf(m *window.Measure) Kind { return Kind{m.Kind.Name, measures.Of(m.Kind).Live} }

// hitsKind answers with a Count.
var hitsKind = Kind{Hits, face.Live{Shows: face.Events, Command: "GET", Number: face.NumberOf(func(n Count) uint64 { return uint64(n) }, 0)}}

// partialKind answers with a Reason, which is no number.
var partialKind = Kind{Partial, face.Live{Number: func(any) any { return 0 }}}

// WithMembers names the kinds that have members, in words.
func WithMembers() string {
	var names []string
	for _, k := range measures.All {
		if k.Live.Member != nil {
			names = append(names, k.String())
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
