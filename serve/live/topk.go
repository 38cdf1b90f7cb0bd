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
	total: func(row window.Row, m int) any {
		t := row.Top(m)
		if t.Events == 0 {
			return nil
		}
		top := &Top{Keys: []TopKey{}, counts: make(map[string]uint64, len(t.List))}
		for i, e := range t.List {
			if i < row.Spec().Measures[m].K {
				top.Keys = append(top.Keys, TopKey(e))
			}
			top.counts[e.Key] = e.Count
		}
		top.Keys = slices.Clip(top.Keys)
		return top
	},
}

// A Top has the most frequent keys of some windows.
type Top struct {
	Keys   []TopKey          // the k most frequent ones, the most frequent first
	counts map[string]uint64 // of further keys too
}

// A TopKey is a key that has at least Count events, and at most Count + Error.
type TopKey struct {
	Key   string `json:"key"`
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
}

// Count returns how many events a key has at least; 0 if it is not among the most
// frequent ones.
func (t *Top) Count(key []byte) uint64 { return t.counts[string(key)] }

// Has reports whether a key is one of Keys.
func (t *Top) Has(key []byte) bool {
	return slices.ContainsFunc(t.Keys, func(e TopKey) bool { return e.Key == string(key) })
}
