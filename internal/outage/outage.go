// Package outage reports in the log that a service is unreachable: one warning
// when the outage begins, one line a minute while it lasts, and one when it is
// over, for any number of parts of the process that use the service, and of
// tries.
//
//	outages := outage.New(log)
//	flush := outages.Of(outage.ClickHouse, "flush of job clicks")
//	…
//	flush.Failed(err) // at each try that fails
//	flush.Worked()    // at each that does not
//
// A [Subject] is a service that can be unreachable; a [Source] is one thing that
// uses it. Sixty-four jobs that cannot reach one ClickHouse are one outage.
//
// The package has no timer: a try that failed or worked writes the line. So the
// report is on time for a source that tries every few seconds, and there is none
// for a source that does not try.
package outage

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Subject is a service that can be unreachable, with the messages for it. Each
// is a line of the log; the error, the lengths and the counts are its attributes.
type Subject struct {
	Begins string // warning: the first failed try
	GoesOn string // warning: once a minute from then on
	Ends   string // all works again; a warning, so that a log of warnings has both ends
}

// The two services that every job needs.
var (
	ClickHouse = Subject{
		Begins: "clickhouse: outage; it is tried again until it works",
		GoesOn: "clickhouse: the outage goes on",
		Ends:   "clickhouse: the outage is over; nothing was lost",
	}
	Kafka = Subject{
		Begins: "kafka: outage; it is tried again until it works",
		GoesOn: "kafka: the outage goes on",
		Ends:   "kafka: the outage is over; reading goes on where it stood",
	}
)

const (
	// Pause is the time between two lines about an outage that goes on.
	Pause = time.Minute
	// Lull is the time after the end of an outage during which the next outage of
	// the same subject is not reported; after it, that outage is reported if it
	// still lasts. So a service that fails and works in turns causes twelve lines a
	// minute at most.
	Lull = 10 * time.Second
	// named is how many sources a line names; it gives the number of the others.
	named = 3
)

// A Reporter writes about the outages of one process. It is safe for concurrent
// use.
type Reporter struct {
	log *slog.Logger

	mu       sync.Mutex
	subjects map[Subject]*state
}

// New makes a Reporter; with a nil log it writes nothing.
func New(log *slog.Logger) *Reporter {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Reporter{log: log, subjects: map[Subject]*state{}}
}

type state struct {
	Subject
	open atomic.Bool // there is an outage; otherwise Worked does nothing

	failing  []*Source // the sources whose last try failed, in the order in which they began to fail
	began    time.Time
	failures int       // tries that failed since then
	said     time.Time // when the last line about this outage was written; zero: none yet
	quiet    time.Time // until then, no beginning of an outage is reported
}

// A Source is one thing that is tried again and again, such as the flush of one
// job. It is safe for concurrent use, and costs an atomic load while all is well.
type Source struct {
	reporter *Reporter
	state    *state
	name     string
}

// Of makes a Source of a subject. The log names it by name.
func (r *Reporter) Of(subject Subject, name string) *Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subjects[subject]
	if s == nil {
		s = &state{Subject: subject}
		r.subjects[subject] = s
	}
	return &Source{reporter: r, state: s, name: name}
}

// Failed notes a try that failed. The source will try again.
func (s *Source) Failed(err error) {
	s.reporter.mu.Lock()
	defer s.reporter.mu.Unlock()
	now, o := time.Now(), s.state
	if !o.open.Swap(true) {
		o.began, o.failures, o.said = now, 0, time.Time{}
	}
	o.failures++
	if !slices.Contains(o.failing, s) {
		o.failing = append(o.failing, s)
	}
	switch {
	case o.said.IsZero() && now.Before(o.quiet):
	case o.said.IsZero():
		o.said = now
		s.reporter.log.Warn(o.Begins, "what", s.name, "error", err)
	case now.Sub(o.said) >= Pause:
		o.said = now
		s.reporter.log.Warn(o.GoesOn, "for", now.Sub(o.began).Round(time.Second), "failures", o.failures, "failing", o.names(), "error", err)
	}
}

// Worked notes a try that worked. The outage is over when every source that
// failed has worked since, or is Gone.
func (s *Source) Worked() {
	if !s.state.open.Load() {
		return
	}
	s.reporter.mu.Lock()
	defer s.reporter.mu.Unlock()
	s.leave()
	o := s.state
	if len(o.failing) > 0 || !o.open.Swap(false) {
		return
	}
	if now := time.Now(); !o.said.IsZero() {
		o.quiet = now.Add(Lull)
		s.reporter.log.Warn(o.Ends, "lasted", now.Sub(o.began).Round(time.Millisecond), "failures", o.failures)
	}
}

// Gone notes that the source stops trying, or will not try soon: the outage does
// not wait for it, and ends when another source of the subject works.
func (s *Source) Gone() {
	if !s.state.open.Load() {
		return
	}
	s.reporter.mu.Lock()
	defer s.reporter.mu.Unlock()
	s.leave()
}

func (s *Source) leave() {
	s.state.failing = slices.DeleteFunc(s.state.failing, func(f *Source) bool { return f == s })
}

// names returns the text that names the first few sources that fail, with the number
// of the others.
func (o *state) names() string {
	var names []string
	for _, s := range o.failing[:min(len(o.failing), named)] {
		names = append(names, s.name)
	}
	text := strings.Join(names, ", ")
	if more := len(o.failing) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
