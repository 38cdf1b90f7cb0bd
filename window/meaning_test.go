package window

import (
	"fmt"
	"strings"
	"testing"

	"weir/event"
)

// TestDifference: for every key that is part of a job's meaning, a change is reported
// with the key and both values as a configuration has them, and nothing else is.
func TestDifference(t *testing.T) {
	for _, x := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(*Spec) {}, ""},
		{func(s *Spec) { s.Measures = s.Measures[:1] }, ""},
		{func(s *Spec) { s.TimeField = "at" }, "time.field was ts, is at"},
		{func(s *Spec) { s.TimeField, s.TimeUnit = "", event.RecordTime }, "time.field was ts, is nothing; time.unit was ms, is record"},
		{func(s *Spec) { s.TimeUnit = event.ISO8601 }, "time.unit was ms, is iso8601"},
		{func(s *Spec) { s.TimeUnit = event.RFC3339 }, "time.unit was ms, is rfc3339"},
		{func(s *Spec) { s.Window = 90_000 }, "window was 1m, is 90s"},
		{func(s *Spec) { s.Lateness = 0 }, "lateness was 1h, is 0s"},
		{func(s *Spec) { s.Skew = 1500 }, "skew was 10m, is 1500ms"},
		{func(s *Spec) { s.Chunk = 128 }, "chunk was 64, is 128"},
		{func(s *Spec) { s.MaxGroups = 6 }, "max_groups was 5, is 6"},
		{func(s *Spec) { s.By = s.By[:1] }, `by was [page, {name: country, field: geo.country, default: "??"}], is [page]`},
		{func(s *Spec) { s.By = nil }, `by was [page, {name: country, field: geo.country, default: "??"}], is nothing`},
		{func(s *Spec) { s.By[1] = Column{Name: "geo_country", Path: "geo.country"} }, `by was [page, {name: country, field: geo.country, default: "??"}], is [page, geo.country]`},
		{func(s *Spec) { s.By = []Column{{Name: "cell", Lon: "lon", Lat: "lat", Precision: 5}} },
			`by was [page, {name: country, field: geo.country, default: "??"}], is [{name: cell, geohash: {lon: lon, lat: lat, precision: 5}}]`},
		{func(s *Spec) { s.Where = nil }, "where was [{field: action, in: [view, click]}], is nothing"},
		{func(s *Spec) { s.Dedupe.Error = 0.001 }, "dedupe was {field: id, error: 0.0001}, is {field: id, error: 0.001}"},
		{func(s *Spec) { s.Dedupe = &Dedupe{Path: "id", Exact: true} }, "dedupe was {field: id, error: 0.0001}, is {field: id, exact: true}"},
		{func(s *Spec) { s.Dedupe = nil }, "dedupe was {field: id, error: 0.0001}, is nothing"},
		{func(s *Spec) { s.Throttle = &Throttle{Path: "user", Limit: 9, Per: 60_000} }, "throttle was nothing, is {field: user, limit: 9, per: 1m}"},
		{func(s *Spec) { s.Throttle = &Throttle{Path: "user", Limit: 9, Per: 1500, Funnel: true, Burst: 3} },
			"throttle was nothing, is {field: user, limit: 9, per: 1500ms, form: funnel, burst: 3}"},
		{func(s *Spec) { s.HashKey = &[16]byte{1} }, "hash_key_file was nothing, is a file with a secret"},
		{func(s *Spec) { s.Window, s.Chunk = 120_000, 32 }, "window was 1m, is 2m; chunk was 64, is 32"},
	} {
		s := clicks()
		x.change(s)
		got, ok := Difference(clicks().Meaning(), s.Meaning())
		if !ok || sentence(got) != x.want {
			t.Errorf("%q, %t, want %q", sentence(got), ok, x.want)
		}
		// Every change that is reported is one of the meaning.
		if (clicks().Meaning() == s.Meaning()) != (len(got) == 0) {
			t.Errorf("%q: the meanings are %q and %q", sentence(got), clicks().Meaning(), s.Meaning())
		}
	}
	one, other := clicks(), clicks()
	one.HashKey, other.HashKey = &[16]byte{1}, &[16]byte{2}
	if got, ok := Difference(one.Meaning(), other.Meaning()); !ok || sentence(got) != "hash_key_file was a file with one secret, is a file with another" {
		t.Errorf("%q, %t", sentence(got), ok)
	}
	for _, text := range []string{"", "x", "window 60\n", strings.Replace(clicks().Meaning(), "skew", "slack", 1), clicks().Meaning() + "zone \"utc\"\n", clicks().Meaning() + "by \"a\"\n"} {
		if got, ok := Difference(text, clicks().Meaning()); ok && text != "" {
			t.Errorf("%q is read: %v", text, got)
		}
	}
}

// TestMeasureDifference does the same for measures of every kind.
func TestMeasureDifference(t *testing.T) {
	for _, x := range []struct {
		was, is Measure
		want    string
	}{
		{Measure{Kind: HLL, Path: "a b"}, Measure{Kind: HLL, Path: `"c"`}, `field was a b, is "c"`},
		{Measure{Kind: HLL, Path: "u"}, Measure{Kind: Bitmap, Path: "u", Optional: true}, "kind was hll, is bitmap; optional was false, is true"},
		{Measure{Kind: Bloom, Path: "u", Capacity: 10, Error: 0.01}, Measure{Kind: Bloom, Path: "u", Capacity: 20, Error: 0.001}, "capacity was 10, is 20; error was 0.01, is 0.001"},
		{Measure{Kind: Geo, Path: "u", Lon: "x", Lat: "y"}, Measure{Kind: Geo, Path: "v", Lon: "lon", Lat: "lat"}, "member was u, is v; lon was x, is lon; lat was y, is lat"},
		{Measure{Kind: Sum, Path: "p", Scale: 2}, Measure{Kind: Sum, Path: "p", Scale: 3, Default: "0", HasDefault: true}, `scale was 2, is 3; default was nothing, is "0"`},
		{Measure{Kind: TopK, Path: "p", K: 3, Default: ` where="`, HasDefault: true}, Measure{Kind: TopK, Path: "p", K: 3, Default: "", HasDefault: true, Where: []Condition{{Path: "a", Exists: "true"}}},
			`default was " where=\"", is ""; where was nothing, is [{field: a, exists: true}]`},
	} {
		got, ok := MeasureDifference(x.was.Meaning(), x.is.Meaning())
		if !ok || sentence(got) != x.want {
			t.Errorf("%q, %t, want %q", sentence(got), ok, x.want)
		}
	}
	old := `geo "u" optional=true capacity=0 error=0 lon="x" lat="y"`
	now := Measure{Kind: Geo, Path: "u", Optional: true, Lon: "x", Lat: "y"}
	if got, ok := MeasureDifference(old, now.Meaning()); !ok || !strings.HasPrefix(sentence(got), "optional was true (as an earlier version of weir read it") {
		t.Errorf("%q, %t", sentence(got), ok)
	}
	if _, ok := MeasureDifference("ring of power", now.Meaning()); ok {
		t.Error("anything is a measure")
	}
}

func sentence(all []Change) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, fmt.Sprint(c))
	}
	return strings.Join(texts, "; ")
}
