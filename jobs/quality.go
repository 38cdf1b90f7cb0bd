package jobs

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"weir/event"
	"weir/window"
)

// quality watches the outcomes of a job's records. It warns if more than 1 % of a minute's
// records are malformed, late, from the future, or in a group beyond max_groups. The warning
// has the share, the most frequent reason and one example. It comes at once, then once a
// minute, and there is a line when it is over.
//
// It reads what a flush has stored: good records cost nothing here, and a dead
// letter costs a lookup in a map of at most maxReasons reasons.
type quality struct {
	late, future, malformed, capped badShare
}

const (
	minute     = time.Minute
	enough     = 1000 // records from which on a warning may come before the minute is over
	few        = 10   // bad records from which on a warning may come at the end of the minute
	maxReasons = 64   // reasons that are counted; they may differ in each record, since they name places in it
)

// A badShare counts the records with one bad outcome, over about a minute.
type badShare struct {
	since    time.Time // the minute's beginning
	all, bad uint64    // records in it
	reasons  map[string]*reason
	warning  string // the present warning; empty: none
	began    time.Time
	total    uint64 // bad records since the warning began
}

// A reason is why records are bad, with the first such record.
type reason struct {
	n      uint64
	sample window.DeadLetter // without its payload
}

// add notes the outcomes of a flush, and logs warnings.
func (q *quality) add(now time.Time, c *window.Changes, job string, log *slog.Logger) {
	var all uint64
	for _, n := range c.Outcomes {
		all += n
	}
	for _, k := range []struct {
		share    *badShare
		outcome  window.Outcome
		n        uint64
		are, see string
	}{
		{&q.malformed, window.Malformed, c.Outcomes[window.Malformed], "are malformed", "weir_dead_letters"},
		{&q.late, window.Late, c.Outcomes[window.Late], "are late", "weir_dead_letters"},
		{&q.future, window.Future, c.Outcomes[window.Future], "are from the future", "weir_dead_letters"},
		{&q.capped, window.Counted, c.Capped, "are of groups beyond max_groups and count under " + window.Other, "jobs[].max_groups"},
	} {
		if k.outcome != window.Counted && c.Events.All > 0 {
			if letters := lettersOf(c.Dead, k.outcome); letters > k.n {
				k.n = letters
			}
			k.are = "have events that " + k.are
		}
		if k.outcome != window.Counted && k.n > 0 {
			k.share.explain(c.Dead, k.outcome)
		}
		of := all
		if k.outcome == window.Counted && c.Events.All > 0 {
			of = c.Events.All
		}
		k.share.add(now, of, k.n, job, k.are, log.With("see", k.see))
	}
}

// lettersOf returns how many dead letters have an outcome. A record that is an array of events has the outcome
// of the first event that is not good, whether or not other events of it count.
func lettersOf(dead []window.DeadLetter, outcome window.Outcome) (n uint64) {
	for i := range dead {
		if dead[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// explain counts the reasons of the dead letters of an outcome.
func (p *badShare) explain(dead []window.DeadLetter, outcome window.Outcome) {
	for i := range dead {
		d := &dead[i]
		if d.Outcome != outcome {
			continue
		}
		text, _, _ := strings.Cut(d.Reason, event.Place) // where it is does not matter
		r := p.reasons[text]
		if r == nil {
			if len(p.reasons) >= maxReasons {
				continue
			}
			if p.reasons == nil {
				p.reasons = map[string]*reason{}
			}
			r = &reason{sample: *d}
			r.sample.Payload, r.sample.Reason = nil, text
			p.reasons[text] = r
		}
		r.n++
	}
}

func (p *badShare) add(now time.Time, all, bad uint64, job, are string, log *slog.Logger) {
	if p.since.IsZero() {
		p.since = now
	}
	p.all += all
	p.bad += bad
	over := now.Sub(p.since) >= minute
	wrong := p.bad*100 > p.all
	switch {
	// The warning comes at once if there are a thousand records, and for a quiet
	// topic at the end of the minute. It ends after a whole good minute.
	case p.warning == "" && wrong && (p.all >= enough || over && p.bad >= few):
		p.began, p.total = p.since, p.bad
		p.warning = p.words(job, are)
		log.Warn(p.warning)
		p.begin(now)
		return
	case p.warning != "":
		p.total += bad
		switch {
		case over && wrong:
			p.warning = p.words(job, are)
			log.Warn(p.warning, "for", now.Sub(p.began).Round(time.Second), "in_all", p.total)
		case over && p.all > 0:
			log.Warn(fmt.Sprintf("this is over: at most 1 %% of the last %s records of job %s %s", thousands(p.all), job, are), "lasted", now.Sub(p.began).Round(time.Second), "in_all", p.total)
			p.warning = ""
		}
	}
	if over {
		p.begin(now)
	}
}

func (p *badShare) begin(now time.Time) {
	p.since, p.all, p.bad = now, 0, 0
	clear(p.reasons)
}

// words returns the text of the warning: share, reason, example.
func (p *badShare) words(job, are string) string {
	text := fmt.Sprintf("%s of the last %s records of job %s %s", share(p.bad, p.all), thousands(p.all), job, are)
	var most *reason
	for _, r := range p.reasons {
		if most == nil || r.n > most.n || r.n == most.n && r.sample.Reason < most.sample.Reason {
			most = r
		}
	}
	if most == nil {
		return text
	}
	if most.n < p.bad {
		text += ", " + share(most.n, p.bad) + " of these"
	}
	return fmt.Sprintf("%s: %s, e.g. partition %d offset %d", text, most.sample.Reason, most.sample.Partition, most.sample.Offset)
}

// share is n of all in whole percent; 100 % is all of them.
func share(n, all uint64) string {
	percent := 100
	if n < all {
		percent = min(99, max(1, int(float64(n)/float64(all)*100+0.5)))
	}
	return strconv.Itoa(percent) + " %"
}

// thousands is n with a comma every three digits.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
