package infer

import (
	"slices"
	"strings"

	"weir/event"
)

// maxCandidates is how many arrays of a record are tried as its events.
const maxCandidates = 8

// candidates returns the arrays of objects that nine records of ten have, in the value itself.
func (f *Facts) candidates() (paths []string) {
	for _, field := range f.Fields {
		switch path := field.Path; {
		case 10*f.arrays[path] < 9*f.Read, event.CheckEach(f.Format, path) != nil, f.decoder.noArray(f.Format, path), len(paths) == maxCandidates:
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// again returns facts of the same records, of which no value has been noted, with an array of events.
func (f *Facts) again(each string) *Facts {
	of := *f
	of.Each, of.Events, of.Fields, of.More = each, 0, nil, false
	of.byPath, of.arrays = map[string]*Field{}, map[string]int{}
	return &of
}

// areEvents reports whether the elements of the array look like events: nine of ten have a time
// of their own, which is near that of the record. Lines of an order, for example, have none.
func (f *Facts) areEvents() bool {
	return slices.ContainsFunc(f.Fields, func(field *Field) bool {
		return field.inEvent() && slices.ContainsFunc(field.times[:], func(n int) bool { return n > 0 && 10*n >= 9*f.Events })
	})
}

// inEvent reports whether a field is one of the event itself, and not of its record.
func (f *Field) inEvent() bool {
	return !event.InEnvelope(f.Path) && !strings.HasPrefix(f.Path, event.OfRecord)
}

// batch notes the events of a record of JSON. Those that are no objects are left out.
func (f *Facts) batch(rec *event.Record, r *event.Reader) {
	n, err := r.Open(rec)
	if err != nil {
		return
	}
	o := object(body(rec.Value)) // nil: nothing is beside the array
	for i := range n {
		if doc := object(r.Event(i)); doc != nil {
			f.object("", doc, rec.Time, 1)
			f.object(event.OfRecord, o, rec.Time, 1)
			f.envelope(rec)
		}
	}
}
