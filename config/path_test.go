package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestEnvelopePaths: the key and the headers of a record are paths, and other spellings of
// them are refused with the right one.
func TestEnvelopePaths(t *testing.T) {
	for path, want := range map[string]string{
		"key": "key:", "key.user.id": "key:user.id", "header:ce_type": "header:ce_type", "header:a.0": "header:a.0", "value.key": "key", "value.key.a": "key.a", "value.a": "value.a", "dc:title": "dc:title",
		`labels."log.level"`: `labels."log.level"`, `"page"."ts"`: "page.ts", `"header:x"`: `"header:x"`, `"$.a"`: `"$.a"`, `params[key=page].value`: "params[key=page].value", `params["key"="a]"].value`: `params[key="a]"].value`,
	} {
		cfg, _ := mustLoad(t, Options{Data: fmt.Appendf(nil, "jobs: [{name: clicks, topic: clicks, window: 1m, time: {field: ts}, by: [{name: column, field: %q}]}]", path), File: "weir.yaml"})
		spec := cfg.Jobs[0].Spec()
		if spec.By[0].Path != want || spec.ReadsEnvelope() != (want == "key:" || want == "key:user.id" || strings.HasPrefix(want, "header:")) {
			t.Errorf("%s is read as %s, envelope %v", path, spec.By[0].Path, spec.ReadsEnvelope())
		}
	}
	data := []byte(`jobs: [{name: clicks, topic: clicks, window: 1m, time: {field: ts}, by: [key, {name: user, field: [key.user, "header:user"]}]}]`)
	cfg, _ := mustLoad(t, Options{Data: data, File: "weir.yaml"})
	spec := cfg.Jobs[0].Spec()
	if spec.By[0].Name != "key" || spec.By[0].Path != "key:" || spec.By[1].Path != "[key:user][header:user]" {
		t.Errorf("%+v", spec)
	}
}
