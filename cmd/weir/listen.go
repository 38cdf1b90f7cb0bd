package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// A place is an address to listen on, with the key or flag that sets it, and
// whether the user has set it.
type place struct {
	addr, key string
	given     bool
}

// hostPort refuses a text that is not an address to listen on.
func hostPort(flag, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if n, e := strconv.ParseUint(port, 10, 16); err == nil && e == nil && n <= 65535 {
		return nil
	}
	return &exit{exitUsage, fmt.Errorf("%s %q: want host:port, with a port from 0 to 65535", flag, addr), "such as " + flag + " 127.0.0.1:0"}
}

// listen opens a listener. Its error names the address, its present owner, and the key or flag
// that changes it.
func (p place) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", p.addr)
	return l, p.explain(err)
}

// explain adds the reason and the remedy to an error of a listener; it returns
// other errors unchanged.
func (p place) explain(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "listen" {
		return err
	}
	reason := op.Err.Error()
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		reason = "the port is taken by another process"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		reason = "this machine has no such address"
	case errors.Is(err, syscall.EACCES):
		reason = "ports below 1024 want a right that this process does not have"
	}
	change := p.key
	if !strings.HasPrefix(change, "--") {
		change = fmt.Sprintf("%s, --%[1]s or WEIR_%s", p.key, strings.ToUpper(strings.ReplaceAll(p.key, ".", "_")))
	}
	return &exit{exitFailed, fmt.Errorf("%s %s: %s", p.key, p.addr, reason), "choose another address with " + change}
}

// taken reports whether a listener failed because something else has its port.
func taken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
