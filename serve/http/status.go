package http

import (
	"encoding/json"
	"net/http"
	"time"

	"weir/jobs"
)

// A Build says which binary this is, as `weir version` does.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// An Audit is the result of the last audit of all jobs. Before the first one ends, it has
// only Due.
type Audit struct {
	Due        time.Time  `json:"-"`          // when the next one is to begin; zero: there is none
	At         time.Time  `json:"at"`         // when it ended
	Mismatches int        `json:"mismatches"` // all that do not add up
	Found      []Mismatch `json:"found"`      // the first few of the mismatches
}

// A Mismatch is one finding of the audit, and what to do about it.
type Mismatch struct {
	Job  string `json:"job"`
	What string `json:"what"`
	Do   string `json:"do"`
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	var last *Audit
	if a := s.audit(); !a.At.IsZero() {
		last = &a
	}
	_ = e.Encode(struct {
		Build Build         `json:"build"`
		Audit *Audit        `json:"audit,omitempty"`
		Jobs  []jobs.Status `json:"jobs"`
	}{s.Build, last, s.statuses()}) // an error means that the client has disconnected
}

func (s *Server) audit() Audit {
	if s.Audit == nil {
		return Audit{}
	}
	return s.Audit()
}

func (s *Server) statuses() []jobs.Status {
	all := make([]jobs.Status, len(s.Jobs))
	for i, j := range s.Jobs {
		all[i] = j.Status()
	}
	return all
}
