package live

import (
	"context"
	"fmt"

	"weir/event"
	"weir/window"
)

// A Name is one row that can be asked for.
type Name struct {
	Job, Measure string
	Start        event.Time
	Group        []string
}

const (
	listWindows = 60   // how many windows back a listing goes
	listRows    = 5000 // how many rows of a job it names at most
)

// Names lists the rows of each job's last windows, once per measure: for
// people who look around. It is not complete for busy jobs, nor while the sink
// cannot be asked.
func (w *Windows) Names(ctx context.Context, yield func(Name) bool) error {
	for _, job := range w.names() {
		list, _, err := w.lists.get(ctx, job, func(took *work) ([]Name, error) {
			list, err := w.list(ctx, took, w.jobs[job])
			took.bytes = int64(len(list)) * 100
			return list, err
		})
		if err != nil {
			return err
		}
		for _, n := range list {
			if !yield(n) {
				return nil
			}
		}
	}
	return nil
}

func (w *Windows) list(ctx context.Context, took *work, s *source) (list []Name, err error) {
	now := w.now()
	r := &window.Range{From: s.floor(now) - listWindows*s.spec.Window, Until: now + s.spec.Skew + s.spec.Window, Group: make([][]byte, len(s.spec.By))}
	seen := map[string]bool{}
	one := func(start event.Time, group []string) bool {
		key := fmt.Sprintf("%d %q", start, group)
		if seen[key] {
			return true
		}
		seen[key] = true
		list = append(list, Name{s.spec.Job, Hits, start, group})
		for _, m := range s.spec.Measures {
			if !m.Kind.ByMember() {
				list = append(list, Name{s.spec.Job, m.Name, start, group})
			}
		}
		return true
	}
	mem, err := ingredient(took, func() (snapshot, origin, error) { return w.memory(ctx, s, totalHits) })
	if err != nil {
		return nil, err
	}
	for row := range mem.matching(r) {
		group := make([]string, len(row.group))
		for i, g := range row.group {
			group[i] = string(g)
		}
		one(row.start, group)
	}
	asking, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	if _, _, err = w.look(asking, s); err == nil {
		err = s.sink.Windows(asking, r, listRows, one)
	}
	if ctx.Err() == nil {
		err = nil // without the sink, what is in memory is listed
	}
	return list, err
}
