package gen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"weir/event"
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

type headLine struct {
	Window    event.Time `json:"window"`
	Lateness  event.Time `json:"lateness"`
	Skew      event.Time `json:"skew"`
	Dedupe    bool       `json:"dedupe"`
	Precision int        `json:"precision"`
	Outcomes
	Groups int `json:"groups"`
	Places int `json:"places"`
}

type groupLine struct {
	Window event.Time       `json:"window"`
	Group  string           `json:"group"`
	Hits   int64            `json:"hits"`
	Sum    int64            `json:"sum"`
	Users  map[uint32]int64 `json:"users"`
	First  Moment           `json:"first"`
	Last   Moment           `json:"last"`
}

type placeLine struct {
	Window event.Time `json:"window"`
	User   uint32     `json:"user"`
	Stamp  event.Time `json:"ts"`
	Lon    float64    `json:"lon"`
	Lat    float64    `json:"lat"`
}

// Write writes the truth as lines of JSON. The same truth gives the same bytes.
func (t *Truth) Write(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buf) // buf keeps its errors until Flush
	enc.SetEscapeHTML(false)
	_ = enc.Encode(headLine{
		t.Rules.Window, t.Rules.Lateness, t.Rules.Skew, t.Rules.Dedupe, t.Rules.Precision,
		t.Outcomes, len(t.Counts), len(t.Places),
	})
	for _, g := range t.Groups() {
		c := t.Counts[g]
		_ = enc.Encode(groupLine{g.Window, g.Name, c.Hits, c.Sum, c.Users, c.First, c.Last})
	}
	for _, m := range t.Members() {
		p := t.Places[m]
		_ = enc.Encode(placeLine{m.Window, m.User, p.Stamp, p.Lon, p.Lat})
	}
	return buf.Flush()
}

// ReadTruth reads what Write wrote. The result answers questions, but it
// lacks the ids seen, so records must not be added to it.
func ReadTruth(r io.Reader) (*Truth, error) {
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	dec.DisallowUnknownFields()
	var head headLine
	if err := dec.Decode(&head); err != nil {
		return nil, fmt.Errorf("gen: truth, first line: %w", err)
	}
	if head.Window <= 0 {
		return nil, fmt.Errorf("gen: truth, first line: a window of %d ms", head.Window)
	}
	t := NewTruth(Rules{head.Window, head.Lateness, head.Skew, head.Dedupe, head.Precision})
	t.Outcomes = head.Outcomes
	for n := range head.Groups {
		var g groupLine
		if err := dec.Decode(&g); err != nil {
			return nil, fmt.Errorf("gen: truth, group %d of %d: %w", n, head.Groups, err)
		}
		t.Counts[Group{g.Window, g.Group}] = &Count{g.Hits, g.Sum, g.Users, g.First, g.Last}
	}
	for n := range head.Places {
		var p placeLine
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("gen: truth, place %d of %d: %w", n, head.Places, err)
		}
		t.Places[Member{p.Window, p.User}] = Place{p.Stamp, p.Lon, p.Lat}
	}
	if dec.More() {
		return nil, errors.New("gen: truth: more lines than announced")
	}
	return t, nil
}
