package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/google/go-cmp/cmp"
)

// project loads compose files as docker compose does, as a tree of values.
func loadFiles(t *testing.T, files ...string) map[string]any {
	t.Helper()
	options, err := cli.NewProjectOptions(files, cli.WithEnvFiles("demo.env"), cli.WithDotEnv, cli.WithProfiles([]string{"*"}), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := project.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// allowed has the paths that the override may change.
var allowed = regexp.MustCompile(`^(` + strings.Join([]string{
	`services\.[a-z-]+\.image weir-stack/[a-z]+`,
	`services\.(migrate|weir|gen-clicks|gen-locations)\.build\.args\.GO_IMAGE weir-stack/go`,
	`services\.(migrate|weir|gen-clicks|gen-locations)\.build\.network none`,
	`services\.(kafka|clickhouse)\.ulimits\.nofile\.(hard|soft|single) [0-9]+`,
	`services\.(kafka|clickhouse)\.ulimits\.nofile [0-9]+`,
	`networks\.weir\.internal true`,
}, "|") + `)$`)

// TestOverride: the stack that is tested equals docker-compose.yml, except for the names of
// images, limits of open files, and a network without a connection to the outside.
func TestOverride(t *testing.T) {
	shipped := loadFiles(t, "docker-compose.yml")
	tried := loadFiles(t, "docker-compose.yml", "proof/stack/override.yml")
	n := 0
	for _, d := range differences("", shipped, tried) {
		n++
		if !allowed.MatchString(d) {
			t.Errorf("the override changes %s", d)
		}
	}
	if n < 10 {
		t.Errorf("only %d differences found: the test compares nothing", n)
	}
	all := tried["services"].(map[string]any)
	var started []string
	for name := range all {
		if name != "grafana" && name != "prometheus" {
			started = append(started, name)
		}
	}
	for _, name := range started {
		if image := all[name].(map[string]any)["image"].(string); !strings.HasPrefix(image, "weir-stack/") {
			t.Errorf("%s runs %s, which a registry would be asked for", name, image)
		}
	}
	for _, name := range services {
		if !slices.Contains(started, name) {
			t.Errorf("%s is tried, and is not in the file", name)
		}
	}
	if tried["networks"].(map[string]any)["weir"].(map[string]any)["internal"] != true {
		t.Error("the network has a way out")
	}
}

// TestOverrideFindsChanges: the comparison finds a change of any other kind.
func TestOverrideFindsChanges(t *testing.T) {
	want := []string{"services.weir.cap_drop []", "services.weir.privileged true", "services.weir.read_only <nil>"}
	got := differences("", map[string]any{"services": map[string]any{"weir": map[string]any{"read_only": true, "cap_drop": []any{"ALL"}}}},
		map[string]any{"services": map[string]any{"weir": map[string]any{"cap_drop": []any{}, "privileged": true}}})
	if d := cmp.Diff(want, got); d != "" || slices.ContainsFunc(got, allowed.MatchString) {
		t.Errorf("%s, or one of them is allowed", d)
	}
}

// differences returns the paths at which two trees differ, each with the second's
// value.
func differences(path string, a, b any) []string {
	x, one := a.(map[string]any)
	y, other := b.(map[string]any)
	if !one && !other {
		if cmp.Equal(a, b) {
			return nil
		}
		return []string{fmt.Sprintf("%s %v", path, b)}
	}
	if !one && a != nil || !other && b != nil {
		return []string{fmt.Sprintf("%s %v", path, b)}
	}
	keys := map[string]bool{}
	for k := range x {
		keys[k] = true
	}
	for k := range y {
		keys[k] = true
	}
	var all []string
	for k := range keys {
		all = append(all, differences(strings.TrimPrefix(path+"."+k, "."), x[k], y[k])...)
	}
	slices.Sort(all)
	return all
}

// TestKafkaVersion: the stand-in's jars have the version of the image in docker-compose.yml.
func TestKafkaVersion(t *testing.T) {
	read := func(file, pattern string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return string(m[1])
	}
	image, jars := read("docker-compose.yml", `apache/kafka:\$\{KAFKA_VERSION:-([^}]+)\}`), read("proof/stack/kafka/pom.xml", `<kafka.version>([^<]+)<`)
	if image != jars {
		t.Errorf("docker-compose.yml has Kafka %s, the stand-in %s", image, jars)
	}
}
