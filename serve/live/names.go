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
// people who look around. It is not complete for busy jobs.
func (w *Windows) Names(ctx context.Context, yield func(Name) bool) error {
	for _, job := range w.names() {
		list, err := w.lists.get(ctx, job, listAge, func(took *work) ([]Name, error) {
			list, err := w.list(ctx, w.jobs[job])
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

func (w *Windows) list(ctx context.Context, s *source) (list []Name, err error) {
	start, _ := w.Start(s.spec.Job, listWindows)
	r := &window.Range{From: start, Until: event.Time(w.cfg.Now().UnixMilli()) + s.spec.Skew + s.spec.Window, Group: make([][]byte, len(s.spec.By))}
	seen := map[string]bool{}
	one := func(start event.Time, group []string) bool {
		key := fmt.Sprintf("%d %q", start, group)
		if seen[key] {
			return true
		}
		seen[key] = true
		list = append(list, Name{s.spec.Job, Hits, start, group})
		for _, m := range s.spec.Measures {
			if m.Kind != window.Geo {
				list = append(list, Name{s.spec.Job, m.Name, start, group})
			}
		}
		return true
	}
	mem, err := w.memory(ctx, s, totalHits)
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
	return list, s.sink.Windows(ctx, r, listRows, one)
}
