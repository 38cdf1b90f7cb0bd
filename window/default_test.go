package window_test

import (
	"bytes"
	"strings"
	"testing"

	"weir/measures"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/measuretest"
	"weir/measures/ordered"
	. "weir/window"
)

// TestDefault: of every kind that has a default, events without the field make the state that
// events with the default in the field make.
func TestDefault(t *testing.T) {
	events := []string{`,"x":7`, ``, `,"x":null`, `,"x":12`, ``}
	for _, k := range measures.All {
		m := Measure{Name: "m", Kind: k.Kind, Path: "x", Default: "3", HasDefault: true, Capacity: 100, Error: 0.01, Scale: 2, K: 3}
		if k.Kind == geo.Kind {
			continue // whose configuration has none
		}
		if k.Kind == extreme.Max {
			m.Default = "30"
		}
		var full []string
		for _, e := range events {
			if !strings.Contains(e, "x") || strings.Contains(e, "null") {
				e = `,"x":` + m.Default
			}
			full = append(full, e)
		}
		plain, optional := m, m
		plain.HasDefault, optional.HasDefault, optional.Optional = false, false, true
		got, found, dead := measuretest.Take(t, m, events...)
		want, _, _ := measuretest.Take(t, plain, full...)
		without, _, _ := measuretest.Take(t, optional, events...)
		switch state := got.AppendState(nil, 0); {
		case !found || len(dead) > 0:
			t.Errorf("%s: found %t, dead letters %v", k, found, dead)
		case !bytes.Equal(state, want.AppendState(nil, 0)):
			t.Errorf("%s: the state is not that of events with the default", k)
		case k.Kind != ordered.First && bytes.Equal(state, without.AppendState(nil, 0)):
			t.Errorf("%s: the state is that of an optional field, so this test shows nothing", k)
		}
		if _, _, dead := measuretest.Take(t, plain, events...); len(dead) != 3 {
			t.Errorf("%s: without a default %d dead letters, want 3", k, len(dead))
		}
	}
}
