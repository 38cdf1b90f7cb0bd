package topk

import (
	"slices"

	"weir/measures/face"
	"weir/window"
)

// Live answers with an *Answer.
var Live = face.Live{
	Shows:   face.List,
	Command: "TOPK.LIST",
	Number:  face.NumberOf(func(t *Answer) []face.Counted { return t.Keys }, []face.Counted{}),
	Value: func(row window.Row, m int) any {
		t := Of(row, m)
		if t.Events == 0 {
			return nil
		}
		return NewAnswer(t.List, row.Spec().Measures[m].K)
	},
}

// NewAnswer returns an Answer that names the first k keys of a list, the most frequent first.
func NewAnswer(list []Key, k int) *Answer {
	top := &Answer{Keys: []face.Counted{}, places: make(map[string]int, len(list)), counts: make([]uint64, len(list))}
	for i, e := range list {
		if i < k {
			top.Keys = append(top.Keys, face.Counted(e))
		}
		top.places[e.Key], top.counts[i] = i, e.Count
	}
	top.Keys = slices.Clip(top.Keys)
	return top
}

// An Answer has the most frequent keys of some windows.
type Answer struct {
	Keys   []face.Counted // the k most frequent ones, the most frequent first
	places map[string]int // in counts, which begins as Keys does and has further keys
	counts []uint64
}

// Count returns how many events a key has at least; 0 if it is not among the most
// frequent ones.
func (t *Answer) Count(key []byte) uint64 {
	if i, ok := t.places[string(key)]; ok {
		return t.counts[i]
	}
	return 0
}

// Has reports whether a key is one of Keys.
func (t *Answer) Has(key []byte) bool {
	i, ok := t.places[string(key)]
	return ok && i < len(t.Keys)
}
