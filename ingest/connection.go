package ingest

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

// This file opens connections to brokers and keeps them. A connection carries one request at
// a time: the exchange that takes it has it alone.

// connections are those of one Source.
type connections struct {
	config    *Config
	mechanism sasl.Mechanism // nil: no SASL
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	longest   time.Duration // for which a connection without a request is kept

	mu        sync.Mutex
	addresses map[int32]string  // of the brokers, as they were told last
	dialects  map[int32]dialect // of the brokers, until an exchange with one fails
	idle      []*connection     // those without a request; the last one was used last
	open      map[*connection]struct{}
	closed    bool
}

// A connection is open, and the broker knows who this client is.
type connection struct {
	net.Conn            // with TLS, if that is configured
	tcp       net.Conn  // below it
	broker    int32     // or anyBroker
	until     time.Time // when its token or its session is about to end; zero: never
	idleSince time.Time
}

func newConnections(c *Config, m sasl.Mechanism) *connections {
	return &connections{
		config:    c,
		mechanism: m,
		dial:      (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		longest:   30 * time.Second,
		addresses: make(map[int32]string),
		dialects:  make(map[int32]dialect),
		open:      make(map[*connection]struct{}),
	}
}

// take returns a connection to a broker for one exchange. Afterwards give takes it back.
func (b *connections) take(ctx context.Context, broker int32) (*connection, error) {
	addresses, l := b.reuse(broker)
	if l != nil {
		return l, nil
	}
	err := error(kafka.BrokerNotAvailable) // its address is not known
	for _, a := range addresses {
		if l, err = b.connect(ctx, broker, a); err == nil || judge(err) != retry {
			break
		}
	}
	return l, err
}

// reuse returns an idle connection to a broker. If there is none, it returns the addresses
// at which to try: anyBroker has several.
func (b *connections) reuse(broker int32) (addresses []string, l *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.discard(func(l *connection) bool {
		return now.Sub(l.idleSince) > b.longest || !l.until.IsZero() && now.After(l.until)
	})
	for i, l := range slices.Backward(b.idle) {
		if l.broker == broker {
			b.idle = slices.Delete(b.idle, i, i+1)
			return nil, l
		}
	}
	if broker == anyBroker {
		addresses = slices.Clone(b.config.Brokers)
		rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	} else if a, ok := b.addresses[broker]; ok {
		addresses = []string{a}
	}
	return addresses, nil
}

// discard closes those of the idle connections that are not good any more.
func (b *connections) discard(bad func(*connection) bool) {
	b.idle = slices.DeleteFunc(b.idle, func(l *connection) bool {
		if !bad(l) {
			return false
		}
		delete(b.open, l)
		l.tcp.Close()
		return true
	})
}

// give takes a connection back, to keep it for the next exchange or to close it. One whose broker
// has been forgotten meanwhile is closed: the next one tells the dialect.
func (b *connections) give(l *connection, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if keep && !b.closed && b.dialects[l.broker] != nil {
		l.idleSince = time.Now()
		b.idle = append(b.idle, l)
		return
	}
	delete(b.open, l)
	l.tcp.Close()
}

// learn notes addresses of brokers.
func (b *connections) learn(addresses map[int32]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.addresses, addresses)
}

func address(host string, port int32) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// forget closes the idle connections to a broker with which an exchange has failed, and
// forgets its dialect, because a broker restarts when it is replaced by an older or newer one.
func (b *connections) forget(broker int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.dialects, broker)
	b.discard(func(l *connection) bool { return l.broker == broker })
}

// closeAll closes every connection, also those that wait in a long poll or in a join, and
// prevents new ones.
func (b *connections) closeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.idle = true, nil
	for l := range b.open {
		l.tcp.Close()
	}
}

// dialect returns the dialect of a broker, which each new connection tells. An unsupported
// request makes a broker close the connection without an error code.
func (b *connections) dialect(ctx context.Context, broker int32) (dialect, error) {
	for {
		b.mu.Lock()
		d := b.dialects[broker]
		b.mu.Unlock()
		if d != nil {
			return d, nil
		}
		l, err := b.take(ctx, broker)
		if err != nil {
			return nil, err
		}
		b.give(l, true)
	}
}

func (b *connections) connect(ctx context.Context, broker int32, address string) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	tcp, err := b.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &connection{Conn: tcp, tcp: tcp, broker: broker}
	b.mu.Lock()
	closed := b.closed
	b.open[l] = struct{}{} // so that closeAll ends what follows
	b.mu.Unlock()
	if closed {
		err = ErrClosed
	} else {
		err = l.within(ctx, func() error { return b.introduce(ctx, l, address) })
	}
	if err != nil {
		b.give(l, false)
		return nil, err
	}
	return l, nil
}

