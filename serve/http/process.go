package http

import (
	"net/http"
	"time"
)

// A Process is this process as weir up has started it: a child that may be killed, for another
// one takes its place.
type Process struct {
	// Kill ends this process with signal 9, and does not return.
	Kill func()
	// Recovery returns what came of the last death of a process; nil: none has died.
	Recovery func() *Recovery
}

// A Recovery is what came of the death of a process.
type Recovery struct {
	At   time.Time `json:"at"`   // of the death
	Over bool      `json:"over"` // the next process has caught up, and the audit has ended
	Text string    `json:"text"` // the state of the recovery in a sentence
}

// A processHealth is what there is to say of a process.
type processHealth struct {
	Pid      int       `json:"pid"`
	Recovery *Recovery `json:"recovery"`
}

// kill answers POST /api/v1/kill, and then ends the process. The answer leaves first.
func (s *Server) kill(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
	_ = http.NewResponseController(w).Flush() // an error means that the client has disconnected
	s.Process.Kill()
}
