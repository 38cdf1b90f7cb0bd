package http

import (
	"net/http"
	"time"
)

// A Worker is this process as the worker of weir up: a child that may be killed, for another
// one takes its place.
type Worker struct {
	// Kill ends this process with signal 9, and does not return.
	Kill func()
	// Recovery returns what came of the last death of a worker; nil: none has died.
	Recovery func() *Recovery
}

// A Recovery is what came of the death of a worker.
type Recovery struct {
	At   time.Time `json:"at"`   // of the death
	Over bool      `json:"over"` // the next worker has caught up, and the audit has ended
	Text string    `json:"text"` // the state of the recovery in a sentence
}

// A workerHealth is what there is to say of a worker.
type workerHealth struct {
	Pid      int       `json:"pid"`
	Recovery *Recovery `json:"recovery"`
}

// kill answers POST /api/v1/kill, and then ends the process. The answer leaves first.
func (s *Server) kill(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
	_ = http.NewResponseController(w).Flush() // an error means that the client has disconnected
	s.Worker.Kill()
}
