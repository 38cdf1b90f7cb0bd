package gen

import (
	"bufio"
	"encoding/json"
	"io"
)

// The file of a truth is lines of JSON. The first has the rules and the
// outcomes, and how many lines of each kind follow:
//
//	{"window":60000,"lateness":86400000,"skew":600000,"dedupe":false,"precision":5,
//	 "valid":9900,"malformed":40,"late":30,"future":30,"duplicate":0,"groups":2,"places":1}
//
// then one per group, with the hits of each user, and with the users of the earliest and
// of the latest event,
//
//	{"window":1763600040000,"group":"/p/17","hits":3,"sum":81248,"users":{"7":2,"81234":1},
//	 "first":{"ts":1763600040456,"users":[7]},"last":{"ts":1763600050456,"users":[7,81234]}}
//
// then, for locations, one per person and window,
//
//	{"window":1763600040000,"user":81234,"ts":1763600050456,"lon":13.361389,"lat":38.115556}
//
// Windows are named by their start; times are in milliseconds.

// Write writes the truth as lines of JSON. The same truth gives the same bytes.
func (t *Truth) Write(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buf) // buf keeps its errors until Flush
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Rules
		Outcomes
		Groups int `json:"groups"`
		Places int `json:"places"`
	}{t.Rules, t.Outcomes, len(t.Counts), len(t.Places)})
	for _, g := range t.Groups() {
		_ = enc.Encode(struct {
			Group
			*Count
		}{g, t.Counts[g]})
	}
	for _, m := range t.Members() {
		_ = enc.Encode(struct {
			Member
			Place
		}{m, t.Places[m]})
	}
	return buf.Flush()
}
