package window_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/sum"
	"weir/measures/topk"
	. "weir/window"
)

// TestDifference: for every key that is part of a job's meaning, a change is reported
// with the key and both values, and nothing else is.
func TestDifference(t *testing.T) {
	tsv := func(columns ...string) func(*Spec) {
		return func(s *Spec) { s.Format, s.Columns = event.TSV, columns }
	}
	same := func(*Spec) {}
	for _, x := range []struct {
		was, is func(*Spec)
		want    string
	}{
		{same, same, ""},
		{same, func(s *Spec) { s.Measures = s.Measures[:1] }, ""},
		{same, func(s *Spec) { s.TimeField, s.TimeUnit = "at", event.ISO8601 }, `time.field was "ts", is "at"; time.unit was "ms", is "iso8601"`},
		{same, func(s *Spec) {
			s.TimeZone = &event.Zone{Name: "Asia/Shanghai"}
			s.TimeZone.Change(0, 8*3600_000)
		}, `time.zone was nothing, is "Asia/Shanghai, rules 3a432b29"`},
		{same, func(s *Spec) { s.Window, s.Skew = 90_000, 1500 }, `skew was "10m", is "1500ms"; window was "1m", is "90s"`},
		{same, func(s *Spec) { s.Lateness = 0 }, `lateness was "1h", is "0s"`},
		{same, func(s *Spec) { s.Chunk, s.MaxGroups = 128, 6 }, "chunk was 64, is 128; max_groups was 5, is 6"},
		{same, func(s *Spec) { s.By = s.By[:1] },
			`by was [{"field":"page","name":"page"},{"default":"??","field":"geo.country","has_default":true,"name":"country"}], is [{"field":"page","name":"page"}]`},
		{same, func(s *Spec) { s.By[1].Default = "<>" }, `by[1].default was "??", is "<>"`},
		{same, func(s *Spec) { s.By = nil }, `by was [{"field":"page","name":"page"},{"default":"??","field":"geo.country","has_default":true,"name":"country"}], is nothing`},
		{same, func(s *Spec) { s.By[0] = Dimension{Name: "page", Lon: "lon", Lat: "lat", Precision: 5} },
			`by[0].field was "page", is nothing; by[0].lat was nothing, is "lat"; by[0].lon was nothing, is "lon"; by[0].precision was nothing, is 5`},
		{same, func(s *Spec) { s.Where = nil }, `where was [{"field":"action","in":["view","click"]}], is nothing`},
		{same, func(s *Spec) {
			s.Where = []Condition{{Any: []Condition{{Path: "[a][b]", AtLeast: "10"}, {Not: &Condition{Path: "[url] host", Prefix: []string{"www."}}}}}}
		}, `where[0].any was nothing, is [{"at_least":"10","field":"[a][b]"},{"not":{"field":"[url] host","prefix":["www."]}}]; where[0].field was "action", is nothing; where[0].in was ["view","click"], is nothing`},
		{same, func(s *Spec) { s.Dedupe = &Dedupe{Path: "id", Exact: true} }, "dedupe.error was 0.0001, is nothing; dedupe.exact was nothing, is true"},
		{same, func(s *Spec) { s.Throttle = &Throttle{Path: "user", Limit: 9, Per: 1500, Funnel: true, Burst: 3} },
			`throttle was nothing, is {"burst":3,"field":"user","funnel":true,"limit":9,"per_ms":1500}`},
		{same, func(s *Spec) { s.HashKey = &[16]byte{1} }, fmt.Sprintf(`hash_key_file was nothing, is "a key with the digest %016x"`, KeyCheck(&[16]byte{1}))},
		{same, func(s *Spec) { s.Each = event.Whole }, `each was nothing, is "$"`},
		{same, func(s *Spec) { s.Format, s.Schema, s.Glue, s.Keyed = event.Avro, "0123", true, true },
			`format was "json", is "avro"; framing was nothing, is "glue"; key_format was nothing, is "avro"; schema was nothing, is "0123"`},
		{tsv("ts", "page", "x", "id"), tsv("ts", "page", "y", "id", "more"), ""}, // those that are not read may change
		{tsv("ts", "page", "x", "id"), tsv("ts", "x", "page", "id"), "columns.page was 2, is 3"},
	} {
		was, is := clicks(), clicks()
		x.was(was)
		x.is(is)
		got := Difference(was.Meaning(), is.Meaning())
		if sentence(got) != x.want || (was.Meaning() == is.Meaning()) != (x.want == "") {
			t.Errorf("%s\nwant %s", sentence(got), x.want)
		}
	}
	if got := Difference("what an earlier build wrote", "{}"); sentence(got) != `meaning was "what an earlier build wrote", is {}` {
		t.Errorf("%s", sentence(got))
	}
}

// TestMeasureDifference does the same for measures of every kind.
func TestMeasureDifference(t *testing.T) {
	for _, x := range []struct {
		was, is Measure
		want    string
	}{
		{Measure{Kind: hll.Kind, Path: "u"}, Measure{Kind: bitmap.Kind, Path: `"c"`, Optional: true}, `field was "u", is "\"c\""; kind was "hll", is "bitmap"; optional was nothing, is true`},
		{Measure{Kind: bloom.Kind, Path: "u", Capacity: 10, Error: 0.01}, Measure{Kind: bloom.Kind, Path: "u", Capacity: 20, Error: 0.001}, "capacity was 10, is 20; error was 0.01, is 0.001"},
		{Measure{Kind: geo.Kind, Path: "u", Lon: "x", Lat: "y"}, Measure{Kind: geo.Kind, Path: "v", Lon: "lon", Lat: "lat"}, `lat was "y", is "lat"; lon was "x", is "lon"; member was "u", is "v"`},
		{Measure{Kind: sum.Sum, Path: "p", Scale: 2}, Measure{Kind: sum.Sum, Path: "p", Scale: 3, HasDefault: true}, `has_default was nothing, is true; scale was 2, is 3`},
		{Measure{Kind: topk.Kind, Path: "p", K: 3}, Measure{Kind: topk.Kind, Path: "p", K: 30, Where: []Condition{{Path: "a", Exists: "true"}}}, `k was 3, is 30; where was nothing, is [{"exists":"true","field":"a"}]`},
	} {
		if got := Difference(x.was.Meaning(), x.is.Meaning()); sentence(got) != x.want {
			t.Errorf("%s\nwant %s", sentence(got), x.want)
		}
	}
}

func sentence(all []Change) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, fmt.Sprint(c))
	}
	return strings.Join(texts, "; ")
}
