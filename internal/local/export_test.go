package local

import (
	"context"
	"time"

	"weir/internal/backoff"
)

// StartImpatient is StartEngine with hardly any wait between restarts.
func StartImpatient(ctx context.Context, cfg EngineConfig, limit int) (*Engine, error) {
	return startEngine(ctx, cfg, restarts{pause: backoff.Backoff[time.Duration]{First: time.Millisecond, Most: 10 * time.Millisecond}, quiet: time.Minute, limit: limit})
}

// ClickHouse returns the address of the engine's ClickHouse, which only its proxy uses.
func (e *Engine) ClickHouse() string { return e.child().URL() }
