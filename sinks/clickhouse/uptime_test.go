package clickhouse

import (
	"errors"
	"strings"
	"testing"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// TestRestarted: after a server was started again, no ledger line is written until the ledger was read.
func TestRestarted(t *testing.T) {
	c := open(t)
	j := clicks()
	s := install(t, c, j)
	id := strings.Trim(one(t, c, "SELECT toString(serverUUID())"), "()'")
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
	day := func() { // as if the server had run for a day
		c.Uptimes.Hear(0, id, 86400, time.Now())
	}
	// Neither the ledger nor the rounds have a row yet that could tell the uptime.
	for what, ask := range map[string]func() error{
		"the ledger": func() error { known(); return nil },
		"a look":     func() error { _, err := s.Coverage(t.Context()); return err },
		"a round":    func() error { _, err := s.round(t.Context(), nil); return err },
	} {
		before := c.Uptimes.Count()
		day()
		if err := ask(); err != nil || c.Uptimes.Count() != before+1 {
			t.Errorf("%s told no uptime, %v: a restart before the first row would not be noticed", what, err)
		}
	}
	known()
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 1 {
		t.Fatalf("the ledger has %d", got)
	}
	day()
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

// TestSavedBeforeRestart: the ledger's state of a chunk counts only if no server was started again since it was written.
func TestSavedBeforeRestart(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	for _, from := range []struct {
		flushed string
		known   bool
	}{{"now() - uptime() - 1", false}, {"now() + 60", true}} {
		run(t, c, "TRUNCATE TABLE "+c.Name(schema.LedgerTable), "INSERT INTO "+c.Name(schema.LedgerTable)+
			" (job, version, epoch, partition, chunk, first, next, saved, flushed_at) SELECT 'clicks', 1, 0, 0, 0, 0, 7, 'state', "+from.flushed)
		if k, err := s.Known(t.Context()); err != nil || k[0].Next != 7 || (k[0].Saved != "") != from.known {
			t.Errorf("flushed at %s: known %+v, %v", from.flushed, k, err)
		}
	}
	c.Uptimes.Hear(1, "another shard", 0, time.Now())
	run(t, c, "ALTER TABLE "+c.Name(schema.LedgerTable)+" UPDATE flushed_at = now() - 2 WHERE 1 SETTINGS mutations_sync = 1")
	if k, err := s.Known(t.Context()); err != nil || k[0].Saved != "" {
		t.Errorf("another shard was started again: known %+v, %v", k, err)
	}
}
