package clickhouse

import (
	"math"
	"slices"
	"testing"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// TestReadNames: no name of a group column or a measure is taken for one that a statement that
// reads, or one of the audit, gives.
func TestReadNames(t *testing.T) {
	j := clicks()
	j.Spec.By = nil
	for _, name := range []string{"n", "st", "w", "known", "held", "had", "has", "rolled", "made", "touched", "kept", "due", "merged", "slot", "oldest", "finished"} {
		j.Spec.By = append(j.Spec.By, window.Dimension{Name: name, Path: "page"})
	}
	for i, name := range []string{"stamp", "odd", "whole"} {
		j.Spec.Measures[i].Name = name
	}
	sink := full(t, open(t), j)
	op := operator(t, j.Spec, 0)
	observe(t, op, 0, 0, noon, click(int64(noon), "/a", 1, "x"), click(int64(noon), "/a", 2, "y"), click(int64(noon), "/b", 3, "z"), click(int64(noon)+60_000, "/a", 2, "u"))
	write(t, sink, op.Take())
	if err := sink.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	if odd := read(t, sink.client, "SELECT * FROM "+sink.client.Name("weir_audit")); len(odd) > 0 {
		t.Error(odd)
	}
	a := audit.New(audit.Job{Name: j.Spec.Job, Topic: j.Topic, Chunk: j.Spec.Chunk}, audit.Scope{From: 1})
	if err := sink.Audit(t.Context(), a, nil); err != nil {
		t.Error(err)
	}
	for f := range a.Findings {
		t.Errorf("%+v", f)
	}
	for group, want := range map[string]struct {
		hits, ids uint64
		rows      int
	}{"": {4, 3, 3}, "/a": {3, 2, 2}} {
		r := &window.Range{From: 0, Until: math.MaxInt64 / 2000, Group: make([][]byte, len(j.Spec.By))}
		if group != "" {
			for i := range r.Group {
				r.Group[i] = []byte(group)
			}
		}
		if total, err := sink.Total(t.Context(), r); err != nil || total != want.hits {
			t.Errorf("%q: %d hits, want %d; %v", group, total, want.hits, err)
		}
		sum := uint64(0)
		if err := sink.Totals(t.Context(), r, func(_ event.Time, n uint64) { sum += n }); err != nil || sum != want.hits {
			t.Errorf("%q: %d hits by window, want %d; %v", group, sum, want.hits, err)
		}
		for m := range j.Spec.Measures[:3] {
			state, err := sink.State(t.Context(), r, m)
			if err != nil || len(state) == 0 {
				t.Errorf("%q: a state of %d bytes of measure %d, %v", group, len(state), m, err)
				continue
			}
			if n, err := j.Spec.Measures[m].Number(state); err != nil || m < 2 && n != want.ids {
				t.Errorf("%q: measure %d counts %d, want %d; %v", group, m, n, want.ids, err)
			}
			into := window.NewTable(j.Spec)
			if err := sink.Rows(t.Context(), r, m, into); err != nil || into.Len() != want.rows {
				t.Errorf("%q: %d rows of measure %d, want %d; %v", group, into.Len(), m, want.rows, err)
			}
		}
		var starts []event.Time
		if err := sink.Windows(t.Context(), r, 10, func(start event.Time, _ []string) bool {
			starts = append(starts, start)
			return true
		}); err != nil || len(starts) != want.rows || !slices.IsSorted(starts) {
			t.Errorf("%q: windows %d, want %d; %v", group, starts, want.rows, err)
		}
	}
}