// within runs f, whose reads and writes end with ctx. After an error the connection cannot
// be used any more.
func (l *connection) within(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = l.tcp.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		return ctx.Err()
	}
	return err
}

// introduce encrypts a new connection, asks which versions the broker supports, and says who
// this client is, with the messages of kafka-go.
func (b *connections) introduce(ctx context.Context, l *connection, address string) error {
	if t := b.config.TLS; t != nil {
		if t.ServerName == "" {
			t = t.Clone()
			t.ServerName, _, _ = net.SplitHostPort(address)
		}
		l.Conn = tls.Client(l.tcp, t)
	}
	k := protocol.NewConn(&stranger{Conn: l.Conn, known: b.config.TLS != nil}, b.config.ClientID)
	m, err := k.RoundTrip(new(apiversions.Request))
	if err != nil {
		return err
	}
	r := m.(*apiversions.Response)
	if r.ErrorCode != 0 {
		return kafka.Error(r.ErrorCode)
	}
	d, err := dialectOf(r)
	if err != nil {
		return err
	}
	if b.mechanism != nil {
		theirs := make(map[protocol.ApiKey]int16)
		for _, a := range r.ApiKeys {
			api := protocol.ApiKey(a.ApiKey)
			theirs[api] = api.SelectVersion(a.MinVersion, a.MaxVersion)
		}
		k.SetVersions(theirs)
		if err := b.authenticate(ctx, k, l, theirs); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.dialects[l.broker]; l.broker == anyBroker && known != nil { // some may be older, while they are replaced
		d = known.common(d)
	}
	b.dialects[l.broker] = d
	return nil
}

// authenticate goes through the steps of the SASL mechanism, with a broker that has these versions.
func (b *connections) authenticate(ctx context.Context, k *protocol.Conn, l *connection, theirs map[protocol.ApiKey]int16) error {
	if t, ok := b.mechanism.(*bearer); ok {
		// An error here is that of Start, too. The token that Start uses is this one, or one
		// that lives longer.
		_, l.until, _ = t.current(ctx)
	}
	m, err := k.RoundTrip(&saslhandshake.Request{Mechanism: b.mechanism.Name()})
	if err != nil {
		return err
	}
	if code := m.(*saslhandshake.Response).ErrorCode; code != 0 {
		return kafka.Error(code)
	}
	session, say, err := b.mechanism.Start(ctx)
	for done := false; err == nil && !done; {
		m, err := k.RoundTrip(&saslauthenticate.Request{AuthBytes: say})
		if errors.Is(err, io.EOF) && theirs[protocol.SaslHandshake] == 0 {
			return kafka.SASLAuthenticationFailed // a broker before Kafka 1.0 has no code for it
		}
		if err != nil {
			return err
		}
		r := m.(*saslauthenticate.Response)
		if r.ErrorCode != 0 {
			return fmt.Errorf("%w: %s", kafka.Error(r.ErrorCode), r.ErrorMessage)
		}
		if life := time.Duration(r.SessionLifetimeMs) * time.Millisecond; life > 0 { // KIP-368: then the broker closes the connection
			if end := time.Now().Add(life - min(life/5, time.Minute)); l.until.IsZero() || end.Before(l.until) {
				l.until = end
			}
		}
		if done, say, err = session.Next(ctx, r.AuthBytes); err != nil {
			return err
		}
	}
	return err
}

// A stranger is a connection whose other end has not sent anything yet. It checks the first
// bytes before kafka-go reads them: kafka-go would trust the length and the number of items
// in them, and would be busy for a long time with the answer of an HTTP server.
type stranger struct {
	net.Conn
	known bool // with TLS from the beginning
}

func (l *stranger) Read(b []byte) (int, error) {
	if l.known || len(b) < 4 {
		return l.Conn.Read(b)
	}
	n, err := io.ReadAtLeast(l.Conn, b, 4)
	if l.known = true; n >= 4 {
		const plausible = 1 << 20 // of the first response, a list of versions; about 600 bytes
		switch length := binary.BigEndian.Uint32(b); {
		case length>>16 == 0x1503, length>>16 == 0x1603: // an alert or a handshake record
			return 0, errSpeaksTLS
		case length > plausible:
			return 0, fmt.Errorf("%w: it says %q", errNotKafka, b[:min(n, 20)])
		}
	}
	return n, err
}
