package http

import (
	"context"
	"net/http"
	"testing"
	"time"

	"weir/internal/tcptest"
)

// TestServeFinishes: Serve returns only after it has answered the requests that
// it began.
func TestServeFinishes(t *testing.T) {
	l := tcptest.Listen(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	calls := 0
	h := &Server{Audit: func() Audit {
		if calls++; calls == 2 { // the registry makes the first call, the request the second
			close(asked)
			<-answer
		}
		return Audit{}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, l) }()
	got := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String() + "/metrics")
		if err == nil {
			err = res.Body.Close()
		}
		got <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-served:
		t.Fatalf("Serve returned (%v) while a request was unanswered", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(answer)
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
