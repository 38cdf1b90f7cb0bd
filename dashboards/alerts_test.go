//go:build prove

package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// healthy has a sample a minute, for five hours, of each figure that the alerts read. The
// process flushes, is a little behind now and then, and audits every hour. One flush and
// one rollup fail, clients mistype a password now and then, and the group is joined by
// three processes that are restarted one after the other.
const healthy = `
weir_build_info{version="v1",revision="r",go="go1.26"} 1x300
weir_uncounted_partitions{job="clicks",topic="web"} 0x300
weir_waiting_partitions{job="clicks",topic="web"} 0x300
weir_open_transaction_records{job="clicks",topic="web"} 0x300
weir_job_stopped{job="clicks",topic="web"} 0x300
weir_clickhouse_up{job="clicks",topic="web"} 1x300
weir_flush_failures_total{job="clicks",topic="web"} 0x100 1x199
weir_consumer_lag_seconds{job="clicks",topic="web",partition="3"} 0x10 250x5 0x200 299x84
weir_memory_budget_ratio{job="clicks",topic="web"} 0.3x100 0.99x199
weir_malformed_alarm{job="clicks",topic="web"} 0x300
weir_audit_mismatches{} 0x300
weir_audit_due_timestamp_seconds{} 3600x62 7320x61 11040x175
weir_rollups_total{job="clicks",topic="web",outcome="done"} 0+5x300
weir_rollups_total{job="clicks",topic="web",outcome="failed"} 0x100 1x199
weir_rebalances_total{job="clicks",topic="web"} 1x20 4x10 7x269
weir_resp_unauthorized_total{} 0+1x300
weir_http_unauthorized_total{} 0+1x300
`

