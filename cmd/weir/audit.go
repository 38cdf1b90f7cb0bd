package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir/sinks/clickhouse"
	"weir/window"
)

// An auditor holds the ledger of every job against its rows, again and again,
// while the jobs run. It changes nothing: what it finds is for the log, for
// the metrics, and for somebody to run `weir verify`.
type auditor struct {
	sinks []*clickhouse.Sink
	names []string
	log   *slog.Logger

	mu         sync.Mutex
	mismatches uint64
	at         time.Time
}

// last is the outcome of the last audit that came to an end.
func (a *auditor) last() (mismatches uint64, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mismatches, a.at
}

// run audits every interval until ctx ends.
func (a *auditor) run(ctx context.Context, interval time.Duration) {
	if interval <= 0 {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.once(ctx)
		}
	}
}

func (a *auditor) once(ctx context.Context) {
	var found uint64
	for i, s := range a.sinks {
		_, err := s.Audit(ctx, 0, 0, func(f window.Finding) error {
			if found++; found <= 10 {
				a.log.Error("audit: something does not add up", "job", a.names[i], "what", f.String(), "do", f.Advice())
			}
			return nil
		}, nil)
		if err != nil {
			if ctx.Err() == nil {
				a.log.Warn("audit could not be made; the next one is due", "job", a.names[i], "error", err)
			}
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mismatches, a.at = found, time.Now()
	a.log.Info("audit done", "mismatches", found)
}
