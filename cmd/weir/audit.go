package main

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"weir/audit"
	"weir/config"
	"weir/event"
	"weir/internal/outage"
	httpserver "weir/serve/http"
	"weir/sinks/clickhouse"
	"weir/window"
)

// An auditor compares the ledger of every job with its rows at intervals, while
// the jobs run. It repairs rollups that lack rows, and changes nothing else: it
// reports findings in the log and in metrics, and a person runs `weir verify`.
//
// After a finding it looks once more a while later, and reports only what it
// finds again: rows that a lagging replica did not have yet are no damage.
type auditor struct {
	jobs []auditedJob
	log  *slog.Logger
	// outages reports audits that failed because ClickHouse or Kafka was away.
	outages *outage.Reporter
	pause   time.Duration // before the second look; 0: secondLook
	every   time.Duration // between two audits; 0: there are none
	private bool          // http.k withholds small groups: the result names no group, and no numbers of one

	noted map[string]bool            // notes that are in the log already
	found map[string][]audit.Finding // by job, of the last audit of it that did not fail

	mu     sync.Mutex
	result httpserver.Audit
}

// mostLines is how many mismatches get a log line of their own.
const mostLines = 10

// secondLook is the pause before it looks again: a replica that lags for longer
// should be reported.
const secondLook = time.Minute

// measured is how old windows may be for their measures to be compared. Merging
// all stored sketches every hour would cost the server more than counting does;
// weir verify does that.
const measured = 48 * time.Hour

// firstPart is the part of the interval after which the first audit begins. A process that
// is restarted more often than the interval audits too.
const firstPart = 20

// auditedJob is a job with the sink that reads its ledger and rows.
type auditedJob struct {
	audit.Job
	sink audited
	log  func(ctx context.Context) (map[int32]event.Span, error) // what the log of each partition holds; nil: not compared
}

// auditJob returns what an audit needs to know of a job.
func auditJob(j *config.Job, s *window.Spec) audit.Job {
	return audit.Job{Name: j.Name, Topic: j.Topic, Chunk: s.Chunk}
}

// audited has the methods of a sink that the auditor needs.
type audited interface {
	Audit(ctx context.Context, a *audit.Audit, progress func(done, total int)) error
	Repair(ctx context.Context, from, until event.Time, progress func(table string, made, total int)) ([]clickhouse.Repaired, error)
}

var _ audited = (*clickhouse.Sink)(nil)

// last returns the result of the last completed audit.
func (a *auditor) last() httpserver.Audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result
}

// run audits at intervals until ctx ends.
func (a *auditor) run(ctx context.Context) {
	if a.every <= 0 {
		return
	}
	first := a.every / firstPart
	a.keep(httpserver.Audit{Due: time.Now().Add(first)})
	due := time.NewTimer(first)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			due.Reset(a.every)
			a.once(ctx)
		}
	}
}

func (a *auditor) keep(result httpserver.Audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result = result
}

func (a *auditor) once(ctx context.Context) {
	found, jobs := a.look(ctx)
	if jobs > 0 && len(found) > 0 {
		a.log.Info("audit: something does not add up; looking once more", "mismatches", len(found), "in", cmp.Or(a.pause, secondLook))
		select {
		case <-ctx.Done():
			return
		case <-time.After(cmp.Or(a.pause, secondLook)):
		}
		found, jobs = a.look(ctx)
	}
	if jobs > 0 && a.repair(ctx, found) {
		found, jobs = a.look(ctx)
	}
	if jobs == 0 || jobs < len(a.jobs) && len(found) == 0 { // that a part adds up does not say that all does
		return
	}
	a.found = map[string][]audit.Finding{}
	for _, f := range found {
		a.found[f.Job] = append(a.found[f.Job], f)
	}
	now := time.Now()
	result := httpserver.Audit{At: now, Due: now.Add(a.every), Mismatches: len(found)}
	if jobs < len(a.jobs) {
		result.Due = a.last().Due // the audit of the other jobs is still due
	}
	for _, f := range found[:min(mostLines, len(found))] {
		m := httpserver.Mismatch{Job: f.Job, What: sentence(f), Do: advice(f)}
		a.log.Error("audit: something does not add up", "job", m.Job, "what", m.What, "do", m.Do)
		if a.private && (f.Class == audit.Lost || f.Class == audit.Behind) {
			m.What = fill(ofSomeGroup, f)
		}
		result.Found = append(result.Found, m)
	}
	a.keep(result)
	a.log.Info("audit done", "mismatches", len(found))
}

// look audits every job once. It returns for how many that did not fail. Of the others it returns
// what was found before.
func (a *auditor) look(ctx context.Context) (all []audit.Finding, jobs int) {
	recent := event.Time(time.Now().Add(-measured).UnixMilli())
	for _, b := range a.jobs {
		of := audit.New(b.Job, audit.Scope{Measures: recent})
		if err := b.sink.Audit(ctx, of, nil); err != nil {
			if ctx.Err() != nil {
				return nil, 0
			}
			source := a.outages.Of(outage.ClickHouse, "audit of job "+b.Name)
			source.Failed(err)
			source.Gone() // the next one is due in its own time
			all = append(all, a.found[b.Name]...)
			continue
		}
		jobs++
		all = slices.AppendSeq(all, of.Findings)
		if b.log != nil {
			if log, err := b.log(ctx); err == nil { // else Kafka is away, and the job says so
				all = append(all, of.Beginnings(log)...)
			}
		}
		a.note(of.Notes)
	}
	return all, jobs
}

// note logs, once each, the differences in a job's numbers that are no damage.
func (a *auditor) note(notes iter.Seq[audit.Finding]) {
	for f := range notes {
		if line := f.Job + ": " + sentence(f); !a.noted[line] {
			if a.noted == nil {
				a.noted = map[string]bool{}
			}
			a.noted[line] = true
			a.log.Warn("audit: the numbers are off, and no table is damaged", "job", f.Job, "what", sentence(f), "do", advice(f))
		}
	}
}