// Each case replaces the figures that it names. fires is the minute of the first firing; 0:
// the alert stays silent, because the trouble is too small or too short. No other alert fires.
// Prometheus 2 and 3 count the increase in a range a little differently; the minutes are those of both.
var alertCases = []struct {
	alert, series string
	fires         int
	summary       string
}{
	{"WeirAbsent", `weir_build_info{version="v1",revision="r",go="go1.26"} 1x10 stale`, 13, "no weir is scraped"},
	{"WeirAbsent", `weir_build_info{version="v1",revision="r",go="go1.26"} 1x10 stale _ 1x288`, 0, ""},
	{"WeirRecordsNotCounted", `weir_uncounted_partitions{job="clicks",topic="web"} 0x10 2x289`, 12, "job clicks has partitions of which nothing is flushed into its database"},
	{"WeirRecordsNotCounted", `weir_uncounted_partitions{job="clicks",topic="web"} 0x10 2 0x288`, 0, ""},
	{"WeirSchemaMissing", `weir_waiting_partitions{job="clicks",topic="web"} 0x10 2x289`, 13, "partitions of job clicks wait for a schema that cannot be had"},
	{"WeirSchemaMissing", `weir_waiting_partitions{job="clicks",topic="web"} 0x10 2 0x288`, 0, ""},
	{"WeirTransactionOpen", `weir_open_transaction_records{job="clicks",topic="web"} 0x10 700x289`, 16, "a transaction that stays open keeps job clicks from reading its topic"},
	{"WeirTransactionOpen", `weir_open_transaction_records{job="clicks",topic="web"} 0x10 700x4 0x284`, 0, ""},
	{"WeirJobStopped", `weir_job_stopped{job="clicks",topic="web"} 0x10 1x289`, 12, "job clicks has stopped, and the other jobs of its process go on"},
	{"WeirJobStopped", `weir_job_stopped{job="clicks",topic="web"} 0x10 1 0x288`, 0, ""},
	{"WeirClickHouseAway", `weir_clickhouse_up{job="clicks",topic="web"} 1x10 0x289`, 13, "job clicks cannot read its ledger in ClickHouse"},
	{"WeirClickHouseAway", `weir_clickhouse_up{job="clicks",topic="web"} 1x10 0x1 1x287`, 0, ""},
	// A flush that fails every other minute: more than three in ten minutes from minute 8 on.
	{"WeirFlushesFail", `weir_flush_failures_total{job="clicks",topic="web"} 0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10x280`, 13, "flushes of job clicks fail"},
	{"WeirFlushesFail", `weir_flush_failures_total{job="clicks",topic="web"} 0x10 1 2 3x287`, 0, ""},
	{"WeirFlushesFail", `weir_flush_failures_total{job="clicks",topic="web"} 900x10 0x289`, 0, ""}, // it was restarted
	{"WeirBehind", `weir_consumer_lag_seconds{job="clicks",topic="web",partition="3"} 0x10 301x289`, 21, "job clicks is five minutes behind on partition 3"},
	{"WeirBehind", `weir_consumer_lag_seconds{job="clicks",topic="web",partition="3"} 0x10 9000x9 0x279`, 0, ""},
	{"WeirMemoryFull", `weir_memory_budget_ratio{job="clicks",topic="web"} 0x10 1x289`, 16, "job clicks is at its memory budget and fetches nothing"},
	{"WeirMemoryFull", `weir_memory_budget_ratio{job="clicks",topic="web"} 0x10 1x4 0.5x284`, 0, ""},
	{"WeirRecordsMalformed", `weir_malformed_alarm{job="clicks",topic="web"} 0x10 1x289`, 16, "more than 1 % of the records of job clicks are malformed"},
	{"WeirRecordsMalformed", `weir_malformed_alarm{job="clicks",topic="web"} 0x10 1x4 0x284`, 0, ""},
	{"WeirAuditMismatch", `weir_audit_mismatches{} 0x62 1x60 0x177`, 63, "the last audit found that something does not add up"},
	// The audit fails from the first one on: it is due at the end of the first hour.
	{"WeirAuditOverdue", `weir_audit_due_timestamp_seconds{} 3600x300`, 251, "no audit has ended for three hours after it was due"},
	{"WeirAuditOverdue", `weir_audit_due_timestamp_seconds{} 3600x240 18000x59`, 0, ""},
	{"WeirAuditOverdue", `weir_audit_due_timestamp_seconds{} _x300`, 0, ""}, // audit.interval is 0
	{"WeirRollupsFail", `weir_rollups_total{job="clicks",topic="web",outcome="failed"} 0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10x280`, 13, "rollups of job clicks fail"},
	{"WeirRollupsFail", `weir_rollups_total{job="clicks",topic="web",outcome="done"} 0+5x300
weir_rollups_total{job="clicks",topic="web",outcome="failed"} 0x10 1 2 3x287`, 0, ""},
	{"WeirGroupUnsteady", `weir_rebalances_total{job="clicks",topic="web"} 1x20 2+2x12 26x266`, 26, "the consumer group of job clicks is joined again and again"},
	{"WeirGroupUnsteady", `weir_rebalances_total{job="clicks",topic="web"} 1x20 10x279`, 0, ""},
	{"WeirPasswordsTried", `weir_resp_unauthorized_total{} 0x20 10+10x10 110x268`, 23, "a client tries passwords on the Redis endpoint"},
	{"WeirPasswordsTried", `weir_resp_unauthorized_total{} 0x20 15x279`, 0, ""},
	{"WeirTokensTried", `weir_http_unauthorized_total{} 0x20 10+10x10 110x268`, 23, "a client asks without the right token"},
	{"WeirTokensTried", `weir_http_unauthorized_total{} 0x20 15x279`, 0, ""},
}

// An alert is a rule of alerts.yaml.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// labels returns those of an alert that fires because of a series.
func (a alert) labels(series string) map[string]string {
	all := map[string]string{"severity": a.Labels["severity"]}
	if !strings.HasPrefix(a.Expr, "absent(") {
		for _, m := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(series, -1) {
			all[m[1]] = m[2]
		}
	}
	return all
}

// The file of unit tests that promtool reads.
type (
	object   map[string]any
	ruleTest struct {
		Name     string   `json:"name"`
		Interval string   `json:"interval"`
		Series   []object `json:"input_series"`
		Exprs    []object `json:"promql_expr_test"`
		Alerts   []object `json:"alert_rule_test"`
	}
)

// lastMinute is the last one for which there are samples.
const lastMinute = 300

