// Package samesite refuses requests that a page of another site makes a browser
// send to a listener on this machine. A listener on loopback without accounts is
// safe from other machines, but not from a browser on this machine.
package samesite

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Check returns an error, with a text for the client, if the request comes from
// a page of another site, which the browser says in Sec-Fetch-Site and Origin.
// With loopback it also returns one if the Host is not a loopback address or
// localhost: a site can make its own name resolve to 127.0.0.1 (DNS rebinding),
// and then the browser takes its requests for those of the same site. A request
// without a Host is HTTP/1.0, which no browser speaks.
func Check(r *http.Request, loopback bool) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return errors.New("cross-site requests are refused")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return errors.New("requests from another origin are refused")
		}
	}
	if loopback && r.Host != "" && !local(r.Host) {
		return fmt.Errorf("requests to the host %.100q are refused: this listener is on loopback, ask 127.0.0.1 or localhost", r.Host)
	}
	return nil
}

// local reports whether a host, with or without a port, is localhost or a
// loopback address.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // browsers resolve these themselves
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
