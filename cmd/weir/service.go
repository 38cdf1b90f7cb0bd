package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"time"

	"weir/config"
	"weir/internal/backoff"
	"weir/internal/outage"
)

// A service is a service at an address of the configuration.
type service struct {
	name  string                   // kafka, clickhouse
	key   string                   // of the configuration
	where string                   // the key's value
	addrs []string                 // the same as host:port
	tls   bool                     // the connection uses TLS
	ask   string                   // a request without TLS…
	knows func(answer []byte) bool // …and whether an answer to it is one of this service
}

func kafkaService(brokers []string, tls bool) service {
	// Length, ApiVersions, version 0, what the answer repeats, no client.
	const versions = "\x00\x00\x00\x0a" + "\x00\x12" + "\x00\x00" + "weir" + "\x00\x00"
	return service{"kafka", "kafka.brokers", fmt.Sprint(brokers), brokers, tls, versions, func(answer []byte) bool {
		return len(answer) >= 8 && string(answer[4:8]) == "weir"
	}}
}

func clickhouseService(cfg *config.Config) service {
	s := service{name: "clickhouse", key: "clickhouse.urls", where: cfg.ClickHouse.Where(), ask: "GET /ping HTTP/1.0\r\n\r\n", knows: func(answer []byte) bool {
		// Any server of HTTP may be a proxy whose ClickHouse is away; the native port names the client that it is for.
		return bytes.HasPrefix(answer, []byte("HTTP/")) && !bytes.Contains(answer, []byte("clickhouse-client"))
	}}
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
		answer := knock(ctx, addr, s.ask)
		// An alert, or the text of net/http or nginx.
		wantsTLS := bytes.HasPrefix(answer, []byte("\x15\x03")) || bytes.Contains(answer, []byte("HTTPS server")) || bytes.Contains(answer, []byte("HTTPS port"))
		known := s.knows(answer) && !wantsTLS
		switch {
		case len(answer) == 0, known && !s.tls:
		case wantsTLS && s.tls: // as configured; the service behind it is not known
		case known:
			return fmt.Errorf("%s: %s answers without TLS: %w", s.key, addr, err)
		case wantsTLS:
			return fmt.Errorf("%s: %s wants TLS, and it is not configured: %w", s.key, addr, err)
		default:
			return fmt.Errorf("%s: at %s is no %s, for it answers %.60q: %w", s.key, addr, s.name, answer, err)
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

var knockTimeout = 2 * time.Second

// knock sends bytes and returns the beginning of the answer.
func knock(ctx context.Context, addr string, say string) []byte {
	ctx, cancel := context.WithTimeout(ctx, knockTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(knockTimeout)) // cannot fail on a new connection
	if _, err := io.WriteString(c, say); err != nil {
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
