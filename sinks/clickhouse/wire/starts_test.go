package wire

import (
	"fmt"
	"testing"
	"time"
)

// TestUptimes: a server is noticed to be started again, however soon it answers, and nothing else is taken for that.
func TestUptimes(t *testing.T) {
	var u Uptimes
	at := time.Now()
	for i, c := range []struct {
		shard  int
		id     string
		up     uint32
		after  time.Duration
		starts int
	}{
		{1, "a", 100, 0, 0},
		{1, "a", 160, time.Minute, 0},
		{1, "b", 3, time.Minute, 0},   // another replica, or one behind the same address
		{2, "a", 9, time.Minute, 0},   // another shard
		{1, "a", 159, time.Minute, 0}, // whole seconds
		{1, "a", 50, time.Minute, 1},
		{1, "a", 170, 3 * time.Minute, 1},
		{1, "b", 123, 3 * time.Minute, 1},
		{1, "a", 171, 5 * time.Minute, 2}, // it has run for longer again than before
	} {
		u.Hear(c.shard, c.id, c.up, at.Add(c.after))
		u.heard[fmt.Sprint(c.shard, " ", c.id)] = uptime{time.Duration(c.up) * time.Second, at.Add(c.after)}
		if got := u.Count(); got != c.starts {
			t.Fatalf("answer %d: %d starts, want %d", i, got, c.starts)
		}
	}
}
