// Package weir_test holds the files at the top of the repository that no Go
// code owns: the container image and the compose stack. No container engine is
// needed: compose-go reads the files as docker compose does.
package weir_test

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

	"weir/internal/config"
)

// stack loads docker-compose.yml with every profile and the given environment.
func stack(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"docker-compose.yml"},
		cli.WithProfiles([]string{"*"}), cli.WithEnv(env), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func service(t *testing.T, p *types.Project, name string) types.ServiceConfig {
	t.Helper()
	s, err := p.GetService(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// env is a variable of a service, "" when it is not set.
func env(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

// oneShots do one thing and end; ours are built here.
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
	want := []string{"clickhouse", "gen-clicks", "gen-locations", "grafana", "kafka", "migrate", "topics", "weir"}
	if !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	if p.Name != "weir" {
		t.Errorf("project name %q", p.Name)
	}
	for name, s := range p.Services {
		once, own := slices.Contains(oneShots, name), slices.Contains(ours, name)
		demo := slices.Contains(s.Profiles, "demo")

		// Known versions only: the same file gives the same stack tomorrow.
		_, tag, _ := strings.Cut(s.Image, ":")
		if tag == "" || tag == "latest" || !own && !regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`).MatchString(tag) {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
		if demo != strings.HasPrefix(name, "gen-") {
			t.Errorf("%s: profiles %v", name, s.Profiles)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %q, want loopback", name, port.Published, port.HostIP)
			}
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes == 0 {
			t.Errorf("%s: no memory limit", name)
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
		"gen-clicks": {"topics"}, "gen-locations": {"topics"},
	} {
		for _, dependency := range on {
			if _, ok := service(t, p, name).DependsOn[dependency]; !ok {
				t.Errorf("%s does not wait for %s", name, dependency)
			}
		}
	}
}

// TestStackKafka: a broker tells its clients where to come back, so there is
// one listener for this machine and one for containers, and the data does not
// go with the container.
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

// TestStackClickHouse: without a password the image lets only itself in; its
// clients get the same one, from one setting.
func TestStackClickHouse(t *testing.T) {
	p := stack(t, "CLICKHOUSE_PASSWORD=one", "CLICKHOUSE_READER_PASSWORD=two")
	clickhouse := service(t, p, "clickhouse")
	if env(clickhouse, "CLICKHOUSE_PASSWORD") != "one" || env(service(t, p, "weir"), "WEIR_CLICKHOUSE_PASSWORD") != "one" ||
		env(service(t, p, "migrate"), "WEIR_CLICKHOUSE_PASSWORD") != "one" {
		t.Error("the password does not reach everybody")
	}
	if env(service(t, p, "migrate"), "WEIR_READER_PASSWORD") != "two" || env(service(t, p, "grafana"), "CLICKHOUSE_READER_PASSWORD") != "two" {
		t.Error("the dashboards' password does not reach everybody")
	}
	if env(clickhouse, "CLICKHOUSE_USER") != env(service(t, p, "weir"), "WEIR_CLICKHOUSE_USER") {
		t.Error("weir is not the user that is made")
	}
	if env(service(t, stack(t), "clickhouse"), "CLICKHOUSE_PASSWORD") == "" {
		t.Error("no password without .env")
	}
	if env(clickhouse, "CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT") != "1" {
		t.Error("migrate could not make the dashboards' account")
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
	migrate := service(t, p, "migrate").Command
	if i := slices.Index(migrate, "--reader"); i < 0 || i+1 == len(migrate) || !strings.Contains(string(source), "username: "+migrate[i+1]+"\n") {
		t.Errorf("migrate %v does not make the account that Grafana uses", migrate)
	}
}

// TestStackConfiguration: the weir.yaml that is mounted, with the environment
// of the service, is a valid configuration, and fits the container.
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
		for path, want := range map[string]string{"kafka.brokers": "WEIR_KAFKA_BROKERS", "clickhouse.url": "WEIR_CLICKHOUSE_URL", "clickhouse.password": "WEIR_CLICKHOUSE_PASSWORD"} {
			if got := origins.Of(path).Where(); got != want {
				t.Errorf("%s: %s comes from %q, want %s", name, path, got, want)
			}
		}
		if name != "weir" {
			continue
		}
		limit, soft := int64(s.Deploy.Resources.Limits.MemoryBytes), env(s, "GOMEMLIMIT")
		goLimit, err := config.ParseSize(soft)
		if err != nil || int64(cfg.Memory) >= int64(goLimit) || int64(goLimit) >= limit {
			t.Errorf("memory %s, GOMEMLIMIT %s, container %d: each has to be below the next (%v)", cfg.Memory, soft, limit, err)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= time.Duration(cfg.Flush.StopTimeout)+5*time.Second {
			t.Errorf("stop_grace_period %v does not leave %s for the last flush", s.StopGracePeriod, cfg.Flush.StopTimeout)
		}
		if len(s.Ports) != 1 || !strings.HasSuffix(cfg.HTTP.Listen, ":"+s.Ports[0].Published) {
			t.Errorf("weir listens on %s, published is %+v", cfg.HTTP.Listen, s.Ports)
		}
		for _, job := range cfg.Jobs {
			if !strings.Contains(strings.Join(service(t, p, "topics").Command, " "), job.Topic) {
				t.Errorf("nobody makes the topic %s", job.Topic)
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
		if _, ok := inFile[name]; !ok {
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
		"\nUSER 65532:65532\n", `ENTRYPOINT ["/weir"]`, `CMD ["/weir", "healthcheck"]`, "ca-certificates.crt", "\nCOPY --from=build /src/LICENSE",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the image has no %s", strings.TrimSpace(want))
		}
	}
	for _, want := range []string{"CGO_ENABLED=0", "-tags static", "-trimpath"} {
		if !strings.Contains(stages[1], want) {
			t.Errorf("the build has no %s", want)
		}
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

// TestImageIsStatic: whatever imports purego is started by the system's
// dynamic linker, which the image does not have.
func TestImageIsStatic(t *testing.T) {
	for _, pkg := range packages(t, "-tags", "static") {
		if strings.HasPrefix(pkg, "github.com/ebitengine/purego") {
			t.Errorf("with the tag static, cmd/weir still depends on %s", pkg)
		}
	}
}

// TestBuildContextIsEnough: .dockerignore lets in by name, so a new folder has
// to be named there too.
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

// packages lists what cmd/weir is built from.
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
