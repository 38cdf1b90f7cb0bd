package main

import (
	"bytes"
	"strings"
	"testing"

	"weir/audit"
	"weir/event"
)

// TestRemedyThinned: in a compacted topic, two outcomes of one offset are no damage. The
// remedy does not advise to set offsets back or to restore a backup, which would not help.
func TestRemedyThinned(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		todo := newRemedy(notCompacted)
		if compacted {
			todo = newRemedy(isCompacted)
		}
		for _, k := range []audit.Kind{audit.Unbalanced, audit.Excess} {
			todo.take(audit.Finding{Kind: k, Offsets: audit.Offsets{First: 0, Next: 100}, Expected: 90, Found: 95, Gaps: 5})
		}
		var out bytes.Buffer
		todo.print(&out, []string{"broker:9092"}, "weir.clicks", "clicks", []event.Assignment{{LogEnd: 100}}, func(uint8, event.Assignment) bool { return true })
		named := strings.Contains(out.String(), "records were compacted away (cleanup.policy)")
		back := strings.Contains(out.String(), "--reset-offsets") || strings.Contains(out.String(), "from a backup")
		if named != compacted || back == compacted {
			t.Errorf("compacted %v: it says\n%s", compacted, &out)
		}
	}
}

// TestRemedyBack: the remedy reads a partition again from the lowest offset of its findings,
// if the log still has it and is what the epoch of the finding counts. Each advice is printed once.
func TestRemedyBack(t *testing.T) {
	todo := newRemedy(notCompacted)
	for _, f := range []audit.Finding{
		{Kind: audit.Missing, Partition: 3, Offsets: audit.Offsets{First: 500, Next: 600}},
		{Kind: audit.Missing, Partition: 3, Offsets: audit.Offsets{First: 300, Next: 400}},
		{Kind: audit.Hole, Partition: 3, Expected: 350},
		{Kind: audit.Excess, Partition: 4, Offsets: audit.Offsets{First: 0, Next: 100}},
		{Kind: audit.Unknown, Partition: 5, Offsets: audit.Offsets{First: 100, Next: 200}},
		{Kind: audit.Missing, Partition: 3, Epoch: 1, Offsets: audit.Offsets{First: 200, Next: 300}},
	} {
		todo.take(f)
	}
	var out bytes.Buffer
	todo.print(&out, []string{"broker:9092"}, "weir.clicks", "web", []event.Assignment{{Partition: 3, LogEnd: 900}, {Partition: 4, LogEnd: 900}, {Partition: 5, LogStart: 101, LogEnd: 900}},
		func(epoch uint8, of event.Assignment) bool { return of.Partition != 3 || epoch == 0 })
	for text, n := range map[string]int{
		"--group weir.clicks --topic web:3 --reset-offsets --to-offset 300 ": 1,
		"--reset-offsets": 1,
		"partition 5 cannot be read again from 100: the log does not hold it any more":                          1,
		"partition 3 cannot be read again under epoch 1: the topic was deleted and created again, or truncated": 1,
		"state rows are gone": 1,
	} {
		if got := strings.Count(out.String(), text); got != n {
			t.Errorf("%q is there %d times, want %d:\n%s", text, got, n, &out)
		}
	}
}
