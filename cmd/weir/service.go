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
	"slices"
	"strings"
	"time"

	"weir/config"
	"weir/internal/backoff"
	"weir/internal/outage"
)

// A service is a service at an address of the configuration.
type service struct {
	name  string   // kafka, clickhouse
	key   string   // of the configuration
	where string   // the key's value
	addrs []string // the same as host:port
	tls   bool     // the connection uses TLS
	is    string   // the expected result of identify
}

// The results of identify.
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
	s := service{name: "clickhouse", key: "clickhouse.urls", where: cfg.ClickHouse.Where(), is: aClickHouse}
	if len(cfg.ClickHouse.Shards) > 0 {
		s.key = "clickhouse.shards"
	}
	for _, at := range slices.Concat(cfg.ClickHouse.Addresses()...) {
		u, err := url.Parse(at)
		if err != nil {
			continue
		}
		port := "8123"
		if u.Scheme == "https" {
			port, s.tls = "8443", true
		}
		s.addrs = append(s.addrs, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	}
	return s
}

// refused returns the error if an answer is permanent: a wrong password, a bad
// certificate, another service than the intended one. It returns nil for a temporary
// failure.
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

// mistaken returns an error if another service certainly is at an address.
func (s service) mistaken(ctx context.Context, err error) error {
	for _, addr := range s.addrs {
		found := identify(ctx, addr)
		switch {
		case found == "" || found == s.is && !s.tls:
		case found == aTLS && s.tls: // as configured; the service behind it is not known
		case found == anHTTP && s.is == aClickHouse: // it may be a proxy whose ClickHouse is away
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

// unavailable returns the error of a service that did not answer as it should.
func (s service) unavailable(ctx context.Context, err error) error {
	if refused := s.refused(ctx, err); refused != nil {
		return refused
	}
	var late interface{ Timeout() bool }
	if errors.As(err, &late) && late.Timeout() {
		err = fmt.Errorf("no answer in time: is the address right, and does something on the way, such as a firewall, hold the connection up? (%w)", err)
	}
	return &exit{exitUnavailable, fmt.Errorf("%s %s: %w", s.key, s.where, err), ""}
}

// reach waits until a service answers, and logs that it waits. After the configured
// time it returns an error with exit code 69. A permanent failure (a wrong password,
// another service) ends the wait at once, with exit code 78. Each try has the rest
// of the time, and at least five seconds.
func (s service) reach(ctx context.Context, log *slog.Logger, limit time.Duration, ping func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	answers := outage.New(log).Of(outage.Subject{Begins: s.name + " does not answer yet", GoesOn: s.name + " still does not answer", Ends: s.name + " answers"}, s.where)
	pause := backoff.Backoff[time.Duration]{First: 100 * time.Millisecond, Most: 5 * time.Second}
	for {
		try, cancel := context.WithTimeout(ctx, max(time.Until(deadline), 5*time.Second))
		err := ping(try)
		cancel()
		if err == nil {
			answers.Worked()
			return nil
		}
		wait, refused := pause.Next(), s.refused(ctx, err)
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

// identify finds out which service is at an address; empty if none answers, or it is
// not known. It tries three protocols, each on a connection of its own: HTTP, Kafka
// and TLS.
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
	// This connection carries no data, so the certificate need not be checked.
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

// knock sends bytes and returns the beginning of the answer.
func knock(ctx context.Context, addr string, say []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, knockTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(knockTimeout)) // cannot fail on a new connection
	if _, err := c.Write(say); err != nil {
		return nil
	}
	var answer []byte
	for b := make([]byte, 1024); len(answer) < 4096; {
		n, err := c.Read(b)
		answer = append(answer, b[:n]...)
		// The rest of an HTTP answer may come in a second piece, so knock waits for it;
		// other answers are long enough.
		if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/")) && len(answer) >= 8 {
			break
		}
	}
	return answer
}
