package ingest

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"weir/internal/await"
)

// A connection serves one exchange after the other, until it was idle for too long, its token
// is about to expire, or an exchange with its broker has failed.
func TestConnectionIsKept(t *testing.T) {
	c := fakeKafka(t, kfake.SeedTopics(1, "kept"))
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "kept"})
	b, ctx := s.conns, await.Context(t)
	b.longest = time.Hour // no machine is as slow
	take := func() *connection {
		t.Helper()
		l, err := b.take(ctx, anyBroker)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := take()
	if second := take(); second == first {
		t.Error("two exchanges share a connection")
	} else {
		b.give(second, false)
	}
	b.give(first, true)
	if l := take(); l != first {
		t.Error("a good connection is not used again")
	}
	for name, end := range map[string]func(l *connection){
		"was idle for long":          func(l *connection) { l.idleSince = time.Now().Add(-2 * b.longest) },
		"has an old token":           func(l *connection) { l.until = time.Now().Add(-time.Millisecond) },
		"is to a broker that failed": func(*connection) { b.forget(anyBroker) },
	} {
		l := take()
		b.give(l, true)
		end(l)
		again := take()
		if again == l || len(b.list()) != 2 { // the first, and this one
			t.Errorf("a connection that %s is used again, or not closed: %d are open", name, len(b.list()))
		}
		b.give(again, false)
	}
	l := take()
	b.forget(anyBroker) // another exchange has failed meanwhile
	b.give(l, true)
	if _, err := b.dialect(ctx, anyBroker); err != nil || len(b.list()) != 2 {
		t.Errorf("a broker is forgotten while a connection is in use: %v, and %d are open", err, len(b.list()))
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	l = take()
	err := l.within(over, func() error { _, err := l.Read(make([]byte, 1)); return err }) // the broker says nothing
	if b.give(l, false); !errors.Is(err, context.Canceled) {
		t.Errorf("reading until the context ends: %v", err)
	}
	if _, err := b.take(ctx, 99); !errors.Is(err, kafka.BrokerNotAvailable) {
		t.Errorf("a broker that no metadata has named: %v", err)
	}
	b.closeAll()
	if _, err := b.take(ctx, anyBroker); !errors.Is(err, ErrClosed) {
		t.Errorf("a new connection after Close: %v", err)
	}
}

// The first bytes of a broker are judged together, however they arrive.
func TestStranger(t *testing.T) {
	for _, c := range []struct {
		said string
		want error
	}{
		{"\x00\x00\x02\x58\x00\x00\x00\x01", nil},
		{"HTTP/1.1 400 Bad Request\r\n", errNotKafka},
		{"\x15\x03\x01\x00\x02\x02\x46", errSpeaksTLS},
	} {
		for cut := 1; cut < 6; cut++ {
			here, there := net.Pipe()
			go func() {
				for _, piece := range []string{c.said[:cut], c.said[cut:]} {
					_, _ = there.Write([]byte(piece))
				}
				there.Close()
			}()
			_, err := io.ReadAll(&stranger{Conn: here})
			if here.Close(); !errors.Is(err, c.want) {
				t.Errorf("%q after %d bytes: %v, want %v", c.said, cut, err, c.want)
			}
		}
	}
}
