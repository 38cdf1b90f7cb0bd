package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"weir/config"
)

// TestMain lets the tests run where the files are that they read: at the top.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// loaded loads docker-compose.yml with every profile and the given environment,
// and with the passwords of demo.env if that has none.
func loaded(t *testing.T, env ...string) *types.Project {
	t.Helper()
	project, err := load(append(settings(t, "demo.env"), env...))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func load(env []string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{"docker-compose.yml"},
		cli.WithProfiles([]string{"*"}), cli.WithEnv(env), cli.WithConsistency(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

// settings returns the lines NAME=value of a file.
func settings(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\w+=.*$`).FindAllString(string(text), -1)
}

func service(t *testing.T, p *types.Project, name string) types.ServiceConfig {
	t.Helper()
	s, err := p.GetService(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// env returns a variable of a service, "" when it is not set.
func env(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

// oneShots are services that do one thing and end; ours are built from this
// repository. That they work together is shown by make stack, a part of make prove.
var (
	oneShots = []string{"topics", "migrate"}
	ours     = []string{"migrate", "weir", "gen-clicks", "gen-locations"}
)

func TestStackServices(t *testing.T) {
	p := loaded(t)
	var names []string
	for name := range p.Services {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"clickhouse", "gen-clicks", "gen-locations", "grafana", "kafka", "migrate", "prometheus", "topics", "weir"}
	if !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	for name, s := range p.Services {
		once, own := slices.Contains(oneShots, name), slices.Contains(ours, name)
		demo := slices.Contains(s.Profiles, "demo")

		// Images must have a fixed version, so that the same file always gives the
		// same stack.
		_, tag, _ := strings.Cut(s.Image, ":")
		if tag == "" || tag == "latest" || !own && !regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)+$`).MatchString(tag) {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
		if demo != strings.HasPrefix(name, "gen-") || slices.Contains(s.Profiles, "prometheus") != (name == "prometheus") {
			t.Errorf("%s: profiles %v", name, s.Profiles)
		}
		if l := s.Logging; l == nil || l.Options["max-size"] == "" {
			t.Errorf("%s: the log %+v grows without a bound", name, l)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %q, want loopback", name, port.Published, port.HostIP)
			}
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes == 0 || s.Deploy.Resources.Limits.Pids == 0 {
			t.Errorf("%s: no limit of memory or processes", name)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: may gain privileges", name)
		}
		if want := map[bool]string{true: "no", false: "unless-stopped"}[once]; s.Restart != want {
			t.Errorf("%s: restart %q, want %q", name, s.Restart, want)
		}
		checked := s.HealthCheck != nil && !s.HealthCheck.Disable && len(s.HealthCheck.Test) > 1
		if want := !once && !demo; checked != want {
			t.Errorf("%s: health check %v, want %v", name, checked, want)
		}
		if own && (!s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || s.Init == nil || !*s.Init || s.Build == nil) {
			t.Errorf("%s: want a read-only root, no capabilities, init, and to be built here", name)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && !v.ReadOnly {
				t.Errorf("%s may write to %s", name, v.Source)
			}
		}
		for on, d := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if slices.Contains(oneShots, on) {
				want = types.ServiceConditionCompletedSuccessfully
			}
			if d.Condition != want {
				t.Errorf("%s waits until %s is %s, want %s", name, on, d.Condition, want)
			}
		}
	}
}

// TestStackPasswords: no service starts without a chosen password, except with
// demo.env, which says that it is for demos.
func TestStackPasswords(t *testing.T) {
	text, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{(\w+)([^}]*)\}`).FindAllStringSubmatch(string(text), -1) {
		if strings.HasSuffix(m[1], "_PASSWORD") {
			wanted[m[1]] = true
			if !strings.HasPrefix(m[2], ":?") {
				t.Errorf("%s has a default: ${%s%s}", m[1], m[1], m[2])
			}
		}
	}
	demo := settings(t, "demo.env")
	for name := range wanted {
		without := slices.DeleteFunc(slices.Clone(demo), func(line string) bool { return strings.HasPrefix(line, name+"=") })
		if len(without) != len(demo)-1 {
			t.Errorf("demo.env does not set %s once", name)
		}
		if _, err := load(without); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), ".env.example") {
			t.Errorf("without %s: %v", name, err)
		}
		if example := settings(t, ".env.example"); !slices.Contains(example, name+"=") {
			t.Errorf(".env.example does not leave %s to be filled in", name)
		}
	}
	if len(wanted) != 5 {
		t.Errorf("passwords %v, want five", wanted)
	}
	if got := env(service(t, loaded(t, "GRAFANA_ANONYMOUS="), "grafana"), "GF_AUTH_ANONYMOUS_ENABLED"); got != "false" {
		t.Errorf("Grafana without a login: %q", got)
	}
	// The account of migrate makes the others: no other service knows its password.
	for name, s := range loaded(t, "CLICKHOUSE_ADMIN_PASSWORD=zero").Services {
		for key, value := range s.Environment {
			if value != nil && *value == "zero" && name != "clickhouse" && name != "migrate" {
				t.Errorf("%s knows the password of migrate, as %s", name, key)
			}
		}
	}
}

// TestStackConfiguration: the mounted weir.yaml, with the environment of the
// service, is a valid configuration and fits the container.
func TestStackConfiguration(t *testing.T) {
	p := loaded(t)
	for _, name := range []string{"weir", "migrate"} {
		s := service(t, p, name)
		i := slices.IndexFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == "/etc/weir/weir.yaml" })
		if i < 0 {
			t.Fatalf("%s: no configuration is mounted", name)
		}
		var variables []string
		for key, value := range s.Environment {
			variables = append(variables, key+"="+*value)
		}
		cfg, origins, err := config.Load(config.Options{File: s.Volumes[i].Source, Env: variables})
		if err != nil {
			t.Fatalf("%s:\n%v", name, err)
		}
		for path, want := range map[string]string{"kafka.brokers": "WEIR_KAFKA_BROKERS", "clickhouse.urls": "WEIR_CLICKHOUSE_URLS", "clickhouse.password": "WEIR_CLICKHOUSE_PASSWORD"} {
			if got := origins.Of(path).Where(); got != want {
				t.Errorf("%s: %s comes from %q, want %s", name, path, got, want)
			}
		}
		if name != "weir" {
			continue
		}
		// The limit that weir sets for the Go runtime, see keepTo in cmd/weir; a
		// tenth of the container's memory is left for everything but the heap.
		if heap, limit := int64(cfg.Memory)*3/2+32<<20, int64(s.Deploy.Resources.Limits.MemoryBytes); heap > limit/10*9 {
			t.Errorf("memory %s takes %d MiB, the container has %d MiB", cfg.Memory, heap>>20, limit>>20)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= time.Duration(cfg.Flush.StopTimeout)+5*time.Second {
			t.Errorf("stop_grace_period %v does not leave %s for the last flush", s.StopGracePeriod, cfg.Flush.StopTimeout)
		}
		if len(s.Ports) != 2 || !strings.HasSuffix(cfg.HTTP.Listen, ":"+s.Ports[0].Published) || !strings.HasSuffix(cfg.RESP.Listen, ":"+s.Ports[1].Published) {
			t.Errorf("weir listens on %s and %s, published is %+v", cfg.HTTP.Listen, cfg.RESP.Listen, s.Ports)
		}
	}
}

// TestImageIsStatic: a binary that imports purego needs the system's dynamic
// linker, which the image does not have.
func TestImageIsStatic(t *testing.T) {
	for _, pkg := range packages(t, "-tags", "static") {
		if strings.HasPrefix(pkg, "github.com/ebitengine/purego") {
			t.Errorf("with the tag static, cmd/weir still depends on %s", pkg)
		}
	}
}

// TestBuildContextIsEnough: .dockerignore allows files by name, so a new folder
// must be named there.
func TestBuildContextIsEnough(t *testing.T) {
	data, err := os.ReadFile(".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			allowed = append(allowed, name)
			if _, err := os.Stat(name); err != nil {
				t.Errorf(".dockerignore lets in what is not there: %v", err)
			}
		}
	}
	for _, pkg := range packages(t, "-tags", "static") {
		folder, ours := strings.CutPrefix(pkg, "weir/")
		top, _, _ := strings.Cut(filepath.ToSlash(folder), "/")
		if ours && !slices.Contains(allowed, top) {
			t.Errorf("cmd/weir needs %s, which .dockerignore keeps out", folder)
		}
	}
}

// packages lists the packages of cmd/weir.
func packages(t *testing.T, flags ...string) []string {
	t.Helper()
	command := exec.Command("go", append(append([]string{"list", "-deps"}, flags...), "./cmd/weir")...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return strings.Fields(string(out))
}
