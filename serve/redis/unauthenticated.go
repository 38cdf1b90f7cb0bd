package redis

import (
	"errors"
	"net/netip"
	"time"

	"weir/serve/resp"
)

// If the server has a password, a client that has not given it is limited in three ways.
// There may be few such clients: when there are too many, the next one displaces the
// oldest. It must send AUTH within seconds. And it has ten guesses. If a wrong one came from
// its address lately, each password waits before the server looks at it: so a guess on a
// new connection takes as long, and occupies one of the few places meanwhile. A client at
// another address does not wait.

const (
	unauthenticatedMost = 1024
	guessesMost         = 10
	guessPause          = time.Second
	guessKnown          = time.Minute // how long an address is known for a wrong password
	guessersMost        = 4096        // addresses that are known; then all are forgotten
)

var (
	errUnauthenticated = errors.New("no AUTH in time, or a newer connection took its place before AUTH")
	errGuesses         = errors.New("10 wrong passwords")
)

// Before AUTH only small requests are accepted, as in Redis.
var unauthenticatedLimits = resp.Limits{Args: 10, Bulk: 16 << 10, Request: 64 << 10}

// awaitAuth records that a client has to give the password. The lock is held.
func (s *Server) awaitAuth(c *client) {
	c.authed = false
	c.authBy = time.Now().Add(s.config.Greet)
	c.r.SetLimits(unauthenticatedLimits)
	if len(s.unauthenticated) >= min(unauthenticatedMost, max(s.config.Clients/2, 1)) {
		s.displace()
	}
	s.unauthenticated[c] = struct{}{}
}

// displace cuts off the unauthenticated client that connected first, if there is one. The
// lock is held.
func (s *Server) displace() {
	var oldest *client
	for c := range s.unauthenticated {
		if oldest == nil || c.id < oldest.id {
			oldest = c
		}
	}
	if oldest != nil {
		delete(s.unauthenticated, oldest)
		delete(s.clients, oldest)
		oldest.cutOff(errUnauthenticated)
	}
}

// origin returns the address that a client's guesses count for. An IPv6 network of 64 bits
// is one: a host there may choose the rest.
func (c *client) origin() netip.Addr {
	at, err := netip.ParseAddrPort(c.addr)
	if err != nil {
		return netip.Addr{} // of a Unix socket, for example
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // never fails
		return network.Addr()
	}
	return addr
}

// awaitGuess waits, before a password is looked at, if there was a wrong one from its
// address.
func (c *client) awaitGuess() {
	s := c.server
	s.mu.Lock()
	wait := time.Now().Before(s.guessers[c.origin()])
	s.mu.Unlock()
	if wait {
		select {
		case <-c.ctx.Done():
		case <-time.After(s.config.pause):
		}
	}
}

// guessed handles a wrong password: it makes the next ones from the address wait, or ends
// the connection, and logs wrong passwords once a minute. The lock is held.
func (c *client) guessed() {
	s := c.server
	s.wrong++
	s.wrongUnlogged++
	if c.wrong++; c.wrong >= guessesMost {
		c.closing, c.why = true, errGuesses
	}
	now := time.Now()
	if len(s.guessers) >= guessersMost {
		clear(s.guessers)
	}
	s.guessers[c.origin()] = now.Add(guessKnown)
	if now.Sub(s.wrongLogged) >= time.Minute {
		s.config.Log.Warn("wrong passwords on the Redis endpoint", "since_last_said", s.wrongUnlogged, "in_all", s.wrong, "last_from", c.addr)
		s.wrongLogged, s.wrongUnlogged = now, 0
	}
}

// Stats counts what the server has refused since its start, and its clients.
type Stats struct {
	Wrong   uint64 // wrong passwords
	Evicted uint64 // clients cut off because too much was held for all together
	Clients int    // connected now
}

// Stats may be called by any goroutine.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	st := Stats{Wrong: s.wrong, Clients: len(s.clients)}
	s.mu.Unlock()
	st.Evicted = s.buffers.count()
	return st
}
