package config

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestSources: a job that names a preset needs nothing else but a name and a topic, is printed
// with all its keys, and means what testdata/sources.txt says, for ever.
func TestSources(t *testing.T) {
	var meanings bytes.Buffer
	for _, source := range Sources() {
		data := fmt.Appendf(nil, "jobs: [{name: e, topic: e, preset: %s}]", source)
		cfg, origins := mustLoad(t, Options{File: "weir.yaml", Data: data})
		var out bytes.Buffer
		if err := Print(&out, cfg, origins); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "window: 1m # preset "+source+":") {
			t.Errorf("printed as\n%s", &out)
		}
		s := cfg.Jobs[0].Spec()
		fmt.Fprintf(&meanings, "== %s\n%s", source, s.Meaning())
		for _, m := range s.Measures {
			fmt.Fprintf(&meanings, "%s: %s\n", m.Name, m.Meaning())
		}
	}
	golden(t, "testdata/sources.txt", meanings.Bytes())
}

// TestSourceKeys: a key that the job gives takes the place of the preset's, and an origin names the preset.
func TestSourceKeys(t *testing.T) {
	cfg, origins := mustLoad(t, Options{File: "weir.yaml", Data: []byte("jobs:\n  - {name: a, topic: a, preset: segment, window: 5m, by: [type]}\n  - {name: b, topic: b, time: {field: ts}, window: 1m}")})
	j := cfg.Jobs[0]
	if j.Window.String() != "5m" || len(j.By) != 1 || j.Dedupe == nil || len(j.Measures) != 1 || cfg.Jobs[1].Dedupe != nil {
		t.Errorf("%+v", j)
	}
	if at := origins.Of("jobs[0].dedupe.field").Where(); at != "preset segment:7:17" {
		t.Errorf("dedupe.field is from %s", at)
	}
}
