package audit

import (
	"slices"
	"testing"
)

// TestShort: views that show less than was counted are noted, unless a finding may be the reason.
func TestShort(t *testing.T) {
	const all = 80 + 30 + 99 + 10 // the greatest lines of the chunks of sound
	for _, c := range []struct {
		name   string
		shown  []uint64 // by level; nil: no rollup is kept for ever
		change func(a *Audit)
		want   []Finding
	}{
		{"all are there", []uint64{all}, nil, nil},
		{"no rollup is kept", nil, nil, nil},
		{"a longer rollup began later", []uint64{40, all}, nil, nil},
		{"some are missing", []uint64{40, all - 7}, nil, []Finding{{Class: Short, Job: "clicks", Topic: "web", Expected: all, Found: all - 7}}},
		{"an expired chunk counts too", []uint64{all - 7}, func(a *Audit) { a.tally[slot(1, 5)].skip = true }, []Finding{{Class: Short, Job: "clicks", Topic: "web", Expected: all, Found: all - 7}}},
		{"rows are missing", []uint64{all - 7}, func(a *Audit) { a.tally[slot(1, 5)].hits -= 7 }, nil},
		{"a chunk is being written", []uint64{all - 7}, func(a *Audit) { a.tally[slot(1, 5)].hits -= 7; a.Fresh(slot(1, 5)) }, nil},
		{"a chunk is being written, and more are missing", []uint64{all - 7}, func(a *Audit) { a.tally[slot(1, 5)].hits -= 3; a.Fresh(slot(1, 5)) }, []Finding{{Class: Short, Job: "clicks", Topic: "web", Expected: all - 3, Found: all - 7}}},
	} {
		a := sound().read()
		if c.change != nil {
			c.change(a)
		}
		for _, n := range c.shown {
			a.Shown(n)
		}
		var got []Finding
		for _, f := range slices.Collect(a.Notes) {
			if f.Class == Short {
				got = append(got, f)
			}
		}
		check(t, c.name, got, c.want)
	}
	a := sound().read()
	if a.Shown(all-1) || !a.Shown(all) {
		t.Error("Shown does not say whether that is all")
	}
}
