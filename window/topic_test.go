package window

import (
	"errors"
	"testing"

	"weir/event"
)

// TestSucceeds: once a partition of a recreated topic is counted after the one before, each other
// partition of it is counted without a new decision. Before, a partition that only the new
// topic has decides nothing.
func TestSucceeds(t *testing.T) {
	before, now := [16]byte{1}, [16]byte{2}
	old := Known{TopicID: before, Next: 70}
	s := &Spec{Job: "clicks", Chunk: 64}
	a := event.Assignment{Partition: 1, Committed: -1, LogEnd: 100, TopicID: now}
	for _, c := range []struct {
		name   string
		ledger map[int32]Known
		want   bool
	}{
		{"no partition", map[int32]Known{0: old, 1: old}, false},
		{"a partition that is new", map[int32]Known{0: old, 1: old, 2: {TopicID: now, Next: 5}}, false},
		{"a partition after a truncation", map[int32]Known{0: *old.With(Known{Epoch: 1, TopicID: before}), 1: old}, false},
		{"a partition after the old one", map[int32]Known{0: *old.With(Known{Epoch: 1, TopicID: now}), 1: old}, true},
	} {
		succeeds := Succeeds(c.ledger, now)
		k := c.ledger[1]
		plan, err := s.Resume(a, &k, Policy{Succeeds: succeeds})
		switch {
		case succeeds != c.want:
			t.Errorf("%s: %v", c.name, succeeds)
		case succeeds && (err != nil || plan.Epoch != 1 || plan.Start != 0 || !plan.Opens):
			t.Errorf("%s: %+v, %v", c.name, plan, err)
		case !succeeds && !errors.Is(err, ErrRecreated):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	truncated := event.Assignment{Partition: 1, LogEnd: 10, TopicID: before}
	if _, err := s.Resume(truncated, &old, Policy{Succeeds: true}); !errors.Is(err, ErrBeyondEnd) {
		t.Errorf("a truncated log: %v", err)
	}
}
