package clickhouse

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"weir/window"
)

// TestUptimes: a server is noticed to be started again, however soon it answers, and nothing else is taken for that.
func TestUptimes(t *testing.T) {
	var u uptimes
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
		u.hear(c.shard, c.id, c.up, at.Add(c.after))
		u.heard[fmt.Sprint(c.shard, " ", c.id)] = uptime{time.Duration(c.up) * time.Second, at.Add(c.after)}
		if got := u.count(); got != c.starts {
			t.Fatalf("answer %d: %d starts, want %d", i, got, c.starts)
		}
	}
}

// TestRestarted: after a server was started again, no ledger line is written until the ledger was read.
func TestRestarted(t *testing.T) {
	c := open(t)
	j := clicks()
	s := install(t, c, j)
	write := func(next int64) error {
		changes := &window.Changes{Table: window.NewTable(j.Spec), Lines: []window.Line{{First: next - 1, Next: next, Outcomes: [window.Outcomes]uint64{window.Late: 1}}}}
		changes.Table.Seal()
		return s.Write(t.Context(), changes)
	}
	known := func() int64 {
		k, err := s.Known(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return k[0].Next
	}
	// Neither the ledger nor the rounds have a row yet that could tell the uptime.
	for what, ask := range map[string]func() error{
		"the ledger": func() error { known(); return nil },
		"a look":     func() error { _, err := s.Coverage(t.Context()); return err },
		"a round":    func() error { _, err := s.round(t.Context(), nil); return err },
	} {
		clear(c.uptimes.heard)
		if err := ask(); err != nil || len(c.uptimes.heard) == 0 {
			t.Errorf("%s told no uptime, %v: a restart before the first row would not be noticed", what, err)
		}
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 1 {
		t.Fatalf("the ledger has %d", got)
	}
	c.uptimes.mu.Lock()
	for id, up := range c.uptimes.heard { // as if it had run for a day
		up.up += 24 * time.Hour
		c.uptimes.heard[id] = up
	}
	c.uptimes.mu.Unlock()
	if covered, err := s.Coverage(t.Context()); err != nil || !covered.Restarted {
		t.Errorf("the look says nothing: %+v, %v", covered, err)
	}
	var lost interface{ Lost() bool }
	if err := write(2); !errors.As(err, &lost) || !lost.Lost() {
		t.Errorf("a write after the restart: %v", err)
	}
	if got := known(); got != 1 {
		t.Errorf("the ledger has %d", got)
	}
	if err := write(2); err != nil {
		t.Errorf("a write after the ledger was read: %v", err)
	}
}