// planted is a test that plants series and expects alerts to fire first at minutes. All other
// alerts stay silent.
func planted(name, series string, fires map[string]int) ruleTest {
	r := ruleTest{Name: name, Interval: "1m"}
	for line := range strings.SplitSeq(strings.TrimSpace(series), "\n") {
		head, values, _ := strings.Cut(line, "} ")
		r.Series = append(r.Series, object{"series": head + "}", "values": values})
	}
	samples := []object{}
	for alert, minute := range fires {
		samples = append(samples, object{"labels": fmt.Sprintf("{alertname=%q}", alert), "value": minute})
	}
	r.Exprs = []object{{
		"expr":        fmt.Sprintf(`min by (alertname) (min_over_time(timestamp(ALERTS{alertstate="firing"})[%dm:1m])) / 60`, lastMinute+1),
		"eval_time":   fmt.Sprintf("%dm", lastMinute),
		"exp_samples": samples,
	}}
	return r
}

// promtool has Prometheus's promtool run tests of alerts.yaml.
func promtool(t *testing.T, tests ...ruleTest) {
	t.Helper()
	rules, err := filepath.Abs("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object{"rule_files": []string{rules}, "evaluation_interval": "1m", "tests": tests}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tests.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	find := exec.Command("./promtool.sh")
	find.Stderr = os.Stderr // says what it fetches, and why it cannot
	tool, err := find.Output()
	if err != nil {
		t.Fatalf("there is no promtool: run dashboards/promtool.sh, or install it: %v", err)
	}
	if out, err := exec.Command(strings.TrimSpace(string(tool)), "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var figure = regexp.MustCompile(`(?m)^(weir_\w+)\{([^}]*)\}`)

// figures returns those of series.
func figures(series string) map[string]bool {
	found := map[string]bool{}
	for _, m := range figure.FindAllStringSubmatch(series, -1) {
		found[m[1]] = true
	}
	return found
}

// TestHealthy: no alert fires for a process that does well.
// In make test: TestRunbookAlerts, which reads the rules and their figures.
func TestHealthy(t *testing.T) {
	has := figures(healthy) // otherwise the silence would say nothing
	for _, a := range alerts(t) {
		for _, name := range regexp.MustCompile(`weir_\w+`).FindAllString(a.Expr, -1) {
			if !has[name] {
				t.Errorf("%s reads %s, of which the test has no series", a.Alert, name)
			}
		}
	}
	promtool(t, planted("healthy", healthy, nil))
}

// TestAlerts: each alert fires at its minute, with its labels and its words, and where the
// trouble is too small or too short it stays silent.
// In make test: TestRunbookAlerts.
func TestAlerts(t *testing.T) {
	known := map[string]alert{}
	for _, a := range alerts(t) {
		known[a.Alert] = a
	}
	tried := map[string][2]bool{} // whether there is a case in which it is silent, and one in which it fires
	var tests []ruleTest
	for i, c := range alertCases {
		replaced, series := figures(c.series), []string{c.series}
		if len(replaced) != 1 {
			t.Errorf("case %d replaces %d figures, want one", i, len(replaced))
		}
		for line := range strings.SplitSeq(strings.TrimSpace(healthy), "\n") {
			if !replaced[figure.FindStringSubmatch(line)[1]] {
				series = append(series, line)
			}
		}
		a, is := known[c.alert]
		if !is {
			t.Errorf("there is no alert %s", c.alert)
		}
		fires := map[string]int{}
		if c.fires > 0 {
			fires[c.alert] = c.fires
		}
		test := planted(fmt.Sprintf("%d-%s", i, c.alert), strings.Join(series, "\n"), fires)
		if c.fires > 0 {
			lines := strings.Split(c.series, "\n") // the last one is the trouble
			words := object{"summary": c.summary, "runbook": a.Annotations["runbook"]}
			test.Alerts = []object{{
				"eval_time": fmt.Sprintf("%dm", c.fires), "alertname": c.alert,
				"exp_alerts": []object{{"exp_labels": a.labels(lines[len(lines)-1]), "exp_annotations": words}},
			}}
		}
		tests = append(tests, test)
		was := tried[c.alert]
		was[min(c.fires, 1)] = true
		tried[c.alert] = was
	}
	for name := range known {
		// The mismatches of an audit are never too few.
		if was := tried[name]; !was[1] || !was[0] && name != "WeirAuditMismatch" {
			t.Errorf("%s: a case in which it is silent: %t, one in which it fires: %t", name, was[0], was[1])
		}
	}
	promtool(t, tests...)
}
