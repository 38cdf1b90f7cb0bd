package redis

import (
	"errors"
	"time"
)

// Who has not given the password yet, where there is one, gets little: a place
// among few, of which the oldest is lost to the next who comes, some seconds to
// say AUTH, and a handful of guesses, each slower than the one before.

const (
	strangersMost = 1024
	guessesMost   = 10
	guessPause    = 250 * time.Millisecond // times the number of wrong ones
)

var (
	errStranger = errors.New("no AUTH in time, or another came that had not given it either")
	errGuesses  = errors.New("10 wrong passwords")
)

// awaitAuth notes a client that has to give the password. The lock is held.
func (s *Server) awaitAuth(c *client) (crowded *client) {
	c.authed = false
	c.authBy = time.Now().Add(s.config.Greet)
	c.r.SetLimits(strangerLimits)
	if len(s.strangers) >= min(strangersMost, max(s.config.Clients/2, 1)) {
		crowded = s.oldestStranger()
	}
	s.strangers[c] = struct{}{}
	return crowded
}

// oldestStranger takes out the one who has been there for longest, if there is one.
func (s *Server) oldestStranger() (oldest *client) {
	for c := range s.strangers {
		if oldest == nil || c.id < oldest.id {
			oldest = c
		}
	}
	if oldest != nil {
		delete(s.strangers, oldest)
		oldest.ousted = true
		s.leaving++
	}
	return oldest
}

// guessed notes a wrong password: it slows the client down, or ends it, and is
// said once a minute. The lock is held.
func (c *client) guessed() {
	s := c.server
	s.wrong++
	s.wrongUnsaid++
	c.wrong++
	c.pause = time.Duration(c.wrong) * s.config.pause
	if c.wrong >= guessesMost {
		c.closing, c.why = true, errGuesses
	}
	if now := time.Now(); now.Sub(s.wrongSaid) >= time.Minute {
		s.config.Log.Warn("wrong passwords on the Redis endpoint", "since_last_said", s.wrongUnsaid, "in_all", s.wrong, "last_from", c.addr)
		s.wrongSaid, s.wrongUnsaid = now, 0
	}
}

// Stats is what the server has refused since its start.
type Stats struct {
	Wrong   uint64 // passwords
	Evicted uint64 // clients, because all together held too much
	Clients int    // that are connected
}

// Stats may be called by any goroutine.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	st := Stats{Wrong: s.wrong, Clients: len(s.clients)}
	s.mu.Unlock()
	st.Evicted = s.buffers.count()
	return st
}
