// Package alerts_test plants series and sees which alerts of alerts.yaml fire, with the
// evaluation of Prometheus itself. It is a module of its own, so that weir's does not
// depend on Prometheus.
package alerts_test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const file = "../alerts.yaml"

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
var cases = []struct {
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
	{"WeirGroupUnsteady", `weir_rebalances_total{job="clicks",topic="web"} 1x20 2+1x12 14x266`, 30, "the consumer group of job clicks is joined again and again"},
	{"WeirGroupUnsteady", `weir_rebalances_total{job="clicks",topic="web"} 1x20 10x279`, 0, ""},
	{"WeirPasswordsTried", `weir_resp_unauthorized_total{} 0x20 10+10x10 110x268`, 23, "a client tries passwords on the Redis endpoint"},
	{"WeirPasswordsTried", `weir_resp_unauthorized_total{} 0x20 15x279`, 0, ""},
	{"WeirTokensTried", `weir_http_unauthorized_total{} 0x20 10+10x10 110x268`, 23, "a client asks without the right token"},
	{"WeirTokensTried", `weir_http_unauthorized_total{} 0x20 15x279`, 0, ""},
}

// An event is the first firing of an alert.
type event struct {
	minute          int
	labels, summary string
}

// evaluate returns the first firing of each alert that fires.
func evaluate(t *testing.T, series string) map[string]event {
	t.Helper()
	store := promqltest.LoadedStorage(t, "load 1m\n"+regexp.MustCompile(`(?m)^(weir)`).ReplaceAllString(strings.TrimSpace(series), "  $1"))
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, 1e6), store)
	fired := map[string]event{}
	all := alerts(t)
	for minute := range 301 {
		at := time.Unix(int64(minute)*60, 0)
		for _, r := range all {
			if _, err := r.Eval(t.Context(), 0, at, query, &url.URL{}, 0); err != nil {
				t.Fatalf("%s: %v", r.Name(), err)
			}
			for _, a := range r.ActiveAlerts() {
				if _, known := fired[r.Name()]; !known && a.State == rules.StateFiring {
					fired[r.Name()] = event{minute, a.Labels.String(), a.Annotations.Get("summary")}
				}
			}
		}
	}
	return fired
}

// alerts returns the rules, in their state at the start.
func alerts(t *testing.T) (all []*rules.AlertingRule) {
	t.Helper()
	m := rules.NewManager(&rules.ManagerOptions{Context: t.Context(), Logger: promslog.NewNopLogger()})
	groups, errs := m.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if errs != nil {
		t.Fatal(errs)
	}
	for _, g := range groups {
		for _, r := range g.Rules() {
			all = append(all, r.(*rules.AlertingRule))
		}
	}
	return all
}

var name = regexp.MustCompile(`(?m)^(weir_\w+)\{([^}]*)\}`)

// names returns the figures of the series.
func names(series string) map[string]bool {
	found := map[string]bool{}
	for _, m := range name.FindAllStringSubmatch(series, -1) {
		found[m[1]] = true
	}
	return found
}

func TestHealthy(t *testing.T) {
	for alert, e := range evaluate(t, healthy) {
		t.Errorf("%s fires in minute %d: %s", alert, e.minute, e.summary)
	}
	// Otherwise the silence would say nothing.
	has := names(healthy)
	for _, r := range alerts(t) {
		parser.Inspect(r.Query(), func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && !has[s.Name] {
				t.Errorf("%s reads %s, of which the test has no series", r.Name(), s.Name)
			}
			return nil
		})
	}
}

func TestAlerts(t *testing.T) {
	tried := map[string][2]bool{} // whether there is a case in which it is silent, and one in which it fires
	for i, c := range cases {
		t.Run(fmt.Sprintf("%d-%s", i, c.alert), func(t *testing.T) {
			planted, series := names(c.series), []string{c.series}
			if len(planted) != 1 {
				t.Fatalf("the case replaces %d figures, want one", len(planted))
			}
			for line := range strings.SplitSeq(strings.TrimSpace(healthy), "\n") {
				if !planted[name.FindStringSubmatch(line)[1]] {
					series = append(series, line)
				}
			}
			want := map[string]event{}
			if c.fires > 0 {
				e := event{minute: c.fires, summary: c.summary}
				want[c.alert] = e
			}
			got := evaluate(t, strings.Join(series, "\n"))
			for alert, e := range got {
				if want := want[alert]; e.minute != want.minute || e.summary != want.summary {
					t.Errorf("%s fires in minute %d: %s; want minute %d: %s", alert, e.minute, e.summary, want.minute, want.summary)
				}
				if !strings.Contains(e.labels, `severity="`) || strings.Contains(c.series, "job=") && !strings.Contains(e.labels, `job="clicks"`) {
					t.Errorf("%s has the labels %s", alert, e.labels)
				}
			}
			if len(got) == 0 && c.fires > 0 {
				t.Errorf("it does not fire")
			}
		})
		was := tried[c.alert]
		was[min(c.fires, 1)] = true
		tried[c.alert] = was
	}
	for _, r := range alerts(t) {
		// The mismatches of an audit are never too few.
		if was := tried[r.Name()]; !was[1] || !was[0] && r.Name() != "WeirAuditMismatch" {
			t.Errorf("%s: a case in which it is silent: %t, one in which it fires: %t", r.Name(), was[0], was[1])
		}
		delete(tried, r.Name())
	}
	for alert := range tried {
		t.Errorf("there is no alert %s", alert)
	}
}

// TestSeries: the series have the names and labels of docs/metrics.md, which a test holds
// against a running weir.
func TestSeries(t *testing.T) {
	docs, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(weir_\\w+)` \\| \\w+ \\| ([^|]*) \\|").FindAllStringSubmatch(string(docs), -1) {
		documented[m[1]] = strings.TrimSuffix(strings.ReplaceAll(m[2], ", ", ","), "–")
	}
	all := healthy
	for _, c := range cases {
		all += c.series + "\n"
	}
	wrong := map[string]bool{}
	for _, m := range name.FindAllStringSubmatch(all, -1) {
		got := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(m[2], "")
		if want, ok := documented[m[1]]; !ok || got != want {
			wrong[fmt.Sprintf("%s{%s}: docs/metrics.md has the labels %q", m[1], got, want)] = true
		}
	}
	for _, line := range slices.Sorted(maps.Keys(wrong)) {
		t.Error(line)
	}
}
