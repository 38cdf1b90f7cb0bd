// Package weir_test checks the files at the top of the repository that belong
// to no Go package: the container image and the compose stack. It needs no
// container engine: compose-go reads the files as docker compose does.
package weir_test

import (
	"context"
	"fmt"
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

	"weir/internal/config"
)

// stack loads docker-compose.yml with every profile and the given environment,
// and with the passwords of demo.env if that has none.
func stack(t *testing.T, env ...string) *types.Project {
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
// repository.
var (
	oneShots = []string{"topics", "migrate"}
	ours     = []string{"migrate", "weir", "gen-clicks", "gen-locations"}
)

func TestStackServices(t *testing.T) {
	p := stack(t)
	var names []string
	for name := range p.Services {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"clickhouse", "gen-clicks", "gen-locations", "grafana", "kafka", "migrate", "prometheus", "topics", "weir"}
	if !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	if p.Name != "weir" {
		t.Errorf("project name %q", p.Name)
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
		if l := s.Logging; l == nil || l.Driver != "json-file" || l.Options["max-size"] == "" || l.Options["max-file"] == "" {
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
		if checked && strings.Contains(strings.Join(s.HealthCheck.Test, " "), "localhost") {
			t.Errorf("%s: localhost in the health check may be IPv6", name)
		}
		if s.HealthCheck != nil && s.HealthCheck.Disable {
			t.Errorf("%s: up --wait fails for a health check that is switched off; leave it out", name)
		}
		if checked && s.HealthCheck.StartInterval != nil {
			t.Errorf("%s: start_interval needs Docker Engine 25", name)
		}
		if own && (!s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || s.Init == nil || !*s.Init || s.Build == nil) {
			t.Errorf("%s: want a read-only root, no capabilities, init, and to be built here", name)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if !v.ReadOnly {
					t.Errorf("%s may write to %s", name, v.Source)
				}
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s mounts what is not there: %v", name, err)
				}
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
	for name, on := range map[string][]string{
		"topics": {"kafka"}, "migrate": {"clickhouse"}, "weir": {"topics", "migrate"}, "grafana": {"migrate"},
		"gen-clicks": {"topics"}, "gen-locations": {"topics"}, "prometheus": {"weir"},
	} {
		for _, dependency := range on {
			if _, ok := service(t, p, name).DependsOn[dependency]; !ok {
				t.Errorf("%s does not wait for %s", name, dependency)
			}
		}
	}
}

// TestStackScales: with a range of ports there is one for each of several weir.
func TestStackScales(t *testing.T) {
	s := service(t, stack(t, "WEIR_HTTP_PORT=8686-8688", "WEIR_RESP_PORT=6379-6381"), "weir")
	for i, want := range []string{"127.0.0.1:8686-8688:8686", "127.0.0.1:6379-6381:6379"} {
		if p := s.Ports[i]; fmt.Sprintf("%s:%s:%d", p.HostIP, p.Published, p.Target) != want {
			t.Errorf("port %d is %s:%s:%d, want %s", i, p.HostIP, p.Published, p.Target, want)
		}
	}
	if s.ContainerName != "" {
		t.Error("a container with a name of its own cannot be scaled")
	}
}

// TestStackKafka: a broker tells its clients the address to connect to, so there is
// one listener for this machine and one for containers. The data is on a volume.
func TestStackKafka(t *testing.T) {
	p := stack(t)
	kafka := service(t, p, "kafka")
	advertised := map[string]string{}
	for pair := range strings.SplitSeq(env(kafka, "KAFKA_ADVERTISED_LISTENERS"), ",") {
		name, address, _ := strings.Cut(pair, "://")
		advertised[name] = address
		if !strings.Contains(env(kafka, "KAFKA_LISTENERS"), name+"://") || !strings.Contains(env(kafka, "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"), name+":") {
			t.Errorf("listener %s is advertised but not opened or has no protocol", name)
		}
	}
	if advertised["HOST"] != "127.0.0.1:9092" || advertised["DOCKER"] != "kafka:19092" {
		t.Errorf("advertised listeners %v", advertised)
	}
	if len(kafka.Ports) != 1 || kafka.Ports[0].Published != "9092" || kafka.Ports[0].Target != 9092 {
		t.Errorf("ports %+v: the advertised port has to be the published one", kafka.Ports)
	}
	if got := env(service(t, p, "weir"), "WEIR_KAFKA_BROKERS"); got != advertised["DOCKER"] {
		t.Errorf("weir connects to %s, not to the containers' listener", got)
	}
	for name, want := range map[string]string{
		"KAFKA_PROCESS_ROLES":                                    "broker,controller",
		"KAFKA_INTER_BROKER_LISTENER_NAME":                       "DOCKER",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":                 "1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR":         "1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":                    "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR":            "1",
		"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                        "false",
	} {
		if got := env(kafka, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !slices.ContainsFunc(kafka.Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Type == types.VolumeTypeVolume && v.Target == env(kafka, "KAFKA_LOG_DIRS")
	}) {
		t.Error("the log is not on a volume")
	}
	heap, limit := strings.TrimPrefix(strings.Fields(env(kafka, "KAFKA_HEAP_OPTS"))[1], "-Xmx"), kafka.Deploy.Resources.Limits.MemoryBytes
	if size, err := config.ParseSize(strings.TrimSuffix(heap, "m") + "MiB"); err != nil || int64(size) > int64(limit)*3/4 {
		t.Errorf("heap %s in a container of %d bytes: leave a quarter to the rest of the JVM (%v)", heap, limit, err)
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
	grafana := func(env ...string) types.ServiceConfig { return service(t, stack(t, env...), "grafana") }
	if got := env(grafana("GRAFANA_ANONYMOUS="), "GF_AUTH_ANONYMOUS_ENABLED"); got != "false" {
		t.Errorf("Grafana without a login: %q", got)
	}
	if got := env(grafana(), "GF_AUTH_ANONYMOUS_ENABLED"); got != "true" {
		t.Errorf("Grafana without a login in the demo: %q", got)
	}
	if !slices.Contains(demo, "COMPOSE_PROFILES=demo") {
		t.Error("demo.env does not choose the profile demo")
	}
}

// TestStackClickHouse: there is one account for migrate, which makes the
// others, one for weir and one for dashboards; each password comes from one
// setting.
func TestStackClickHouse(t *testing.T) {
	p := stack(t, "CLICKHOUSE_ADMIN_PASSWORD=zero", "CLICKHOUSE_PASSWORD=one", "CLICKHOUSE_READER_PASSWORD=two")
	clickhouse, weir, migrate := service(t, p, "clickhouse"), service(t, p, "weir"), service(t, p, "migrate")
	admin, writer := env(clickhouse, "CLICKHOUSE_USER"), env(weir, "WEIR_CLICKHOUSE_USER")
	if admin != env(migrate, "WEIR_CLICKHOUSE_USER") || env(clickhouse, "CLICKHOUSE_PASSWORD") != "zero" || env(migrate, "WEIR_CLICKHOUSE_PASSWORD") != "zero" {
		t.Error("migrate has not the account that the image makes")
	}
	if admin == writer || env(weir, "WEIR_CLICKHOUSE_PASSWORD") != "one" || env(migrate, "WEIR_WRITER_PASSWORD") != "one" {
		t.Error("weir has not an account of its own with its own password")
	}
	if env(migrate, "WEIR_READER_PASSWORD") != "two" || env(service(t, p, "grafana"), "CLICKHOUSE_READER_PASSWORD") != "two" {
		t.Error("the dashboards' password does not reach migrate and Grafana")
	}
	for name, s := range p.Services {
		for key, value := range s.Environment {
			if value != nil && *value == "zero" && name != "clickhouse" && name != "migrate" {
				t.Errorf("%s knows the password of %s, as %s", name, admin, key)
			}
		}
	}
	if env(clickhouse, "CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT") != "1" {
		t.Error("migrate could not make accounts")
	}
	if clickhouse.Ulimits["nofile"].Soft != 262144 {
		t.Errorf("ulimits %v", clickhouse.Ulimits)
	}
	if !strings.Contains(strings.Join(clickhouse.HealthCheck.Test, " "), "http://clickhouse:") {
		t.Error("127.0.0.1 answers while the image still sets itself up: ask by name")
	}
	source, err := os.ReadFile("dashboards/provisioning/datasources/weir.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made := func(flag string) string {
		i := slices.Index(migrate.Command, flag)
		return migrate.Command[i+1]
	}
	if !strings.Contains(string(source), "username: "+made("--reader")+"\n") {
		t.Errorf("migrate %v does not make the account that Grafana uses", migrate.Command)
	}
	if made("--writer") != writer {
		t.Errorf("migrate %v does not make the account that weir uses", migrate.Command)
	}
}

// TestStackConfiguration: the mounted weir.yaml, with the environment of the
// service, is a valid configuration and fits the container.
func TestStackConfiguration(t *testing.T) {
	p := stack(t)
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
		if env(s, "GOMEMLIMIT") != "" {
			t.Error("GOMEMLIMIT is set: it follows from memory")
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= time.Duration(cfg.Flush.StopTimeout)+5*time.Second {
			t.Errorf("stop_grace_period %v does not leave %s for the last flush", s.StopGracePeriod, cfg.Flush.StopTimeout)
		}
		if len(s.Ports) != 2 || !strings.HasSuffix(cfg.HTTP.Listen, ":"+s.Ports[0].Published) || !strings.HasSuffix(cfg.RESP.Listen, ":"+s.Ports[1].Published) {
			t.Errorf("weir listens on %s and %s, published is %+v", cfg.HTTP.Listen, cfg.RESP.Listen, s.Ports)
		}
		if !cfg.RESP.Password.IsSet() {
			t.Error("the Redis port has no password")
		}
		for _, job := range cfg.Jobs {
			if !strings.Contains(strings.Join(service(t, p, "topics").Command, " "), job.Topic) {
				t.Errorf("no service makes the topic %s", job.Topic)
			}
		}
	}
}

// TestStackReread: what the documents advise after a change of weir.yaml makes weir anew.
// Compose compares the configuration of a service and not what is in the files that it mounts,
// so it leaves a running weir alone otherwise.
func TestStackReread(t *testing.T) {
	again := regexp.MustCompile(`docker compose up\b.*\bmigrate weir\b`)
	for _, file := range []string{"docker-compose.yml", "docs/stack.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := again.FindAllString(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s does not say what to do after a change of weir.yaml", file)
		}
		for _, line := range found {
			if !strings.Contains(line, "--force-recreate") {
				t.Errorf("%s: %q leaves a running weir alone", file, line)
			}
		}
	}
}

// TestStackEnvExample: the example names the settings that the file has, with
// the same defaults.
func TestStackEnvExample(t *testing.T) {
	compose, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(".env.example")
	if err != nil {
		t.Fatal(err)
	}
	inFile, inExample := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`).FindAllStringSubmatch(string(compose), -1) {
		if before, ok := inFile[m[1]]; ok && before != m[2] {
			t.Errorf("%s has the defaults %q and %q", m[1], before, m[2])
		}
		inFile[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(string(example), -1) {
		inExample[m[1]] = m[2]
	}
	for name, value := range inFile {
		if got, ok := inExample[name]; !ok || got != value {
			t.Errorf("%s is %q by default, in .env.example %q", name, value, got)
		}
	}
	for name := range inExample {
		if !strings.Contains(string(compose), "${"+name+":") {
			t.Errorf(".env.example sets %s, which nothing reads", name)
		}
	}
}

func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := string(data)
	stages := strings.Split(file, "\nFROM ")
	if len(stages) != 3 {
		t.Fatalf("%d stages, want one that builds and one that runs", len(stages)-1)
	}
	last := stages[2]
	if !strings.HasPrefix(last, "scratch\n") {
		t.Error("the image is not made from scratch")
	}
	for _, want := range []string{
		"\nUSER 65532:65532\n", `ENTRYPOINT ["/weir"]`, "ca-certificates.crt", "\nCOPY --from=build /src/LICENSE",
		`org.opencontainers.image.version="${VERSION}"`, `org.opencontainers.image.revision="${REVISION}"`,
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the image has no %s", strings.TrimSpace(want))
		}
	}
	for _, want := range []string{"CGO_ENABLED=0", "-tags static", "-trimpath", "-X main.version=${VERSION}", "-X main.revision=${REVISION}"} {
		if !strings.Contains(stages[1], want) {
			t.Errorf("the build has no %s", want)
		}
	}
	if strings.Contains(last, "\nHEALTHCHECK") {
		t.Error("weir gen and weir migrate would be unhealthy: they have no HTTP listener")
	}
	if shell := regexp.MustCompile(`(?m)^(ENTRYPOINT|CMD|HEALTHCHECK .*CMD) [^\["]`).FindString(last); shell != "" {
		t.Errorf("%q needs a shell, and there is none", shell)
	}
	version := regexp.MustCompile(`(?m)^ARG GO_VERSION=(\d+\.\d+)`).FindStringSubmatch(file)
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if version == nil || !strings.Contains(string(module), "\ngo "+version[1]) {
		t.Errorf("the image is built with Go %v, go.mod says another", version)
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

// TestImageBinary builds the image's binary as the Dockerfile does, without .git: it is
// small, prints its version, and says that it has no engine.
func TestImageBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "weir")
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "static", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3 -X main.revision=0123abcd", "-o", binary, "./cmd/weir")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 38_000_000 {
		t.Errorf("the binary has %d bytes; it is to stay below 38 MB, and the image below 40", info.Size())
	}
	run := func(args ...string) string {
		c := exec.Command(binary, args...)
		c.Dir = t.TempDir()
		out, _ := c.CombinedOutput()
		return string(out)
	}
	for _, args := range [][]string{{"--version"}, {"version"}} {
		if said := run(args...); !strings.HasPrefix(said, "weir v1.2.3 (0123abcd, go") {
			t.Errorf("weir %v: %s", args, said)
		}
	}
	for _, args := range [][]string{{"up"}, {"engine"}} {
		if said := run(args...); !strings.Contains(said, "without the embedded engine") || !strings.Contains(said, "weir run") {
			t.Errorf("weir %v: %s", args, said)
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
