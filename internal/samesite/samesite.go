// Package samesite refuses what a page of another site makes a browser send to
// a listener on this machine. A listener on loopback without accounts is safe
// from other machines, and not from the browser of the person at this one.
package samesite

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Check is an error, in words for the client, if the request comes from a page
// of another site: the browser says so in Sec-Fetch-Site and Origin. With
// loopback, it also is one if the Host is anything but a loopback address or
// localhost: a page can have its own name lead to 127.0.0.1 (DNS rebinding), and
// its requests are then of its own site. A request without a Host is HTTP/1.0,
// which no browser speaks.
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

// local reports whether a host, with or without a port, is a name of this
// machine for itself.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // which browsers resolve themselves
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
