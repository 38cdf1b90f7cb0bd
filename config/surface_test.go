package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"weir/measures"
)

// other returns a valid value for a leaf that is not its default.
func other(t *testing.T, k *key) string {
	t.Helper()
	byFormat := map[string]string{
		"address": "elsewhere:1", "redis": "elsewhere:2", "each": "elsewhere", "topic": "elsewhere", "url": "https://elsewhere:1", "http": "https://elsewhere:1", "database": "elsewhere",
		"cluster": "elsewhere", "member": "1/3", "listen": "localhost:1",
	}
	switch {
	case len(k.enum) > 0:
		for _, word := range k.enum {
			if word != k.def && word != "" {
				return word
			}
		}
	case k.typ == boolean:
		return "true"
	case k.typ == duration, k.typ == size, k.typ == integer:
		return k.max
	case byFormat[k.format] != "":
		return byFormat[k.format]
	case k.typ == text && k.format == "":
		return "elsewhere"
	}
	t.Fatalf("no other value for %s; teach this test one", k.path)
	return ""
}

// loadOne is Load without the rules between values, for tests that change one
// value at a time.
func loadOne(t *testing.T, env []string, args []string) (*Config, *Origins) {
	t.Helper()
	r := &reader{places: map[string]Origin{}}
	cfg, err := merge(nil, r.outside(Options{Env: env, Flags: flagsOf(t, args...)}))
	if err = errors.Join(err, r.problems.err()); err != nil {
		t.Fatal(err)
	}
	return cfg, &Origins{places: r.places}
}

// field returns the field of a leaf.
func (c *Config) field(path string) reflect.Value {
	v, k := reflect.ValueOf(c).Elem(), table()
	for name := range strings.SplitSeq(path, ".") {
		k = k.child(name)
		v = v.FieldByIndex(k.index)
	}
	return v
}

// TestEveryLeafIsBound sets each value once by its variable and once by its
// flag and looks for it in the struct: with viper, a key that no code reads is
// an easy mistake.
func TestEveryLeafIsBound(t *testing.T) {
	seen := map[string]string{}
	defaults, _ := loadOne(t, nil, nil)
	for _, k := range table().leaves() {
		if first := seen[k.env()]; first != "" {
			t.Errorf("%s and %s share the variable %s", first, k.path, k.env())
		}
		seen[k.env()] = k.path

		value := other(t, k)
		cfg, origins := loadOne(t, []string{k.env() + "=" + value}, nil)
		if at := origins.Of(k.path).Where(); at != k.env() || reflect.DeepEqual(cfg.field(k.path).Interface(), defaults.field(k.path).Interface()) {
			t.Errorf("%s=%s changes nothing, or is of the origin %s", k.env(), value, at)
		}
		if k.secret != "" {
			continue
		}
		byFlag, origins := loadOne(t, nil, []string{"--" + k.path + "=" + value})
		got, want, at := byFlag.field(k.path).Interface(), cfg.field(k.path).Interface(), origins.Of(k.path).Where()
		if at != "--"+k.path || !reflect.DeepEqual(got, want) {
			t.Errorf("--%s=%s: got %v of %s, by variable %v", k.path, value, got, at, want)
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d leaves", len(seen))
	}
}

// TestDefaultsAreValid: the rules of a tag accept its default, and no key lacks a tag.
func TestDefaultsAreValid(t *testing.T) {
	var walk func(k *key)
	walk = func(k *key) {
		for _, c := range k.keys {
			walk(c)
			if c.name == "" || c.doc == "" || c.def == "" && (c.typ == boolean || c.typ == integer) && !c.required || c.max == "" && (c.typ == texts || c.typ == sections) {
				t.Errorf("%s lacks a tag", c.path)
			}
		}
		if k.def == "" {
			return
		}
		if got, err := k.element().check(k.def); err != nil {
			t.Errorf("default of %s: %v", k.path, err)
		} else if got != k.def {
			t.Errorf("default of %s: %s, in canonical form %s", k.path, k.def, got)
		}
	}
	walk(table())
}

// TestKeysOfKinds: a kind lists keys that only some kinds have, and at least one.
func TestKeysOfKinds(t *testing.T) {
	for _, kind := range measures.All {
		for name := range kind.Config.Keys {
			if k := table().child("jobs").child("measures").child(name); k == nil || k.when.sibling != "kind" {
				t.Errorf("%s lists %s, which is no key of some kinds of measures", kind, name)
			}
		}
		if len(kind.Config.Keys) == 0 {
			t.Errorf("%s lists no key, so a measure of it can have none", kind)
		}
	}
}

// TestBareFlags: a boolean flag needs no value, and two listeners may both take any free port.
func TestBareFlags(t *testing.T) {
	cfg, _ := mustLoad(t, Options{NoJobs: true, Flags: flagsOf(t, "--resp.read_only", "--http.listen=127.0.0.1:0", "--resp.listen=127.0.0.1:0")})
	if !cfg.RESP.ReadOnly || cfg.RESP.Listen != cfg.HTTP.Listen {
		t.Errorf("%+v %+v", cfg.RESP, cfg.HTTP)
	}
}

func TestFlagHelp(t *testing.T) {
	help := flagsOf(t).FlagUsages()
	for _, want := range []string{"--kafka.brokers list", "WEIR_FLUSH_INTERVAL", `(default 1s)`, "fail or skip"} {
		if !strings.Contains(help, want) {
			t.Errorf("%q is not in the help:\n%s", want, help)
		}
	}
	if strings.Contains(help, "clickhouse.password ") {
		t.Errorf("the help offers a flag for a secret:\n%s", help)
	}
}

func TestSecrets(t *testing.T) {
	const data = `
kafka: {sasl: {mechanism: plain, user: weir, password_file: testdata/secret}}
clickhouse: {password_file: testdata/secret}
jobs:
  - {name: a, topic: a, time: {field: ts}, window: 1m, hash_key_file: testdata/secret}
`
	const key = "sixteen bytes it is"
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/key", []byte(key+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{
		File: "weir.yaml", Data: []byte(strings.Replace(data, "hash_key_file: testdata/secret", "hash_key_file: "+dir+"/key", 1)),
		Env: []string{"WEIR_CLICKHOUSE_PASSWORD=from-env", "WEIR_HTTP_TOKEN=tok"},
	}
	cfg, origins := mustLoad(t, o)
	for _, s := range []struct {
		name, want string
		got        Secret
	}{
		{"from a file, line break cut", "hunter2", cfg.Kafka.SASL.Password},
		{"the environment wins", "from-env", cfg.ClickHouse.Password},
		{"environment alone", "tok", cfg.HTTP.Token},
		{"not given", "", cfg.RESP.Password},
		{"hash key", key, cfg.Jobs[0].HashKey},
	} {
		if s.got.Reveal() != s.want || s.got.IsSet() != (s.want != "") {
			t.Errorf("%s: %q, want %q", s.name, s.got.Reveal(), s.want)
		}
	}

	// No way of printing the configuration shows a secret.
	type hidden struct{ cfg *Config }
	var out bytes.Buffer
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} { // vet would refuse half of them
		fmt.Fprintf(&out, format, *cfg)
		fmt.Fprintf(&out, format, cfg.HTTP.Token)
	}
	fmt.Fprintf(&out, "%v %+v %#v", hidden{cfg}, struct{ secret Secret }{cfg.HTTP.Token}, struct{ secret Secret }{cfg.HTTP.Token})
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "cfg", cfg, "token", cfg.HTTP.Token)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "cfg", cfg, "token", cfg.HTTP.Token)
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(asJSON)
	out.Write(asYAML)
	if err := Print(&out, cfg, origins); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "from-env", "tok\"", key} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q was printed:\n%s", secret, out.String())
		}
	}
	if !strings.Contains(out.String(), masked) {
		t.Error("a masked secret should show as ***")
	}

	o.Data = []byte(data + "http: {token_file: not/there}\n")
	o.NoSecrets = true
	if cfg, _ := mustLoad(t, o); cfg.Kafka.SASL.Password.IsSet() || cfg.ClickHouse.Password.Reveal() != "from-env" {
		t.Error("NoSecrets: want no file read, and the environment still taken")
	}
}

