package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Uptimes notices that a server was started again. A server acknowledges rows before they are on its
// disk: one that lost power, or whose disk went back to an earlier state, may lack what it acknowledged
// last. Nothing but its uptime tells of that.
type Uptimes struct {
	mu     sync.Mutex
	heard  map[string]uptime // by shard and server: several may answer at one address
	starts int               // how many servers were started again
}

// An uptime is what a server said, and when the answer was there.
type uptime struct {
	up time.Duration
	at time.Time
}

// uptimeSlack is how much less than expected an uptime may be: it is in whole seconds, and clocks
// differ a little. A server that is back at once is noticed too, if it ran for longer than that.
const uptimeSlack = 2 * time.Second

// UptimeColumns are the last columns of a statement for hearing.
const UptimeColumns = "uptime(), toString(serverUUID())"

// Hear notes the uptime of a server of a shard, in an answer to a question of a time.
func (u *Uptimes) Hear(shard int, id string, seconds uint32, asked time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	id = fmt.Sprint(shard, " ", id)
	up := time.Duration(seconds) * time.Second
	if last, ok := u.heard[id]; ok && up < last.up+asked.Sub(last.at)-uptimeSlack {
		u.starts++
	}
	if u.heard == nil {
		u.heard = map[string]uptime{}
	}
	u.heard[id] = uptime{up, time.Now()}
}

// Count returns how many servers were started again so far.
func (u *Uptimes) Count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.starts
}

// Least returns for how many seconds each server that was heard has been running.
func (u *Uptimes) Least() uint32 {
	u.mu.Lock()
	defer u.mu.Unlock()
	least := time.Duration(math.MaxUint32) * time.Second
	for _, last := range u.heard {
		least = min(least, last.up+time.Since(last.at))
	}
	return uint32(least / time.Second)
}

// ErrRestarted is the error of changes that follow others which may be gone.
var ErrRestarted error = restarted{errors.New("clickhouse: a server was started again, and may have lost what it acknowledged")}

type restarted struct{ error }

// Lost says to package jobs that changes which were acknowledged may be gone.
func (restarted) Lost() bool { return true }

// Hearing runs a query on the home shard whose rows end in UptimeColumns, and notes the uptime. row scans the
// columns before these. An answer without rows tells no uptime, so the server is asked for it then.
func (c *DB) Hearing(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	heard, asked := false, time.Now()
	err := c.Query(ctx, what, sql, func(scan func(...any) error) error {
		var up uint32
		var id string
		err := row(func(columns ...any) error { return scan(append(columns, &up, &id)...) })
		if err == nil {
			c.Uptimes.Hear(c.Shards[0].shard, id, up, asked)
			heard = true
		}
		return err
	})
	if err == nil && !heard {
		err = c.hearFrom(ctx, c.Shards[:1])
	}
	return err
}

// HearShards asks the shards that have no ledger, which nothing else asks for their uptime. Flushes report
// a shard that does not answer.
func (c *DB) HearShards(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return c.hearFrom(ctx, c.Shards[1:])
}

// hearFrom asks a server of each shard for its uptime.
func (c *DB) hearFrom(ctx context.Context, on Shards) error {
	return on.each(ctx, func(ctx context.Context, r *Replicas) error {
		var asked time.Time
		var up uint32
		var id string
		err := r.try(ctx, "ask for the uptime", func(conn driver.Conn) error {
			asked = time.Now()
			return conn.QueryRow(ctx, "SELECT "+UptimeColumns).Scan(&up, &id)
		})
		if err == nil {
			c.Uptimes.Hear(r.shard, id, up, asked)
		}
		return err
	})
}
