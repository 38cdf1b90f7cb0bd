package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestCheckTopics: weir check warns of record times that are the producers',
// of a topic that is compacted, and of a retention that is not above lateness
// and skew, and of none of it where there is none.
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
	warnings := func() string {
		t.Helper()
		var findings []finding
		out := s.done(t, "check", "-o", "json")
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
	set("appended", "retention.ms", "604800000") // 7 days, and it takes 5 and 10 minutes
	want := "kafka topic clicks: record times are the producers' (message.timestamp.type=CreateTime): " +
		"late and future are judged against clocks you may not control; LogAppendTime is the broker's\n"
	if got := warnings(); got != want {
		t.Errorf("warnings:\n%swant\n%s", got, want)
	}
	set("clicks", "message.timestamp.type", "LogAppendTime")
	if got := warnings(); got != "" {
		t.Errorf("nothing to warn of, but:\n%s", got)
	}
	set("clicks", "cleanup.policy", "compact,delete")
	if got := warnings(); !strings.HasPrefix(got, "kafka topic clicks: the topic is compacted") || strings.Count(got, "\n") != 1 {
		t.Errorf("a compacted topic: %q", got)
	}
	set("clicks", "cleanup.policy", "delete")
	set("appended", "retention.ms", "86400000")
	if got := warnings(); !strings.HasPrefix(got, "kafka topic appended: retention 24h0m0s is not above lateness + skew 120h10m0s") || strings.Count(got, "\n") != 1 {
		t.Errorf("a retention below the lateness: %q", got)
	}
}