// TestPrint: what every kind of key is read as, and where it comes from. FuzzLoad shows that the
// printed form means the same.
func TestPrint(t *testing.T) {
	o := Options{File: "weir.yaml", Data: []byte(full), Env: []string{"WEIR_WORKERS=3"}}
	cfg, origins := mustLoad(t, o)
	var out bytes.Buffer
	if err := Print(&out, cfg, origins); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/printed.yaml", out.Bytes())
}

func TestTLSIsOnWhenItsKeysAreGiven(t *testing.T) {
	for data, want := range map[string]bool{
		"kafka: {}":                                       false,
		"kafka: {tls: {ca_file: ca.pem}}":                 true,
		"kafka: {tls: {enabled: true}}":                   true,
		"kafka: {tls: {server_name: kafka}}":              true,
		"kafka: {tls: {enabled: false, ca_file: ca.pem}}": false,
	} {
		cfg, _ := mustLoad(t, Options{File: "weir.yaml", Data: []byte(data), NoJobs: true})
		if cfg.Kafka.TLS.Enabled != want {
			t.Errorf("%s: enabled %v, want %v", data, cfg.Kafka.TLS.Enabled, want)
		}
	}
}

// TestExampleIsThePresets: the example at the root of the repository counts
// what weir up counts, so that what the README shows holds for both.
func TestExampleIsThePresets(t *testing.T) {
	example, _ := mustLoad(t, Options{File: "../weir.yaml"})
	presets, _ := mustLoad(t, Options{Presets: Presets()})
	if diff := cmp.Diff(presets, example, cmp.AllowUnexported(Secret{})); diff != "" {
		t.Errorf("-presets +weir.yaml\n%s", diff)
	}
}

func TestPresetsJoinAFile(t *testing.T) {
	data := []byte("kafka: {group: g}\njobs: [{name: mine, topic: t, time: {field: ts}, window: 45s, rollups: [1m]}]")
	_, _, err := Load(Options{File: "my.yaml", Data: data, Presets: Presets()})
	if err == nil || err.Error() != "my.yaml:2:58: jobs[2].window: 45s does not divide 1m; try 30s or 1m" {
		t.Errorf("got %v; want the third job's window refused at its place", err)
	}
	if _, _, err := Load(Options{File: "not/there.yaml"}); err == nil || err.Error() != "configuration not/there.yaml: no such file or directory" {
		t.Errorf("got %v", err)
	}
	if _, _, err := Load(Options{Presets: []string{"weather"}}); err == nil || err.Error() != `no preset "weather"; there are clicks or locations` {
		t.Errorf("unknown preset: got %v", err)
	}
}
