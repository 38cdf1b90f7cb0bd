package local

import (
	"context"
	"time"
)

// StartImpatient is StartEngine with hardly any wait between restarts.
func StartImpatient(ctx context.Context, cfg EngineConfig, limit int) (*Engine, error) {
	return startEngine(ctx, cfg, restarts{min: time.Millisecond, max: 10 * time.Millisecond, quiet: time.Minute, limit: limit})
}
