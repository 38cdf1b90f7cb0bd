package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/local"
	"weir/internal/await"
)

// TestProduceFlags: a time that cannot be read from events is refused.
func TestProduceFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--time-unit s", "--time-unit belongs to --time-field"},
		{"--time-field key", `--time-field "key" is no path in an event of JSON`},
		{"--time-field a..b", `--time-field "a..b" is no path in an event of JSON`},
		{"--time-field ts --time-unit h", `--time-unit "h": want s, ms, us, ns, rfc3339 or iso8601`},
		{"--time-field ts --time-unit record", `--time-unit "record": want s, ms`},
	} {
		var out bytes.Buffer
		if code := execute(t.Context(), append([]string{"produce", "--topic", "plays"}, strings.Fields(c.args)...), io.Discard, &out); code != exitUsage || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d\n%s", c.args, code, &out)
		}
	}
}

// TestLines: each line becomes a record, without waiting for further lines. A
// line that cannot be a record gives an error, after the lines before it are in
// the topic.
func TestLines(t *testing.T) {
	broker, err := local.StartBroker(t.Context(), local.BrokerConfig{Listen: "127.0.0.1:0", Topics: localTopics([]string{"plays"}, 2, nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	reader, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.ConsumeTopics("plays"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	p := &producer{brokers: []string{broker.Addr()}, topic: "plays", codec: "lz4", log: slog.New(slog.DiscardHandler)}
	times := map[string]time.Time{} // Kafka's, by value
	// comes waits for records in any order, because the topic has two partitions.
	comes := func(want ...string) {
		t.Helper()
		left := map[string]int{}
		for _, w := range want {
			left[w]++
		}
		ctx, cancel := context.WithTimeout(t.Context(), await.Never)
		defer cancel()
		for n := 0; n < len(want); {
			fetches := reader.PollFetches(ctx)
			if err := errors.Join(fetches.Err(), ctx.Err()); err != nil {
				t.Fatalf("%v; not yet there: %v", err, left)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				n++
				times[string(r.Value)] = r.Timestamp
				if left[string(r.Value)]--; left[string(r.Value)] < 0 || r.Key != nil {
					t.Errorf("record %q with key %q", r.Value, r.Key)
				}
			})
		}
	}

	if n, err := p.lines(t.Context(), strings.NewReader("a\n\n b\r\nthe last has no end"), nil); n != 3 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
	comes("a", " b", "the last has no end")

	// With a field of the time that is the Kafka time of a record; now where an event has none, or one of the future.
	clock, err := newLineClock("meta.at", "s")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Truncate(time.Millisecond)
	const dated, undated, bad, future = `{"meta":{"at":1700000000.25}}`, `{"meta":{"at":"yesterday"}}`, `{"meta":`, `{"meta":{"at":250000000000}}`
	const zero = `{"meta":{"at":0}}`
	if n, err := p.lines(t.Context(), strings.NewReader(strings.Join([]string{dated, undated, bad, future, zero}, "\n")), clock); n != 5 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
	comes(dated, undated, bad, future, zero)
	if none := clock.none.Load(); none != 2 {
		t.Errorf("%d lines without a time, want 2", none)
	}
	if got := times[dated].UnixMilli(); got != 1_700_000_000_250 {
		t.Errorf("the Kafka time of %s is %d", dated, got)
	}
	if got := times[zero].UnixMilli(); got != 1 {
		t.Errorf("the Kafka time of %s is %d", zero, got)
	}
	for _, line := range []string{undated, bad, future} {
		if at := times[line]; at.Before(began) || at.After(time.Now()) {
			t.Errorf("the Kafka time of %s is %v, and it was produced after %v", line, at, began)
		}
	}

	in, slow := io.Pipe()
	defer slow.Close()
	ctx, stop := context.WithCancel(t.Context())
	type outcome struct {
		n   int64
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		n, err := p.lines(ctx, in, nil)
		ended <- outcome{n, err}
	}()
	if _, err := io.WriteString(slow, "early\n"); err != nil {
		t.Fatal(err)
	}
	comes("early") // although the pipe stays open
	stop()
	if got := <-ended; got.n != 1 || got.err != nil {
		t.Errorf("stopped: %+v", got)
	}

	n, err := p.lines(t.Context(), strings.NewReader("short\n"+strings.Repeat("x", lineMost+1)+"\nnever\n"), nil)
	if n != 1 || err == nil || err.Error() != "line 2 has more than 1 MiB" {
		t.Errorf("a line of more than 1 MiB: %d, %v", n, err)
	}
	comes("short")

	p.topic = "nope"
	var e *exit
	if n, err := p.lines(t.Context(), strings.NewReader("a\n"), nil); n != 0 || !errors.As(err, &e) || e.code != exitFailed || !strings.Contains(e.hint, "make it first") {
		t.Errorf("a topic that is missing: %d, %v", n, err)
	}
}

// TestLinesRefused: where a broker refuses some lines of a batch, the number is that of the lines in the topic. A line of just below 1 MiB is a record, with shorter ones in front and behind.
func TestLinesRefused(t *testing.T) {
	topics := append(localTopics([]string{"small"}, 2, map[string]string{"max.message.bytes": "2000"}), localTopics([]string{"wide"}, 1, nil)...)
	broker, err := local.StartBroker(t.Context(), local.BrokerConfig{Listen: "127.0.0.1:0", Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, c := range []struct {
		topic, lines string
		want         int64
		err          string
	}{
		{"small", "a\n\nb\n" + strings.Repeat("x", 5000) + "\nc\n", 2, "records refused"},
		{"wide", "a\n" + strings.Repeat("x", 1_040_000) + "\nb\n", 3, ""},
	} {
		p := &producer{brokers: []string{broker.Addr()}, topic: c.topic, codec: "none", log: slog.New(slog.DiscardHandler)}
		n, err := p.lines(t.Context(), strings.NewReader(c.lines), nil)
		if n != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d lines, %v; want %d and %q", c.topic, n, err, c.want, c.err)
		}
		ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), c.topic)
		if err != nil {
			t.Fatal(err)
		}
		in := int64(0)
		ends.Each(func(o kadm.ListedOffset) { in += o.Offset })
		if in != n {
			t.Errorf("%s: %d records are in the topic, and %d were reported", c.topic, in, n)
		}
	}
}
