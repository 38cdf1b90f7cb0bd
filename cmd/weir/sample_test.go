package main

import (
	"fmt"
	"testing"

	"weir/event"
	"weir/measures/hll"
	"weir/window"
)

// TestSpread: keys of a throttle and ids of dedupe are counted once each, also those of repeats, and
// those of several partitions are known.
func TestSpread(t *testing.T) {
	for _, dedupe := range []*window.Dedupe{nil, {Path: "user", Error: 0.01}, {Path: "user", Exact: true}} {
		judge, err := window.NewJudge(&window.Spec{
			Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 1e9, Skew: 1e9, Chunk: 1 << 10, MaxGroups: 10, Dedupe: dedupe,
			Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}}, Throttle: &window.Throttle{Path: "user", Limit: 1, Per: 1000},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := newSample()
		for p, users := range [][]string{{"a", "b", "b"}, {"b", "c"}, {"b", "d", "c"}} {
			judge.Start(int32(p), 0, 0)
			b := event.Batch{Partition: int32(p), Next: int64(len(users)) + 1}
			for i, user := range users {
				b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 1_000_000, Value: fmt.Appendf(nil, `{"ts":1000000,"user":%q}`, user)})
			}
			b.Records = append(b.Records, event.Record{Offset: int64(len(users)), Time: 1_000_000, Value: []byte(`{"ts":`)}) // it has none
			if err := judge.Observe(&b, s.add); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.keys.in) != 4 || s.keys.apart != 2 {
			t.Errorf("%d keys, %d of them in more than one partition, want 4 and 2", len(s.keys.in), s.keys.apart)
		}
		ids := 0
		if dedupe != nil {
			ids = 4
		}
		if len(s.ids.in) != ids || s.ids.apart != ids/2 {
			t.Errorf("%d ids, %d of them in more than one partition, want %d and half of them", len(s.ids.in), s.ids.apart, ids)
		}
	}
}
