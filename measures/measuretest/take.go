// Package measuretest counts a few events in one measure, for the tests of the kinds.
package measuretest

import (
	"testing"

	"weir/event"
	"weir/window"
)

// Spec is a job without groups, with windows of a minute.
func Spec(measures ...window.Measure) *window.Spec {
	return &window.Spec{
		Job: "sales", Version: 1, TimeField: "ts", TimeUnit: event.Seconds, Window: 60_000, Chunk: 1 << 20, MaxGroups: 10, Lateness: 1000, Skew: 1000,
		Measures: measures,
	}
}

// Count counts events, each given without its time, in one window of the job. ok is false if
// none of them counts.
func Count(t testing.TB, spec *window.Spec, events ...string) (row window.Row, ok bool, dead []window.DeadLetter) {
	t.Helper()
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	op.Start(window.Plan{})
	b := event.Batch{Next: int64(len(events))}
	for i, e := range events {
		b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 60_000, Value: []byte(`{"ts":60` + e + `}`)})
	}
	if err := op.Observe(&b); err != nil {
		t.Fatal(err)
	}
	c := op.Take()
	c.Table.Seal()
	for row = range c.Table.Rows {
		ok = true
	}
	return row, ok, c.Dead
}

// Take is Count for one measure.
func Take(t testing.TB, m window.Measure, events ...string) (window.Row, bool, []window.DeadLetter) {
	t.Helper()
	return Count(t, Spec(m), events...)
}

// Taken returns the row of events with these values of the measure's field, which must
// all count.
func Taken(t testing.TB, m *window.Measure, values ...string) window.Row {
	t.Helper()
	var events []string
	for _, v := range values {
		events = append(events, `,"`+m.Path+`":`+v)
	}
	row, found, dead := Take(t, *m, events...)
	if !found || len(dead) > 0 {
		t.Fatalf("%s of %s: found %t, dead letters %v", m.Kind, values, found, dead)
	}
	return row
}
