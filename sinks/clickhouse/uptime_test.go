package clickhouse

import (
	"errors"
	"strings"
	"testing"
	"time"

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
