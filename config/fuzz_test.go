package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzLoad: for any file, Load either returns a configuration that the core
// accepts and that Print and Load reproduce, or a list of problems, each on a
// line of its own with its place. It never panics.
//
// Its seeds are every case of the golden messages and every valid file.
func FuzzLoad(f *testing.F) {
	for _, c := range readBadCases(f) {
		f.Add([]byte(c.yaml))
	}
	for _, data := range []string{
		full, conditional, shardLists, shardEntries, "", "kafka:\n", "jobs:\n", "flush: {interval: 1s}\nrollup: {interval: 1m}", "kafka: {brokers: 'a:1'}",
		"jobs: [{name: a, topic: a, window: 1m, time: {unit: record}}]",
	} {
		f.Add([]byte(data))
	}
	for _, source := range Sources() {
		f.Add(fmt.Appendf(nil, "jobs: [{name: e, topic: e, preset: %s}]", source))
	}
	for _, file := range []string{"../weir.yaml", "presets/clicks.yaml", "presets/locations.yaml", "testdata/printed.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	schema := compiledSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, origins, err := Load(Options{File: "weir.yaml", Data: data, NoJobs: true, NoSecrets: true})
		if err != nil {
			var list *Error
			if !errors.As(err, &list) {
				t.Fatalf("%T: %v", err, err)
			}
			for got := range strings.SplitSeq(err.Error(), "\n") {
				if !line.MatchString(got) {
					t.Errorf("%q is not of the form file:line:col: path: problem", got)
				}
			}
			return
		}
		if err := validates(t, schema, data); err != nil {
			t.Errorf("Load accepts what the JSON Schema does not: %v", err)
		}
		var out bytes.Buffer
		if err := Print(&out, cfg, origins); err != nil {
			t.Fatal(err)
		}
		again, _, err := Load(Options{File: "printed.yaml", Data: out.Bytes(), NoJobs: true, NoSecrets: true})
		if err != nil {
			t.Fatalf("printed form:\n%v\n%s", err, out.String())
		}
		if diff := cmp.Diff(cfg, again, cmp.AllowUnexported(Secret{}), cmpopts.IgnoreFields(Job{}, "Schema")); diff != "" {
			t.Errorf("printed form: -before +after\n%s\n%s", diff, out.String())
		}
	})
}
