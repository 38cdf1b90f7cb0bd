package ingest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/kafkatest"
	"weir/internal/tcptest"
)

// Every kind of listener that a broker offers, for the group and for fetching.
func TestSecureListeners(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 2)
	produce(t, kafka.Addrs(), topic, 1, numbered("s", 0, 10))
	trust := &tls.Config{RootCAs: kafka.TLS.Pool}
	for _, test := range []struct {
		listener  string
		tls       *tls.Config
		mechanism string
	}{
		{"TLS", trust, ""},
		{"SASL", nil, "plain"},
		{"SASL", nil, "SCRAM-SHA-256"},
		{"SASL", nil, "scram-sha-512"},
		{"BOTH", trust, "plain"},
		{"BOTH", trust, "scram-sha-512"},
	} {
		t.Run(test.listener+" "+test.mechanism, func(t *testing.T) {
			t.Parallel()
			c := Config{Brokers: kafka.Listener(test.listener), Topic: topic, Group: "secure" + test.listener + test.mechanism, TLS: test.tls}
			if test.mechanism != "" {
				c.SASL = SASL{Mechanism: test.mechanism, User: testUser, Password: testPassword}
			}
			s, _ := open(t, c)
			ctx := await.Context(t)
			g := next(t, ctx, s)
			got := fetchTo(t, ctx, g, starts(g), map[int32]int64{1: 10})
			sameList(t, "read", got.plain[1], numbered("s", 0, 10))
			if err := g.Commit(ctx, map[int32]int64{1: 10}); err != nil {
				t.Error(err)
			}
			g.Release()
		})
	}
}

// An error that a person must remedy comes at once, with a text that names the
// cause, and never the password.
func TestRefusedAtTheDoor(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	stranger, err := kafkatest.Certify(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(stranger.CertPEM, stranger.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	mutual := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	const wrong = "not-the-password"
	for name, test := range map[string]struct {
		config Config
		words  []string
	}{
		"wrong password, scram": {
			Config{Brokers: kafka.Listener("SASL"), SASL: SASL{Mechanism: "scram-sha-256", User: testUser, Password: wrong}},
			[]string{"scram-sha-256 as " + testUser, "password"},
		},
		"wrong password, plain": {
			Config{Brokers: kafka.Listener("SASL"), SASL: SASL{Mechanism: "plain", User: testUser, Password: wrong}},
			[]string{"plain as " + testUser, "password"},
		},
		"unknown user": {
			Config{Brokers: kafka.Listener("SASL"), SASL: SASL{Mechanism: "scram-sha-512", User: "nobody", Password: wrong}},
			[]string{"scram-sha-512 as nobody"},
		},
		"another authority": {
			Config{Brokers: kafka.Listener("TLS"), TLS: &tls.Config{RootCAs: stranger.Pool}},
			[]string{"certificate"},
		},
		"another name": {
			Config{Brokers: kafka.Listener("TLS"), TLS: &tls.Config{RootCAs: kafka.TLS.Pool, ServerName: "elsewhere.example"}},
			[]string{"elsewhere.example"},
		},
		"expired": {
			Config{Brokers: []string{expired(t)}, TLS: &tls.Config{InsecureSkipVerify: false}},
			[]string{"certificate"},
		},
		"no client certificate": {
			Config{Brokers: []string{tlsServer(t, mutual)}, TLS: &tls.Config{RootCAs: stranger.Pool}},
			[]string{"certificate required"},
		},
		"plaintext to a TLS listener": {
			Config{Brokers: kafka.Listener("TLS")},
			[]string{"TLS"},
		},
		"no Kafka": {
			Config{Brokers: []string{tcptest.Serve(tcptest.Listen(t), func(c net.Conn) {
				c.Read(make([]byte, 100))
				c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			})}},
			[]string{"does not speak Kafka", "HTTP/1.1 400"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := test.config
			c.Topic, c.Group = topic, topic
			s, book := open(t, c)
			_, err := s.Next(await.Context(t))
			if err == nil || judge(err) != fatal {
				t.Fatalf("Next: %v", err)
			}
			t.Log(err)
			contains(t, "the error", err.Error(), test.words...)
			if all := err.Error() + book.String() + fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(all, wrong) {
				t.Errorf("the password is in %s", all)
			}
		})
	}
}

// expired returns a TLS server whose certificate has expired.
func expired(t *testing.T) string {
	t.Helper()
	old, err := kafkatest.Certify(time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(old.CertPEM, old.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return tlsServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
}

// tlsServer makes the TLS handshake, waits for a first byte and closes the
// connection.
func tlsServer(t *testing.T, c *tls.Config) string {
	t.Helper()
	return tcptest.Serve(tls.NewListener(tcptest.Listen(t), c), func(c net.Conn) {
		c.Read(make([]byte, 1)) // shakes hands first
	})
}

// A Source retries temporary failures: a port without a listener, a listener
// that closes the connection, one that does not answer, an unknown host name.
// If the caller's context ends, the error names the failure.
func TestUnreachableIsWaitedFor(t *testing.T) {
	closed := tcptest.Serve(tcptest.Listen(t), func(net.Conn) {})
	kafka := realKafka(t)
	for name, test := range map[string]struct {
		addr string
		tls  *tls.Config
	}{
		"refused":                     {addr: "127.0.0.1:1"},
		"hangs up":                    {addr: closed},
		"no name":                     {addr: "no-such-host.invalid:9092"},
		"TLS to a plaintext listener": {addr: kafka.Addrs()[0], tls: &tls.Config{RootCAs: kafka.TLS.Pool}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, book := open(t, Config{Brokers: []string{test.addr}, TLS: test.tls, Topic: "t", Group: "g"})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				defer cancel()
				eventually(t, "it is said", func() bool { return ctx.Err() != nil || strings.Contains(book.String(), "WARN") })
			}()
			_, err := s.Next(ctx)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("Next: %v", err)
			}
			t.Log(err)
			contains(t, "the error", err.Error(), "until then: ")
			if n := strings.Count(book.String(), "WARN"); n < 1 || n > 2 {
				t.Errorf("%d warnings:\n%s", n, book)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	good := Config{Brokers: []string{"127.0.0.1:9092"}, Topic: "t"}
	if _, err := good.complete(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*Config){
		"Brokers":        func(c *Config) { c.Brokers = nil },
		"Brokers:":       func(c *Config) { c.Brokers = []string{"localhost"} },
		"Topic":          func(c *Config) { c.Topic = "" },
		"Session":        func(c *Config) { c.Session = time.Millisecond },
		"Heartbeat":      func(c *Config) { c.Heartbeat = 5 * time.Second },
		"MaxWait":        func(c *Config) { c.MaxWait = -1 },
		"PartitionBytes": func(c *Config) { c.PartitionBytes = 10 },
		"ResponseLimit":  func(c *Config) { c.ResponseLimit = 1 << 10 },
		"SASL.Mechanism": func(c *Config) { c.SASL.Mechanism = "gssapi" },
	} {
		c := good
		spoil(&c)
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s spoilt: %v", field, err)
		}
	}
}
