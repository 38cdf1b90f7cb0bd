package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

const (
	chartDir = "../../deploy/helm/weir"
	unitFile = "../../deploy/systemd/weir.service"
)

// TestChartValues: the templates read each value of the chart, and no other.
func TestChartValues(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(chartDir, "templates", "*"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%q, %v", files, err)
	}
	read := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.Values\.(\w+)`).FindAllStringSubmatch(string(text), -1) {
			read[m[1]] = true
			if _, there := values[m[1]]; !there {
				t.Errorf("%s reads %s, which values.yaml does not have", file, m[0])
			}
		}
	}
	for name := range values {
		if !read[name] {
			t.Errorf("values.yaml has %s, which no template reads", name)
		}
	}
}

// TestUnitFile: the unit runs weir as its account, gives a flush its time, and starts no broken configuration again.
func TestUnitFile(t *testing.T) {
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ExecStart=/usr/bin/weir run --config /etc/weir/weir.yaml", "User=weir", "KillSignal=SIGTERM", "TimeoutStopSec=30", "RestartPreventExitStatus=78", "ProtectSystem=strict"} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
}

// TestCompose: the file is one that compose takes, given the passwords, and it says which one is missing.
func TestCompose(t *testing.T) {
	load := func(env ...string) (*types.Project, error) {
		o, err := cli.NewProjectOptions([]string{"../../deploy/compose/docker-compose.yml"}, cli.WithEnv(env))
		if err != nil {
			t.Fatal(err)
		}
		return o.LoadProject(t.Context())
	}
	if _, err := load("CLICKHOUSE_ADMIN_PASSWORD=a"); err == nil || !strings.Contains(err.Error(), "CLICKHOUSE_PASSWORD") {
		t.Errorf("without a password: %v", err)
	}
	p, err := load("CLICKHOUSE_ADMIN_PASSWORD=a", "CLICKHOUSE_PASSWORD=b")
	if err != nil {
		t.Fatal(err)
	}
	if weir := p.Services["weir"]; !weir.ReadOnly || *weir.StopGracePeriod < types.Duration(20*time.Second) || weir.Ports[0].HostIP != "127.0.0.1" {
		t.Errorf("%+v", weir)
	}
}
