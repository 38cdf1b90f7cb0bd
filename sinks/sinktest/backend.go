package sinktest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	"weir/audit"
	"weir/event"
	"weir/sinks/memory"
	"weir/window"
)

// A Sink is what the suite tests: the methods that package jobs uses, and the audit.
type Sink interface {
	Known(ctx context.Context) (map[int32]window.Known, error)
	Insert(ctx context.Context, c *window.Changes) (round uint64, err error)
	Write(ctx context.Context, c *window.Changes) error
	Rollup(ctx context.Context, all bool, watermark event.Time) error
	Fold(ctx context.Context) error // of lines of any age
	Audit(ctx context.Context, a *audit.Audit, progress func(done, total int)) error
}

// Rollups are the window lengths of the suite's rollups, in ms.
var Rollups = []event.Time{60_000, 3_600_000}

// Topic is the topic of the suite's job.
const Topic = "suite"

// A Backend is a store that is empty at first. The suite uses it to open sinks, and to
// look into the store and damage it. The methods fail the test if something goes wrong.
type Backend interface {
	// Open opens the job, and makes its tables if they are missing. The suite calls it
	// again for a process that restarted, and for a second process.
	Open(t *testing.T, spec *window.Spec) (Sink, error)

	// Contents reads everything back, merged. Rollups may be left out.
	Contents(t *testing.T, spec *window.Spec) *memory.Contents

	// View reads what the view of a rollup shows.
	View(t *testing.T, spec *window.Spec, length event.Time) map[memory.Key]memory.Numbers

	// Rolled reads the finished numbers of the measures that do not add up from the rollup itself.
	Rolled(t *testing.T, spec *window.Spec, length event.Time) map[memory.Key]memory.Numbers

	// Repair recomputes all rollups.
	Repair(t *testing.T, spec *window.Spec)

	// These damage the store: they delete a row or a whole rollup, raise a count by
	// one, and delete or change a ledger line.
	DeleteRow(t *testing.T, spec *window.Spec, key memory.Key)
	DeleteRollup(t *testing.T, spec *window.Spec, length event.Time)
	RaiseSlot(t *testing.T, spec *window.Spec, key memory.Key, slot window.Slot)
	DeleteLine(t *testing.T, spec *window.Spec, key memory.LineKey)
	ChangeLine(t *testing.T, spec *window.Spec, line window.Line)
}

// Same compares contents and reports the first differences.
func Same(t *testing.T, what string, got, want *memory.Contents) {
	t.Helper()
	report := reporter{t: t, what: what}
	for _, key := range union(got.Rows, want.Rows) {
		g, w := got.Rows[key], want.Rows[key]
		if g == nil || w == nil {
			report.f("row %q there: %t, wanted: %t", key, g != nil, w != nil)
			continue
		}
		if !maps.Equal(g.Hits, w.Hits) {
			report.f("row %q holds %v, want %v", key, g.Hits, w.Hits)
		}
		for name, s := range w.States {
			if h, ok := g.States[name]; !ok || !bytes.Equal(h.Bytes, s.Bytes) {
				report.f("row %q: another state of %s", key, name)
			}
		}
	}
	for _, m := range union(got.Places, want.Places) {
		for _, key := range union(got.Places[m], want.Places[m]) {
			if g, w := got.Places[m][key], want.Places[m][key]; g != w {
				report.f("%s of %q is %v, want %v", m, key, g, w)
			}
		}
	}
	for _, key := range union(got.Ledger, want.Ledger) {
		if g, w := got.Ledger[key], want.Ledger[key]; g != w {
			report.f("ledger line %v is %v, want %v", key, g, w)
		}
	}
	for _, key := range union(got.Dead, want.Dead) {
		g, w := got.Dead[key], want.Dead[key]
		if g.Outcome != w.Outcome || g.Reason != w.Reason || g.Time != w.Time || string(g.Payload) != string(w.Payload) || g.Size != w.Size {
			report.f("dead letter %v is %v, want %v", key, g, w)
		}
	}
}

// SameNumbers compares what a view shows.
func SameNumbers(t *testing.T, what string, got, want map[memory.Key]memory.Numbers) {
	t.Helper()
	report := reporter{t: t, what: what}
	for _, key := range union(got, want) {
		g, w := got[key], want[key]
		if g.Hits != w.Hits || !maps.Equal(g.Measures, w.Measures) {
			report.f("%q shows %v, want %v", key, g, w)
		}
	}
}

func union[K comparable, V any](a, b map[K]V) []K {
	all := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			all = append(all, k)
		}
	}
	return all
}

// reporter reports the first four differences only, because one mistake makes hundreds.
type reporter struct {
	t    *testing.T
	what string
	n    int
}

func (r *reporter) f(format string, args ...any) {
	r.t.Helper()
	if r.n++; r.n <= 4 {
		r.t.Errorf(r.what+": "+format, args...)
	}
}
