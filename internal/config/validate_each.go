package config

import (
	"strings"

	"weir/event"
	"weir/window"
)

// each checks a job whose records are arrays of events.
func (v *validator) each(path string, j *Job, format event.Format) {
	if j.Each == "" {
		return
	}
	if !format.HasEach() {
		v.complain(path+".each", "a record of the format %s is one event; arrays of events can be read of %s", format, either(event.EachFormats()))
		return
	}
	if format == event.Protobuf && j.Each == event.Whole {
		v.complain(path+".each", "a message of protobuf is no array; name the repeated field that has the events")
	}
	if j.Chunk > window.MaxEachChunk {
		v.complain(path+".chunk", "%d is too many for records that are arrays of events; at most %d", j.Chunk, window.MaxEachChunk)
	}
	array := event.OfRecord + event.ParsePathText(j.Each)
	for _, u := range j.uses() {
		beside, ok := strings.CutPrefix(u.field, event.OfRecord)
		switch {
		case !ok:
		case j.Each == event.Whole:
			v.complain(path+"."+u.at, "%s: nothing is beside an array that is the whole value; leave it out", u.field)
		case u.field == array:
			v.complain(path+"."+u.at, "%s is the array of the events; name a field of an event without record:, or one beside the array", u.field)
		default:
			text, _, _ := strings.Cut(beside, "[json]")
			if err := checkPath(text); err != nil || event.InEnvelope(event.ParsePathText(text)) {
				v.complain(path+"."+u.at, "%q names no field beside the array; write record:sentAt for the field sentAt there, and key or header:name without record:", u.field)
			}
		}
	}
}
