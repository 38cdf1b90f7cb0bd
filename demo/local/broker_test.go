package local_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/local"
	"weir/internal/await"
)

func startBroker(t *testing.T, cfg local.BrokerConfig) *local.Broker {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	cfg.Log = quiet
	b, err := local.StartBroker(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func kafka(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func produce(t *testing.T, addr, topic string, from, n int) {
	t.Helper()
	c := kafka(t, addr)
	defer c.Close()
	for i := from; i < from+n; i++ {
		r := &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: fmt.Appendf(nil, "%d", i)}
		if err := c.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// consume reads n records, in order per partition, and fails when there are
// fewer.
func consume(t *testing.T, addr, topic string, n int, opts ...kgo.Opt) []string {
	t.Helper()
	c := kafka(t, addr, append([]kgo.Opt{kgo.ConsumeTopics(topic)}, opts...)...)
	defer c.Close()
	ctx := await.Context(t)
	var got []string
	for len(got) < n {
		fs := c.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		fs.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got
}

func TestBrokerGoesOn(t *testing.T) {
	cfg := local.BrokerConfig{Data: t.TempDir(), Topics: []local.Topic{
		{Name: "clicks", Partitions: 2, Config: map[string]string{"retention.ms": "3600000"}}, {Name: "one"},
	}}
	b := startBroker(t, cfg)
	produce(t, b.Addr(), "clicks", 0, 50)
	group := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	c := kafka(t, b.Addr(), append(group, kgo.ConsumeTopics("clicks"))...)
	for seen := 0; seen < 50; {
		fs := c.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		seen += fs.NumRecords()
		if err := c.CommitRecords(t.Context(), fs.Records()...); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	first := b.Addr()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}

	// The configuration asks for more partitions, but the topic exists.
	cfg.Topics[0].Partitions = 9
	b = startBroker(t, cfg)
	if b.Addr() != first {
		t.Errorf("the address moved from %s to %s", first, b.Addr())
	}
	details, err := kadm.NewClient(kafka(t, b.Addr())).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(details["clicks"].Partitions); n != 2 {
		t.Errorf("clicks has %d partitions", n)
	}
	if n := len(details["one"].Partitions); n != 1 {
		t.Errorf("one has %d partitions", n)
	}
	if got := consume(t, b.Addr(), "clicks", 50); len(got) != 50 {
		t.Errorf("%d records", len(got))
	}
	produce(t, b.Addr(), "clicks", 50, 4)
	if got := consume(t, b.Addr(), "clicks", 4, group...); len(got) != 4 || !strings.Contains(strings.Join(got, " "), "50") {
		t.Errorf("the group goes on with %v", got)
	}
}

// TestBrokerKilled starts a broker on a copy of another's files, made without a
// Close, like the files of a killed process.
func TestBrokerKilled(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, local.BrokerConfig{Data: dir, Topics: []local.Topic{{Name: "clicks", Partitions: 2}}})
	produce(t, b.Addr(), "clicks", 0, 100)
	after := filepath.Join(t.TempDir(), "after")
	if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b = startBroker(t, local.BrokerConfig{Data: after})
	if got := consume(t, b.Addr(), "clicks", 100); len(got) != 100 {
		t.Errorf("%d of 100 acknowledged records", len(got))
	}
}

func TestBrokerDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	running := startBroker(t, local.BrokerConfig{Data: dir})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		cfg  local.BrokerConfig
		want string
	}{
		"directory in use": {local.BrokerConfig{Listen: "127.0.0.1:0", Data: dir}, "used by another broker"},
		"port in use":      {local.BrokerConfig{Listen: running.Addr()}, "in use"},
		"data is a file":   {local.BrokerConfig{Listen: "127.0.0.1:0", Data: file}, "not a directory"},
		"no address":       {local.BrokerConfig{Listen: "0.0.0.0:0"}, "name an address"},
		"bad address":      {local.BrokerConfig{Listen: "nonsense"}, "listen"},
		"bad topic":        {local.BrokerConfig{Listen: "127.0.0.1:0", Topics: []local.Topic{{Name: "a/b"}}}, "a/b"},
	} {
		test.cfg.Log = quiet
		b, err := local.StartBroker(t.Context(), test.cfg)
		if err == nil {
			b.Close()
			t.Errorf("%s: it started", name)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want something with %q", name, err, test.want)
		}
	}
}

// TestBrokerPortTaken: a broker whose remembered port is taken starts on
// another.
func TestBrokerPortTaken(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, local.BrokerConfig{Data: dir})
	addr := b.Addr()
	b.Close()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if b = startBroker(t, local.BrokerConfig{Data: dir}); b.Addr() == addr {
		t.Errorf("two listeners on %s", addr)
	}
}
