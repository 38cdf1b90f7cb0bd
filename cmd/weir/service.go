package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/outage"
)

// A service is what a key of the configuration leads to.
type service struct {
	name  string   // kafka, clickhouse
	key   string   // of the configuration
	where string   // the key's value
	addrs []string // the same as host:port
	tls   bool     // it is spoken to with TLS
	is    string   // what should be there, as identify says it
}

// What identify knows.
const (
	aKafka      = "a Kafka broker"
	anHTTP      = "an HTTP server"
	aClickHouse = "a ClickHouse server's HTTP interface"
	aNative     = "a ClickHouse server's native port (its HTTP interface is on another, 8123 by default)"
	aRedis      = "a Redis server"
	anSSH       = "an SSH server"
	aTLS        = "a listener that wants TLS"
)

func kafkaService(brokers []string, tls bool) service {
	return service{"kafka", "kafka.brokers", fmt.Sprint(brokers), brokers, tls, aKafka}
}

func clickhouseService(cfg *config.Config) service {
	s := service{name: "clickhouse", key: "clickhouse.url", where: cfg.ClickHouse.URL, is: aClickHouse}
	if u, err := url.Parse(s.where); err == nil {
		s.tls = u.Scheme == "https"
		port := "8123"
		if s.tls {
			port = "8443"
		}
		s.addrs = []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))}
	}
	return s
}

// refused is what is wrong with an answer that will not get better: a wrong
// password, a certificate, another service than the one that was meant. It is
// nil for one that may.
func (s service) refused(ctx context.Context, err error) error {
	if other := s.mistaken(ctx, err); other != nil {
		return &exit{exitConfig, other, ""}
	}
	var final interface{ Fatal() bool }
	if errors.As(err, &final) && final.Fatal() {
		return &exit{exitConfig, fmt.Errorf("%s %s: %w", s.key, s.where, err), ""}
	}
	return nil
}

// mistaken says that another service is at an address, if one is for certain.
func (s service) mistaken(ctx context.Context, err error) error {
	for _, addr := range s.addrs {
		found := identify(ctx, addr)
		switch {
		case found == "" || found == s.is && !s.tls:
		case found == aTLS && s.tls: // as it should; what is behind it is not known
		case found == anHTTP && s.is == aClickHouse: // a proxy, perhaps, and ClickHouse is away
		case found == s.is:
			return fmt.Errorf("%s: at %s is %s without TLS: %w", s.key, addr, found, err)
		case found == aTLS:
			return fmt.Errorf("%s: at %s is %s, and it is not configured: %w", s.key, addr, found, err)
		default:
			return fmt.Errorf("%s: at %s is %s, and not %s: %w", s.key, addr, found, s.is, err)
		}
	}
	return nil
}

// unavailable is the error of a service that gave no answer it should have.
func (s service) unavailable(ctx context.Context, err error) error {
	if refused := s.refused(ctx, err); refused != nil {
		return refused
	}
	return &exit{exitUnavailable, fmt.Errorf("%s %s: %w", s.key, s.where, err), ""}
}

// reach waits until a service answers, saying so, and gives up with exit code 69
// after the configured time. What will not get better (a wrong password, another
// service) ends the waiting at once, with exit code 78. Each try has what is left
// of the time, and five seconds at least.
func (s service) reach(ctx context.Context, log *slog.Logger, limit time.Duration, ping func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	answers := outage.New(log).Of(outage.Subject{Begins: s.name + " does not answer yet", GoesOn: s.name + " still does not answer", Ends: s.name + " answers"}, s.where)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		try, cancel := context.WithTimeout(ctx, max(time.Until(deadline), 5*time.Second))
		err := ping(try)
		cancel()
		if err == nil {
			answers.Worked()
			return nil
		}
		refused := s.refused(ctx, err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case refused != nil:
			return refused
		case time.Now().Add(wait).After(deadline):
			return &exit{exitUnavailable, fmt.Errorf("%s %s: no answer for %s: %w", s.key, s.where, limit, err),
				"is it up? `weir check` tries every connection; `weir up` needs neither Kafka nor ClickHouse"}
		}
		answers.Failed(err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// identify finds out what answers at an address; empty: nothing does, or it is
// not known. It asks as three clients would, each on a connection of its own: a
// browser, a consumer, and whatever speaks TLS.
func identify(ctx context.Context, addr string) string {
	answer := knock(ctx, addr, []byte("GET /ping HTTP/1.0\r\n\r\n"))
	has := func(text string) bool { return bytes.Contains(answer, []byte(text)) }
	begins := func(text string) bool { return bytes.HasPrefix(answer, []byte(text)) }
	switch {
	case has("clickhouse-client"):
		return aNative
	case begins("HTTP/") && (has("HTTPS server") || has("HTTPS port")): // net/http, nginx
		return aTLS
	case begins("HTTP/") && (has("X-ClickHouse") || bytes.HasSuffix(answer, []byte("\r\n\r\nOk.\n"))):
		return aClickHouse
	case begins("HTTP/"):
		return anHTTP
	case begins("-ERR"), begins("-NOAUTH"), begins("-DENIED"):
		return aRedis
	case begins("SSH-"):
		return anSSH
	case begins("\x15\x03"): // an alert
		return aTLS
	}
	const versions = "\x00\x00\x00\x0a" + "\x00\x12" + "\x00\x00" + "weir" + "\x00\x00" // length, ApiVersions, version 0, what the answer repeats, no client
	if answer := knock(ctx, addr, []byte(versions)); len(answer) >= 8 && string(answer[4:8]) == "weir" {
		return aKafka
	}
	ctx, cancel := context.WithTimeout(ctx, knockTimeout)
	defer cancel()
	// Nothing is said on this connection: it is of no matter whose certificate that is.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		c.Close()
	}
	var alert tls.AlertError
	if err == nil || errors.As(err, &alert) || strings.Contains(err.Error(), "remote error: tls") {
		return aTLS
	}
	return ""
}

var knockTimeout = 2 * time.Second

// knock sends something and returns how the answer begins.
func knock(ctx context.Context, addr string, say []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, knockTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(knockTimeout)) // of a new connection: it works
	if _, err := c.Write(say); err != nil {
		return nil
	}
	var answer []byte
	for b := make([]byte, 1024); len(answer) < 4096; {
		n, err := c.Read(b)
		answer = append(answer, b[:n]...)
		// What matters may come in a second piece; one that has announced
		// nothing is not waited for.
		if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/")) && len(answer) >= 8 {
			break
		}
	}
	return answer
}
