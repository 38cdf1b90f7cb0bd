package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/config"
	"weir/demo/local/localtest"
	"weir/internal/await"
	"weir/internal/kafkatest"
	"weir/internal/redistest"
	"weir/internal/tcptest"
)

// says returns a listener that writes a text to each connection.
func says(t *testing.T, text string) (addr string) {
	t.Helper()
	return tcptest.Serve(tcptest.Listen(t), func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_, _ = c.Read(make([]byte, 1024)) // with unread data, Close could discard what was written
	})
}

func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// weir refuses the address of a wrong service at once, with exit code 78, and
// names the key and what the service there answers. The services are real, except
// those that identify themselves by a first text.
func TestOtherService(t *testing.T) {
	kafkatest.Wanted(t)
	engine, database := localtest.Engine(t)
	kafka := kafkatest.Start(t, kafkatest.Config{Steady: true, Listeners: []kafkatest.Listener{{Name: "TLS", Security: "SSL"}}})
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	redis := redistest.Start(t)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	native := says(t, "HTTP/1.0 400 Bad Request\r\n\r\nPort 9000 is for clickhouse-client program\r\nYou must use port 8123 for HTTP.\r\n")
	ssh := says(t, "SSH-2.0-OpenSSH_9.6\r\n")
	broker := kafka.Addrs()[0]
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(await.Context(t), 1, 1, nil, "clicks"); err != nil {
		t.Fatal(err)
	}

	const away, notAsked = "127.0.0.1:1", "-"
	for _, c := range []struct {
		addr, kafka, clickhouse string
	}{
		{broker, "", ""},
		{kafka.Listener("TLS")[0], "wants TLS", "wants TLS"},
		{fake.ListenAddrs()[0], "", ""},
		{redis.Addr, "", `it answers "-ERR`},
		{hostOf(t, web.URL), `it answers "HTTP/1.1 400`, ""},
		{hostOf(t, secure.URL), "", "wants TLS"},
		{native, `it answers "HTTP/1.0 400`, `it answers "HTTP/1.0 400`},
		{ssh, `it answers "SSH-2.0-OpenSSH_9.6`, `it answers "SSH-2.0-OpenSSH_9.6`},
		{hostOf(t, engine), notAsked, ""},
		{away, "", ""},
	} {
		cfg := &config.Config{}
		cfg.ClickHouse.URLs = []string{"http://" + c.addr}
		for s, want := range map[*service]string{new(kafkaService([]string{c.addr}, false)): c.kafka, new(clickhouseService(cfg)): c.clickhouse} {
			if want == notAsked {
				continue
			}
			await.Until(t, func() error { // a slow service is not recognised
				if err := s.mistaken(t.Context(), io.EOF); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					return fmt.Errorf("%s for %s: %w, want %q", c.addr, s.name, err, want)
				}
				return nil
			})
		}
	}

	usual := knockTimeout
	knockTimeout = await.Never // the commands below look only once, at services that answer
	t.Cleanup(func() { knockTimeout = usual })
	for _, c := range []struct{ brokers, url, more, key, is string }{
		{hostOf(t, web.URL), engine, "", "kafka.brokers", "no kafka"},
		{broker, engine, ", tls: {enabled: true}", "kafka.brokers", "answers without TLS"},
		{broker, "http://" + redis.Addr, "", "clickhouse.urls", "no clickhouse"},
		{broker, strings.Replace(engine, "http:", "https:", 1), "", "clickhouse.urls", "answers without TLS"},
	} {
		file := filepath.Join(t.TempDir(), "weir.yaml")
		text := fmt.Sprintf("kafka: {brokers: [%s], group: other-service%s}\nclickhouse: {urls: %q, database: %s}\nhttp: {listen: 127.0.0.1:0}\n"+
			"jobs: [{name: clicks, topic: clicks, time: {field: ts}, window: 1m, by: [page], measures: [{name: users, kind: hll, field: user_id}]}]\n", c.brokers, c.more, c.url, database)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		command := "check"
		if c.key == "clickhouse.urls" {
			command = "run"
		}
		code := execute(t.Context(), []string{command, "-c", file}, &out, &out)
		if code != exitConfig || !strings.Contains(out.String(), c.key+": ") || !strings.Contains(out.String(), c.is) {
			t.Errorf("weir %s with %s for Kafka and %s for ClickHouse: exit code %d, want %d and %s, %s in\n%s", command, c.brokers, c.url, code, exitConfig, c.key, c.is, &out)
		}
	}
}

// TestServiceOfShards: an error about the addresses of shards names the key where they are.
func TestServiceOfShards(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weir.yaml")
	job := "clickhouse:\n  shards: [[http://127.0.0.1:1], [http://127.0.0.1:2]]\n  connect_timeout: 0s\njobs:\n  - name: a\n    topic: a\n    time: {field: ts}\n    window: 1m\n"
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := execute(await.Context(t), []string{"migrate", "-c", file}, &stdout, &stderr)
	if want := "clickhouse.shards http://127.0.0.1:1, http://127.0.0.1:2: "; code == 0 || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit %d, and %q is not in the error:\n%s", code, want, &stderr)
	}
}

// TestNoAnswerInTime: an error about a service that is silent says so, and what to look at.
func TestNoAnswerInTime(t *testing.T) {
	s := service{name: "kafka", key: "kafka.brokers", where: "[a:9092]"}
	for _, c := range []struct {
		err    error
		silent bool
	}{
		{fmt.Errorf("ingest: %w", context.DeadlineExceeded), true},
		{fmt.Errorf("ingest: %w", &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}), true},
		{fmt.Errorf("ingest: %w", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), false},
		{errors.New("ingest: the broker closed the connection"), false},
	} {
		err := s.unavailable(t.Context(), c.err)
		says := strings.Contains(err.Error(), "kafka.brokers [a:9092]: no answer in time: is the address right")
		if code, _ := classify(err); says != c.silent || code != exitUnavailable || !errors.Is(err, c.err) {
			t.Errorf("%v: exit code %d, error %v", c.err, code, err)
		}
	}
}
