package window_test

import (
	"errors"
	"testing"

	"weir/event"
	. "weir/window"
)

// ledgerOf returns a ledger that knows one partition, or none.
func ledgerOf(partition int32, known *Known) map[int32]Known {
	if known == nil {
		return nil
	}
	return map[int32]Known{partition: *known}
}

// TestTopicIsDecidedOnce: a topic that the ledger does not count is refused in each of its partitions,
// also in those that the ledger does not have, until a new epoch is allowed. That epoch is the same in
// all partitions, and holds for later ones. A topic of before goes on in its own epoch.
func TestTopicIsDecidedOnce(t *testing.T) {
	before, now := [16]byte{1}, [16]byte{2}
	old := Known{TopicID: before, Next: 70}
	renewed := *old.With(Known{Epoch: 1, TopicID: now, Next: 5})
	s := &Spec{Job: "clicks", Chunk: 64}
	for _, c := range []struct {
		name      string
		ledger    map[int32]Known
		topic     [16]byte
		partition int32
		allowed   bool
		epoch     int // -1: refused
		opens     bool
	}{
		{"an empty ledger", nil, now, 1, false, 0, true},
		{"a partition of the topic before", map[int32]Known{0: old, 1: old}, now, 1, false, -1, false},
		{"a partition that the ledger does not have", map[int32]Known{0: old, 1: old}, now, 2, false, -1, false},
		{"the same, allowed", map[int32]Known{0: old, 1: old}, now, 2, true, 1, true},
		{"a partition of the topic before, allowed", map[int32]Known{0: old, 1: old}, now, 1, true, 1, true},
		{"after a later epoch of another partition", map[int32]Known{0: *old.With(Known{Epoch: 3, TopicID: before}), 1: old}, now, 1, true, 4, true},
		{"a partition beside one that is counted", map[int32]Known{0: renewed, 1: old}, now, 1, false, 1, true},
		{"a new partition beside one that is counted", map[int32]Known{0: renewed, 1: old}, now, 2, false, 1, true},
		{"a new partition after a truncation of another", map[int32]Known{0: *old.With(Known{Epoch: 1, TopicID: before})}, before, 1, false, 0, true},
		{"the topic of before again", map[int32]Known{0: renewed, 1: old}, before, 0, false, 0, false},
		{"and a partition that only the other had", map[int32]Known{0: old, 2: {Epoch: 1, TopicID: now}}, before, 2, false, 2, true},
		{"a broker that tells no ids", map[int32]Known{0: {Next: 7}}, [16]byte{}, 1, false, 0, true},
		{"a broker that tells ids at last", map[int32]Known{0: {Next: 7}}, now, 0, false, 0, false},
		{"and a partition that is new then", map[int32]Known{0: {Next: 7}}, now, 1, false, 0, true},
	} {
		a := event.Assignment{Partition: c.partition, Committed: -1, LogEnd: 100, TopicID: c.topic}
		plan, err := s.Resume(a, c.ledger, Policy{NewEpoch: c.allowed})
		switch {
		case c.epoch < 0:
			if !errors.Is(err, ErrRecreated) {
				t.Errorf("%s: %+v, %v, want ErrRecreated", c.name, plan, err)
			}
		case err != nil || int(plan.Epoch) != c.epoch || plan.Opens != c.opens:
			t.Errorf("%s: %+v, %v, want epoch %d, opens %v", c.name, plan, err, c.epoch, c.opens)
		}
	}
	if _, err := s.Resume(event.Assignment{Partition: 1, LogEnd: 10, TopicID: before}, map[int32]Known{1: old}, Policy{}); !errors.Is(err, ErrBeyondEnd) {
		t.Errorf("a truncated log: %v", err)
	}
	if _, err := s.Resume(event.Assignment{Partition: 1, LogEnd: 10, TopicID: now}, map[int32]Known{0: *old.With(Known{Epoch: 255, TopicID: before})}, Policy{NewEpoch: true}); !errors.Is(err, ErrEpochs) {
		t.Errorf("the last epoch: %v", err)
	}
}
