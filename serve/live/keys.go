package live

import (
	"context"
	"fmt"
	"time"

	"weir/event"
	"weir/serve/key"
	"weir/window"
)

const (
	listWindows = 60   // how many windows back a listing goes
	listRows    = 5000 // how many rows of a job it names at most
)

// Keys lists the rows of each job's last windows, once per measure, as keys of single
// windows: for people who look around. It is not complete for busy jobs, nor while
// the sink cannot be asked.
func (w *Windows) Keys(ctx context.Context) (all []key.Key, err error) {
	for _, job := range w.names() {
		s := w.jobs[job]
		list, _, err := s.lists.get(ctx, "", func(took *work) ([]key.Key, error) {
			list, err := s.list(ctx, took)
			took.bytes = int64(len(list)) * 100
			return list, err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func (s *source) list(ctx context.Context, took *work) (list []key.Key, err error) {
	now, size := s.now(), s.spec.Window
	r := &window.Range{From: now - now%size - listWindows*size, Until: now + s.spec.Skew + size, Group: make([][]byte, len(s.spec.By))}
	seen := map[string]bool{}
	add := func(start event.Time, group []string) bool {
		id := fmt.Sprintf("%d %q", start, group)
		if seen[id] {
			return true
		}
		seen[id] = true
		at := key.Point{Start: time.UnixMilli(int64(start)).UTC()}
		var groups []key.Group
		for _, g := range group {
			groups = append(groups, key.Group{Value: g})
		}
		list = append(list, key.Key{Job: s.spec.Job, Measure: Hits, From: at, To: at, Groups: groups})
		for _, m := range s.spec.Measures {
			if !m.Kind.ByMember {
				list = append(list, key.Key{Job: s.spec.Job, Measure: m.Name, From: at, To: at, Groups: groups})
			}
		}
		return true
	}
	mem, err := s.memory(ctx, took, window.Counts)
	if err != nil {
		return nil, err
	}
	for _, t := range mem {
		for row := range t.Selected(r) {
			var group []string
			for _, g := range row.Group(nil) {
				group = append(group, string(g))
			}
			add(row.Window(), group)
		}
	}
	asking, cancel := context.WithTimeoutCause(ctx, sinkTimeout, errSinkTimeout)
	defer cancel()
	if _, err = s.look(asking); err == nil {
		err = s.sink.Windows(asking, r, listRows, add)
	}
	if ctx.Err() == nil {
		err = nil // without the sink, the list has the keys in memory
	}
	return list, err
}
