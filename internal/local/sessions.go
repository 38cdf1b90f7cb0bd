package local

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sessions are the engine's sessions that requests named with session_id.
// They live until session_timeout after their last request.
type sessions struct {
	mu sync.Mutex
	by map[string]*held
}

type held struct {
	s     *session
	busy  bool
	timer *time.Timer
}

const (
	sessionTimeout    = 60 * time.Second // as ClickHouse's default_session_timeout
	maxSessionTimeout = time.Hour
	maxSessions       = 1024
)

// take returns the session of q, and opens it if it is new. The function that
// it returns gives the session back and undoes the settings, database and
// tables of the request, so that only the effects of its statement remain.
func (ss *sessions) take(q *request, open func() (*session, error)) (*session, func(), error) {
	timeout := sessionTimeout
	if v := q.values.Get("session_timeout"); v != "" {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return nil, nil, exceptionf(374, "INVALID_SESSION_TIMEOUT", "Invalid session timeout: '%s'", v)
		}
		if timeout = time.Duration(n) * time.Second; timeout > maxSessionTimeout {
			return nil, nil, exceptionf(374, "INVALID_SESSION_TIMEOUT", "Session timeout '%s' is larger than max_session_timeout: 3600", v)
		}
	}
	h, err := ss.lock(q)
	if err != nil {
		return nil, nil, err
	}
	if h.s == nil {
		if h.s, err = open(); err != nil {
			ss.drop(q.sessionID, h)
			return nil, nil, err
		}
	}
	undo, err := q.remember(h.s)
	if err != nil {
		ss.drop(q.sessionID, h)
		return nil, nil, err
	}
	return h.s, func() {
		if err := undo(); err != nil || q.flag("close_session") {
			ss.drop(q.sessionID, h)
			return
		}
		ss.mu.Lock()
		defer ss.mu.Unlock()
		h.busy = false
		h.timer = time.AfterFunc(timeout, func() { ss.expire(q.sessionID, h) })
	}, nil
}

// lock marks the session of q as busy. A session runs one query at a time.
func (ss *sessions) lock(q *request) (*held, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	h := ss.by[q.sessionID]
	switch {
	case h == nil && q.flag("session_check"):
		return nil, exceptionf(372, "SESSION_NOT_FOUND", "Session %s not found", q.sessionID)
	case h == nil && len(ss.by) >= maxSessions:
		return nil, exceptionf(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many sessions: %d", len(ss.by))
	case h == nil:
		h = new(held)
		if ss.by == nil {
			ss.by = map[string]*held{}
		}
		ss.by[q.sessionID] = h
	case h.busy:
		return nil, exceptionf(373, "SESSION_IS_LOCKED", "Session %s is locked by a concurrent client", q.sessionID)
	default:
		h.timer.Stop()
	}
	h.busy = true
	return h, nil
}

// expire closes a session that no request has used for its timeout. A session
// that was taken again just before the timer fired is busy, or has a newer
// timer.
func (ss *sessions) expire(id string, h *held) {
	ss.mu.Lock()
	idle := ss.by[id] == h && !h.busy
	if idle {
		delete(ss.by, id)
	}
	ss.mu.Unlock()
	if idle {
		h.s.close()
	}
}

// drop closes a session that the caller has taken.
func (ss *sessions) drop(id string, h *held) {
	ss.mu.Lock()
	delete(ss.by, id)
	ss.mu.Unlock()
	if h.s != nil {
		h.s.close()
	}
}

// remember returns the function that undoes what prepare does to a session.
func (q *request) remember(s *session) (undo func() error, err error) {
	var back []string
	if q.database != "" && firstWord(q.sql) != "USE" {
		current, err := s.text("SELECT currentDatabase()")
		if err != nil {
			return nil, err
		}
		back = append(back, "USE "+identifier(current))
	}
	var names []string
	for _, p := range q.settings {
		if p.name != "readonly" && plain(p.name) {
			names = append(names, literal(p.name))
		}
	}
	if len(names) > 0 {
		set, err := s.text(fmt.Sprintf("SELECT if(changed, name || ' = ' || quoted, name || ' = DEFAULT') FROM "+
			"(SELECT name, changed, '''' || replaceAll(replaceAll(value, '\\\\', '\\\\\\\\'), '''', '\\\\''') || '''' AS quoted FROM system.settings WHERE name IN (%s)) FORMAT TSVRaw", strings.Join(names, ", ")))
		if err != nil {
			return nil, err
		}
		if set != "" {
			back = append(back, "SET "+strings.ReplaceAll(set, "\n", ", "))
		}
	}
	for _, t := range q.external {
		back = append(back, "DROP TEMPORARY TABLE IF EXISTS "+identifier(t.name))
	}
	return func() error {
		for _, sql := range back {
			if err := s.exec(sql); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
