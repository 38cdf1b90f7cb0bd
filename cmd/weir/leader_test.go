package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestWithoutALeader: one of two partitions has no leader. A process that starts counts the other, and that one as
// soon as it can; /readyz, weir check, verify,
// tap and infer name it meanwhile, and do the rest of their work.
func TestWithoutALeader(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	if res, err := kadm.NewClient(s.client).CreatePartitions(t.Context(), 1, "clicks"); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.ListenAddrs()...), kgo.UnknownTopicRetries(-1), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	produce := func(partition int32) {
		t.Helper()
		value := fmt.Sprintf(`{"ts":%d,"user_id":7}`, time.Now().UnixMilli())
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "clicks", Partition: partition, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	says := func(code int, arg string, texts ...string) string {
		t.Helper()
		cmd, out, ended := s.start(t, arg)
		if got := ends(t, cmd, ended); got != code {
			t.Errorf("weir %s: exit code %d, want %d", arg, got, code)
		}
		for _, text := range texts {
			if !strings.Contains(out.String(), text) {
				t.Errorf("weir %s: no %q in\n%s", arg, text, out)
			}
		}
		return out.String()
	}
	produce(0)
	produce(1)
	s.done(t, "run", "--until", "end")
	away := s.kafka.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch}, Topic: "clicks", Partitions: []int32{1}, Err: kerr.LeaderNotAvailable, Count: -1})
	const missing = "partitions of topic clicks cannot be read now: partition 1: [5] Leader Not Available"
	says(1, "check", "✗ ledger     position of job clicks: "+missing, "position of job appended: the log has it")
	out := says(1, "verify", "clicks: what can be read now adds up: ", "error: job clicks is not verified: "+missing, "appended: everything adds up: ")
	if strings.Contains(out, "mismatch") || strings.Contains(out, "clicks: everything") {
		t.Errorf("weir verify:\n%s", out)
	}

	for _, args := range [][]string{{"tap", "--job", "clicks", "--from", "beginning", "--until", "end"}, {"infer", "--topic", "clicks"}} {
		cmd, out, ended := s.start(t, args...)
		if got := ends(t, cmd, ended); got != 0 || !strings.Contains(out.String(), "note: "+missing) || !strings.Contains(out.String(), "the others are read") {
			t.Errorf("weir %s: exit code %d\n%s", args[0], got, out)
		}
	}

	_, book, _ := s.start(t, "run")
	eventually(t, "a start", func() bool { return strings.Count(book.String(), "partition assigned") == 2 })
	address := regexp.MustCompile(`"http":"([^"]+)"`).FindStringSubmatch(book.String())
	if address == nil {
		t.Fatalf("it does not say where it answers:\n%s", book)
	}
	ready := func() (int, string) {
		t.Helper()
		res, err := http.Get("http://" + address[1] + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	produce(0)
	produce(1)
	eventually(t, "the partition with a leader", func() bool { return s.hits(t) == "3" })
	if code, text := ready(); code != http.StatusServiceUnavailable || !strings.Contains(text, missing) {
		t.Errorf("/readyz: %d %s", code, text)
	}
	away.Remove()
	eventually(t, "the other partition", func() bool { return s.hits(t) == "4" })
	eventually(t, "/readyz is well", func() bool { code, _ := ready(); return code == http.StatusOK })
	if log := book.String(); strings.Count(log, "has no leader that answers; it waits") != 1 {
		t.Errorf("the log:\n%s", log)
	}
	says(0, "verify", "clicks: everything adds up: ")
}
