package jobs

import (
	"strings"
	"testing"

	"weir/event"
	"weir/window"
)

func TestCompareLog(t *testing.T) {
	reached := []window.Reached{
		{Partition: 0, First: 0, Next: 90},
		{Partition: 1, First: 0, Next: 150},
		{Partition: 2, First: 0, Next: 10},
		{Partition: 3, Epoch: 0, First: 0, Next: 500}, {Partition: 3, Epoch: 1, First: 0, Next: 100},
		{Partition: 9, First: 0, Next: 7},
	}
	log := []event.Assignment{
		{Partition: 0, LogEnd: 100}, {Partition: 1, LogEnd: 100}, {Partition: 2, LogStart: 40, LogEnd: 100},
		{Partition: 3, LogEnd: 100}, {Partition: 4, LogStart: 5, LogEnd: 25},
	}
	gaps, lag := CompareLog(reached, log)
	if want := int64(10 + 60 + 20); lag != want {
		t.Errorf("lag %d, want %d", lag, want)
	}
	want := map[int32]string{1: "the log only to 100", 2: "offsets 10 to 40", 9: "no such partition"}
	for _, g := range gaps {
		w, ok := want[g.Partition]
		if !ok || !strings.Contains(g.String(), w) {
			t.Errorf("unexpected: %s", g)
		}
		delete(want, g.Partition)
	}
	for p, w := range want {
		t.Errorf("partition %d: not found: %s", p, w)
	}
}
