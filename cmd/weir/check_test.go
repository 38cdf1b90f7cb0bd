package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"weir/config"
	"weir/internal/await"
)

// TestCheckTopics: weir check warns of record times that are the producers', of
// a compacted topic, and of a retention that is not above lateness and skew. It
// warns of nothing for a topic without these.
func TestCheckTopics(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	adm := kadm.NewClient(s.client)
	set := func(topic, key, value string) {
		t.Helper()
		res, err := adm.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
		if err == nil {
			_, err = res.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	warnings := func(args ...string) string {
		t.Helper()
		var findings []diagnostic
		out := s.done(t, append([]string{"check", "-o", "json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &findings); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		var b strings.Builder
		for _, f := range findings {
			if f.Result == "warning" {
				b.WriteString(f.Tier + " " + f.Subject + ": " + f.Detail + "\n")
			}
		}
		return b.String()
	}
	set("appended", "message.timestamp.type", "LogAppendTime")
	set("appended", "retention.ms", "604800000") // 7 days; lateness and skew are 5 days and 10 minutes
	want := "kafka topic clicks: record times are the producers' (message.timestamp.type=CreateTime): " +
		"late and future depend on clocks that you may not control; with LogAppendTime they are the broker's\n"
	if got := warnings(); got != want {
		t.Errorf("warnings:\n%swant\n%s", got, want)
	}
	set("clicks", "message.timestamp.type", "LogAppendTime")
	if got := warnings(); got != "" {
		t.Errorf("nothing to warn of, but:\n%s", got)
	}
	if got := warnings("--kafka.rack", "nowhere"); strings.Count(got, `no broker is in kafka.rack "nowhere"`) != 2 || strings.Count(got, "\n") != 2 {
		t.Errorf("a rack without brokers: %q", got)
	}
	set("clicks", "cleanup.policy", "compact,delete")
	if got := warnings(); !strings.HasPrefix(got, "kafka topic clicks: the topic is compacted") || strings.Count(got, "\n") != 1 {
		t.Errorf("a compacted topic: %q", got)
	}
	if out := s.done(t, "run", "--until", "end"); strings.Count(out, "the topic is compacted (cleanup.policy)") != 1 {
		t.Errorf("weir run does not say once that a topic is compacted:\n%s", out)
	}
	set("clicks", "cleanup.policy", "delete")
	set("appended", "retention.ms", "86400000")
	if got := warnings(); !strings.HasPrefix(got, "kafka topic appended: retention 24h0m0s is not above lateness + skew 120h10m0s") || strings.Count(got, "\n") != 1 {
		t.Errorf("a retention below the lateness: %q", got)
	}
}

// TestCheckPosition: for a position that the log no longer holds, weir check
// says what weir run will do, and exits with 1 if weir run stops.
func TestCheckPosition(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	cut := func(at int64) {
		t.Helper()
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: "clicks", At: at})
		res, err := kadm.NewClient(s.client).DeleteRecords(t.Context(), offsets)
		if err == nil {
			err = res.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	says := func(code int, want string, args ...string) {
		t.Helper()
		cmd, out, ended := s.start(t, args...)
		if got := ends(t, cmd, ended); got != code || !strings.Contains(out.String(), want) {
			t.Errorf("weir %q: exit code %d, want %d, and %q:\n%s", args, got, code, want, out)
		}
	}
	for range 3 {
		s.produce(t)
	}
	s.done(t, "run", "--until", "end")
	says(0, "position of job clicks: the log has it", "check")
	cut(2)
	says(0, "! ledger     position of job clicks: partition 0: offsets 0 to 2 of the open chunk were counted, and then deleted from the log", "check")
	for range 3 {
		s.produce(t)
	}
	cut(5)
	says(1, "position 3, log starts at 5, 2 records are gone", "run", "--until", "end")
	says(1, "✗ ledger     position of job clicks: weir run stops: job clicks, partition 0: retention passed the position: position 3, log starts at 5, 2 records are gone; kafka.on_data_loss: skip records the gap", "check")
	says(0, "! ledger     position of job clicks: partition 0: offsets 3 to 5 were deleted from the log before they were counted", "check", "--kafka.on_data_loss", "skip")
}

// TestCheckClock: weir check warns if the server's clock differs from the
// host's, and says what happens to rows.
func TestCheckClock(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	cfg, _, err := config.Load(config.Options{File: filepath.Join(s.dir, "weir.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host time.Duration // the host's clock against the server's
		want string
	}{
		{0, "✓ clickhouse clock: equal to this host's, within a minute"},
		{-8 * 24 * time.Hour, "! clickhouse clock: the server's clock is ahead of this host's by 19"},
		{2 * time.Minute, "! clickhouse clock: the server's clock is behind this host's by "},
	} {
		var out bytes.Buffer
		k := &checker{ctx: t.Context(), now: func() time.Time { return time.Now().Add(c.host) }}
		k.clickhouse(cfg)
		if err := k.print(&out, false); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("a host that is off by %s: %v, want %q in\n%s", c.host, err, c.want, &out)
		}
	}
}

// TestCheckFrozenReplica: a replica that takes a connection and does not answer is a warning, and no other check
// fails for the time that it has taken.
func TestCheckFrozenReplica(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	t.Cleanup(func() { checkTimeout = await.Never })
	for limit := time.Second; ; limit *= 2 {
		frozen := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(2 * limit):
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}))
		t.Cleanup(frozen.Close)
		cfg, _, err := config.Load(config.Options{File: filepath.Join(s.dir, "weir.yaml")})
		if err != nil {
			t.Fatal(err)
		}
		cfg.ClickHouse.URLs = append(cfg.ClickHouse.URLs, frozen.URL)
		checkTimeout = limit
		k := &checker{ctx: t.Context(), now: func() time.Time {
			checkTimeout = await.Never // the clock is asked from here on
			return time.Now()
		}}
		k.clickhouse(cfg)
		var out bytes.Buffer
		err = k.print(&out, false)
		if len(k.diagnostics) == 2 && limit < await.Never { // the machine is too slow for the limit: there was no answer at all
			continue
		}
		for _, want := range []string{"! clickhouse " + frozen.URL + ": this replica fails", "✓ clickhouse clock: equal"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v, want %q in\n%s", err, want, &out)
			}
		}
		return
	}
}
