package window

import (
	"bytes"
	"strings"
	"testing"
)

// TestDefault: of every kind that has a default, events without the field make the state that
// events with the default in the field make.
func TestDefault(t *testing.T) {
	events := []string{`,"x":7`, ``, `,"x":null`, `,"x":12`, ``}
	for _, k := range Kinds() {
		m := Measure{Name: "m", Kind: k, Path: "x", Default: "3", HasDefault: true, Capacity: 100, Error: 0.01, Scale: 2, K: 3}
		if k == Geo {
			m.Lon, m.Lat = "lon", "lat"
			if m.CheckDefault() == "" {
				t.Error("a member has a default")
			}
			continue
		}
		if k == Max {
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
		got, found, dead := take(t, m, events...)
		want, _, _ := take(t, plain, full...)
		without, _, _ := take(t, optional, events...)
		switch state := got.AppendState(nil, 0); {
		case !found || len(dead) > 0:
			t.Errorf("%s: found %t, dead letters %v", k, found, dead)
		case !bytes.Equal(state, want.AppendState(nil, 0)):
			t.Errorf("%s: the state is not that of events with the default", k)
		case k != First && bytes.Equal(state, without.AppendState(nil, 0)):
			t.Errorf("%s: the state is that of an optional field, so this test shows nothing", k)
		}
		if _, _, dead := take(t, plain, events...); len(dead) != 3 {
			t.Errorf("%s: without a default %d dead letters, want 3", k, len(dead))
		}
	}
}

// TestWrongDefault: a default that the kind could not read in an event is an error.
func TestWrongDefault(t *testing.T) {
	for _, x := range []struct {
		m    Measure
		want string
	}{
		{Measure{Kind: Sum, Scale: 1, Default: "0.5"}, ""},
		{Measure{Kind: Sum, Scale: 1, Default: "0.55"}, "has more than 1 digits after the point, which is the scale of the measure"},
		{Measure{Kind: Avg, Default: "zero"}, "is not a number"},
		{Measure{Kind: Max, Default: ""}, "is not a number"},
		{Measure{Kind: Quantile, Error: 0.01, Default: "1e999"}, "is not a number"},
		{Measure{Kind: TopK, K: 1, Default: ""}, ""},
		{Measure{Kind: Last, Default: strings.Repeat("x", maxValue+1)}, "is longer than 1 KiB"},
		{Measure{Kind: Bitmap, Default: "-1"}, "is not an unsigned integer below 2^32"},
	} {
		x.m.Name, x.m.Path, x.m.HasDefault = "m", "x", true
		if got := x.m.CheckDefault(); got != x.want {
			t.Errorf("%s with the default %.10q: %q, want %q", x.m.Kind, x.m.Default, got, x.want)
		}
		if err := salesSpec(x.m).Validate(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), "the default "+x.want) {
			t.Errorf("%s with the default %.10q: %v", x.m.Kind, x.m.Default, err)
		}
	}
	if salesSpec(Measure{Name: "m", Kind: Max, Path: "x", Default: "0", HasDefault: true, Optional: true}).Validate() == nil {
		t.Error("a measure is optional and has a default")
	}
}
