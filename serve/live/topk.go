package live

import (
	"slices"

	"weir/window"
)

// topKind answers with a *Top.
var topKind = Kind{
	Name:    window.TopK.String(),
	Shows:   List,
	Command: "TOPK.LIST",
	Number: func(value any) any {
		if t, ok := value.(*Top); ok {
			return t.Keys
		}
		return []TopKey{}
	},
	value: func(row window.Row, m int) any {
		t := row.Top(m)
		if t.Events == 0 {
			return nil
		}
		return NewTop(t.List, row.Spec().Measures[m].K)
	},
}

// NewTop returns a Top that names the first k keys of a list, the most frequent first.
func NewTop(list []window.TopKey, k int) *Top {
	top := &Top{Keys: []TopKey{}, places: make(map[string]int, len(list)), counts: make([]uint64, len(list))}
	for i, e := range list {
		if i < k {
			top.Keys = append(top.Keys, TopKey(e))
		}
		top.places[e.Key], top.counts[i] = i, e.Count
	}
	top.Keys = slices.Clip(top.Keys)
	return top
}

// A Top has the most frequent keys of some windows.
type Top struct {
	Keys   []TopKey       // the k most frequent ones, the most frequent first
	places map[string]int // in counts, which begins as Keys does and has further keys
	counts []uint64
}

// A TopKey is a key that has at least Count events, and at most Count + Error.
type TopKey struct {
	Key   string `json:"key"`
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
}

// Count returns how many events a key has at least; 0 if it is not among the most
// frequent ones.
func (t *Top) Count(key []byte) uint64 {
	if i, ok := t.places[string(key)]; ok {
		return t.counts[i]
	}
	return 0
}

// Has reports whether a key is one of Keys.
func (t *Top) Has(key []byte) bool {
	i, ok := t.places[string(key)]
	return ok && i < len(t.Keys)
}
