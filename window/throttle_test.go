package window

import (
	"fmt"
	"testing"

	"weir/event"
)

// TestLimited: keys are counted once each, and those of several partitions are known.
func TestLimited(t *testing.T) {
	s := &Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 1e9, Skew: 1e9, Chunk: 1 << 10, MaxGroups: 10,
		Measures: []Measure{{Name: "users", Kind: HLL, Path: "user"}}, Throttle: &Throttle{Path: "user", Limit: 1, Per: 1000},
	}
	judge, err := NewJudge(s)
	if err != nil {
		t.Fatal(err)
	}
	for p, users := range [][]string{{"a", "b", "b"}, {"b", "c"}, {"b", "d", "c"}} {
		judge.Start(int32(p), 0, 0)
		b := event.Batch{Partition: int32(p), Next: int64(len(users))}
		for i, user := range users {
			b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 1_000_000, Value: fmt.Appendf(nil, `{"ts":1000000,"user":%q}`, user)})
		}
		if err := judge.Observe(&b, func(*Verdict) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if keys, apart := judge.Limited(); keys != 4 || apart != 2 {
		t.Errorf("%d keys, %d of them in more than one partition, want 4 and 2", keys, apart)
	}
}
