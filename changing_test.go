package weir_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"weir/config"
	"weir/demo/local/localtest"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// TestChanging checks docs/changing.md: each row's change takes what the row
// says, and every key of a job has a row.
func TestChanging(t *testing.T) {
	file := filepath.Join("docs", "changing.md")
	job := func(text string) map[string]any {
		t.Helper()
		var doc struct{ Jobs []map[string]any }
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Jobs) != 1 {
			t.Fatalf("%s\n%v", text, err)
		}
		return doc.Jobs[0]
	}
	examples := blocks(t, file, "yaml")
	base := job(examples[0])
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	url, database := localtest.Engine(t)
	client, err := clickhouse.Open(wire.Config{URLs: []string{url}, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key":         "sixteen bytes, or more",
		"click.avsc":  `{"type":"record","name":"Click","fields":[{"name":"ts","type":"long"},{"name":"page","type":"string"},{"name":"user_id","type":"long"}]}`,
		"click.proto": `syntax = "proto3"; message Click { int64 ts = 1; string page = 2; int64 user_id = 3; } message View {}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(values map[string]any) []schema.Job {
		t.Helper()
		text, err := yaml.Marshal(map[string]any{"jobs": []any{values}, "registry": map[string]any{"url": "http://127.0.0.1:8081"}})
		if err != nil {
			t.Fatal(err)
		}
		cfg, _, err := config.Load(config.Options{File: file, Data: text})
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		spec := cfg.Jobs[0].Spec()
		j := schema.Job{Spec: spec, Topic: cfg.Jobs[0].Topic, Keep: time.Duration(cfg.Jobs[0].Keep)}
		for _, r := range cfg.Jobs[0].Rollups {
			j.Rollups = append(j.Rollups, schema.Rollup{Window: time.Duration(r.Window), Keep: time.Duration(r.Keep), KeepStates: time.Duration(r.KeepStates)})
		}
		return []schema.Job{j}
	}
	if _, err := client.Migrate(t.Context(), load(base), migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	// takes returns what a change of the base job takes.
	takes := func(values map[string]any) string {
		t.Helper()
		steps, err := client.Migrate(t.Context(), load(values), migrate.Options{DryRun: true})
		var refused *wire.Error
		switch {
		case errors.As(err, &refused) && refused.Fatal() && strings.Contains(err.Error(), "or raise version to 2"):
			return "version"
		case err != nil:
			t.Fatal(err)
		case len(steps) > 0:
			return "migrate"
		}
		return "nothing"
	}
	if got := takes(base); got != "nothing" {
		t.Fatalf("no change takes %s", got)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(.+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(text), -1) {
		var change map[string]any
		if err := yaml.Unmarshal([]byte(regexp.MustCompile(`(_file: )(\w)`).ReplaceAllString(m[2], "${1}"+dir+"/$2")), &change); err != nil || change[m[1]] == nil {
			t.Fatalf("%s: %s is no example: %v", m[1], m[2], err)
		}
		documented[m[1]] = true
		changed := maps.Clone(base)
		if m[1] == "lost_schemas" { // which needs a registry
			changed["name"], changed["format"] = "framed", "avro"
			if _, err := client.Migrate(t.Context(), load(changed), migrate.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		maps.Copy(changed, change)
		if got := takes(changed); got != m[3] {
			t.Errorf("%s takes %s, the page says %s", m[2], got, m[3])
		}
	}
	for f := range reflect.TypeFor[config.Job]().Fields() {
		if name := f.Tag.Get("yaml"); name != "-" && !documented[name] {
			t.Errorf("%s does not say what a change of %s takes", file, name)
		}
	}
}
