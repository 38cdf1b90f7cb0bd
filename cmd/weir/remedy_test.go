package main

import (
	"bytes"
	"strings"
	"testing"

	"weir/event"
	"weir/window"
)

// TestRemedyThinned: of a compacted topic, two fates of one offset are no damage:
// nothing says to set offsets back or to restore a backup, which would not help.
func TestRemedyThinned(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		todo := newRemedy(&window.Spec{Chunk: 100}, compacted)
		for _, f := range []window.Finding{
			{Misfit: window.Unbalanced, Expected: 90, Found: 95, Gaps: 5},
			{Misfit: window.Excess, Expected: 90, Found: 95, Gaps: 5},
		} {
			if got := todo.take(f); !strings.HasSuffix(got, "(offsets 0 to 100)") {
				t.Errorf("compacted %v: %s", compacted, got)
			}
		}
		var out bytes.Buffer
		todo.print(&out, []string{"broker:9092"}, "weir.clicks", "clicks", []event.Assignment{{LogEnd: 100}})
		named := strings.Contains(out.String(), "records were compacted away (cleanup.policy)")
		back := strings.Contains(out.String(), "--reset-offsets") || strings.Contains(out.String(), "from a backup")
		if named != compacted || back == compacted {
			t.Errorf("compacted %v: it says\n%s", compacted, &out)
		}
	}
}
