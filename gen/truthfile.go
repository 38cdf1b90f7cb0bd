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
//	{"truth":1,"window":60000,"lateness":86400000,"skew":600000,"dedupe":false,"precision":5,
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

const truthVersion = 3

type headLine struct {
	Truth     int        `json:"truth"`
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

// WriteTo writes the truth as lines of JSON. The same truth gives the same
// bytes.
func (t *Truth) WriteTo(w io.Writer) (int64, error) {
	out := &counter{w: w}
	buf := bufio.NewWriterSize(out, 1<<16)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(headLine{
		truthVersion, t.Rules.Window, t.Rules.Lateness, t.Rules.Skew, t.Rules.Dedupe, t.Rules.Precision,
		t.Outcomes, len(t.Counts), len(t.Places),
	})
	for _, g := range t.Groups() {
		if err != nil {
			break
		}
		c := t.Counts[g]
		err = enc.Encode(groupLine{g.Window, g.Name, c.Hits, c.Sum, c.Users, c.First, c.Last})
	}
	for _, m := range t.Members() {
		if err != nil {
			break
		}
		p := t.Places[m]
		err = enc.Encode(placeLine{m.Window, m.User, p.Stamp, p.Lon, p.Lat})
	}
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		err = fmt.Errorf("gen: write truth: %w", err)
	}
	return out.n, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ReadTruth reads what WriteTo wrote. The result answers questions, but it
// lacks the ids seen, so records must not be added to it.
func ReadTruth(r io.Reader) (*Truth, error) {
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	dec.DisallowUnknownFields()
	line := 0
	next := func(v any) error {
		line++
		err := dec.Decode(v)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("gen: truth, line %d: %w", line, err)
		}
		return nil
	}
	var head headLine
	if err := next(&head); err != nil {
		return nil, err
	}
	if head.Truth != truthVersion {
		return nil, fmt.Errorf("gen: truth of version %d, want %d", head.Truth, truthVersion)
	}
	if head.Window <= 0 {
		return nil, fmt.Errorf("gen: truth, line 1: a window of %d ms", head.Window)
	}
	t := NewTruth(Rules{head.Window, head.Lateness, head.Skew, head.Dedupe, head.Precision})
	t.Outcomes = head.Outcomes
	for range head.Groups {
		var g groupLine
		if err := next(&g); err != nil {
			return nil, err
		}
		t.Counts[Group{g.Window, g.Group}] = &Count{g.Hits, g.Sum, g.Users, g.First, g.Last}
	}
	for range head.Places {
		var p placeLine
		if err := next(&p); err != nil {
			return nil, err
		}
		t.Places[Member{p.Window, p.User}] = Place{p.Stamp, p.Lon, p.Lat}
	}
	line++
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("gen: truth, line %d: more lines than announced", line)
	}
	return t, nil
}
