package audit

import (
	"maps"
	"slices"
	"testing"

	"weir/event"
)

// TestCoverageOf: of a ledger with several topics, the epoch that counts the topic of the log says how
// far the log is covered, be it the latest one or not.
func TestCoverageOf(t *testing.T) {
	a, b := [16]byte{9}, [16]byte{2}
	epochs := []Covered{{Epoch: 0, TopicID: a, Next: 100}, {Epoch: 1, TopicID: b, Next: 300}, {Epoch: 2, TopicID: a, Next: 40}}
	for name, c := range map[string]struct {
		have  []int // of epochs
		topic [16]byte
		want  int // -1: none
	}{
		"the only topic":             {[]int{0}, a, 0},
		"the later":                  {[]int{0, 1}, b, 1},
		"the earlier":                {[]int{0, 1}, a, 0},
		"the earliest, and the last": {[]int{0, 1, 2}, a, 2},
		"in the middle":              {[]int{0, 1, 2}, b, 1},
		"another":                    {[]int{0, 1}, [16]byte{7}, -1},
		"not known":                  {[]int{0, 1}, [16]byte{}, 1},
	} {
		for range 2 {
			var cov Coverage
			for _, n := range c.have {
				cov.Add(3, epochs[n])
			}
			cov.Of(map[int32]event.Span{3: {Next: 1000, TopicID: c.topic}})
			want := map[int32]Covered{}
			if c.want >= 0 {
				want[3] = epochs[c.want]
			}
			if !maps.Equal(cov.Partitions, want) {
				t.Errorf("%s: %+v, want %+v", name, cov.Partitions, want)
			}
			slices.Reverse(c.have)
		}
	}
}
