package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/outage"
	"weir/sinks/clickhouse"
	"weir/window"
)

// damage tells an audit of one kind of damage.
type damage func(a *audit.Audit)

// auditAnswers is a sink whose audits find what answers has, one element per audit.
type auditAnswers struct {
	answers  [][]damage
	notes    []damage
	err      error
	repaired []event.Time
}

func (s *auditAnswers) Repair(_ context.Context, from, until event.Time, _ func(string, int, int)) ([]clickhouse.Repaired, error) {
	s.repaired = append(s.repaired, from, until)
	return nil, nil
}

func (s *auditAnswers) Audit(_ context.Context, a *audit.Audit, _ func(done, total int)) error {
	answer := s.answers[0]
	s.answers = s.answers[1:]
	for _, d := range append(slices.Clone(answer), s.notes...) {
		d(a)
	}
	return s.err
}

// rows returns the damage that the rows of a chunk sum to hits, while its ledger has 64
// counted events.
func rows(partition int32, chunk int64, hits uint64) damage {
	return func(a *audit.Audit) {
		l := window.Line{Partition: partition, Chunk: chunk, First: chunk * 64, Next: chunk*64 + 64}
		l.Outcomes[window.Counted] = 64
		a.Hits(l.Slot(), hits, true)
		a.Line(&l, true)
	}
}

// lacking returns the damage that a rollup has no events of a window that has one.
func lacking(start event.Time) damage {
	return func(a *audit.Audit) {
		a.Window(audit.Compared{Length: 60_000, Start: start, Whole: true, Due: true}, 0, 1)
	}
}

// TestAuditLooksTwice: a finding that the second look does not confirm came from a replica
// that lagged, and is not reported. A finding that it confirms is logged with job, place and
// remedy, and stays in the metric until an audit finds nothing.
func TestAuditLooksTwice(t *testing.T) {
	missing, excess := rows(3, 7, 60), rows(1, 2, 65)
	sink := &auditAnswers{}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	a := &auditor{jobs: []auditedJob{{audit.Job{Name: "clicks", Topic: "web", Chunk: 64}, sink, nil}}, log: log, outages: outage.New(log), pause: time.Millisecond}
	once := func(want int, answers ...[]damage) {
		t.Helper()
		out.Reset()
		sink.answers = answers
		a.once(t.Context())
		last := a.last()
		if last.Mismatches != want || len(last.Found) != want || last.At.IsZero() {
			t.Errorf("%+v, want %d mismatches", last, want)
		}
		for _, m := range last.Found {
			if m.Job != "clicks" || m.What == "" || m.Do == "" {
				t.Errorf("%+v", m)
			}
		}
		if len(sink.answers) > 0 {
			t.Errorf("%d looks too few", len(sink.answers))
		}
	}
	once(0, nil)
	once(0, []damage{missing}, nil)
	if strings.Contains(out.String(), "level=ERROR") {
		t.Errorf("a finding that the second look did not confirm is logged: %s", &out)
	}
	once(1, []damage{missing, excess}, []damage{excess})
	for _, want := range []string{"level=ERROR", "job=clicks", "partition 1, chunk 2", "do="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the log: %s", want, &out)
		}
	}
	if strings.Contains(out.String(), "chunk 7") {
		t.Errorf("a finding that the second look did not confirm is logged: %s", &out)
	}

	// Rollups that lack rows are made again, and compared once more.
	behind := []damage{lacking(120_000), lacking(60_000), excess}
	once(1, behind, behind, []damage{excess})
	if !slices.Equal(sink.repaired, []event.Time{60_000, 180_000}) || !strings.Contains(out.String(), "they are made again") {
		t.Errorf("repaired %v: %s", sink.repaired, &out)
	}

	sink.err = errors.New("no answer")
	once(1, []damage{missing}) // an audit that failed does not reset the number
	if !strings.Contains(out.String(), `what="audit of job clicks" error="no answer"`) {
		t.Errorf("the failure of an audit is not logged: %s", &out)
	}
	sink.err = nil
	once(0, nil)

	// What the log holds below the ledger is a finding as well; that Kafka does not answer is none.
	start, away := int64(7*64), error(nil)
	a.jobs[0].log = func(context.Context) (map[int32]event.Span, error) {
		return map[int32]event.Span{3: {First: start, Next: 1000}}, away
	}
	counted := []damage{rows(3, 7, 64)}
	once(0, counted)
	start = 0
	once(1, counted, counted)
	if want := "the ledger begins at 448, and offsets 0 to 448 of the log have no outcome"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in the log: %s", want, &out)
	}
	away = errors.New("no broker")
	once(0, counted)
	a.jobs[0].log = nil

	// A note is no mismatch, because no reading would repair it, and is logged once.
	sink.notes = []damage{func(a *audit.Audit) {
		l := window.Line{Partition: 5, Chunk: 9, First: 576, Next: 586}
		l.Outcomes[window.Counted] = 10
		a.Hits(l.Slot(), 10, true)
		a.Line(&l, true)
		l.First, l.Next = 581, 591
		a.Line(&l, true)
	}}
	once(0, nil)
	for _, want := range []string{"level=WARN", "job=clicks", "partition 5, chunk 9", "up to 5 are missing", "do="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the log: %s", want, &out)
		}
	}
	once(0, nil)
	if strings.Contains(out.String(), "chunk 9") {
		t.Errorf("a note is logged twice: %s", &out)
	}
}

// TestAuditPrivate: where http.k withholds groups, what leaves the process over HTTP names no group
// of a finding and no number of it. The log does.
func TestAuditPrivate(t *testing.T) {
	lost := []damage{func(a *audit.Audit) {
		a.Window(audit.Compared{Length: 60_000, Start: 60_000, Group: "anna", Whole: true, Due: true}, 43, 42)
	}}
	for private, want := range map[bool]string{
		false: `window 1970-01-01T00:01:00Z, group "anna": the number of events is 43 in its 1m rollup, and 42 by the rows`,
		true:  "a window from 1970-01-01T00:01:00Z: for a group, its 1m rollup and the rows do not add up; http.k withholds which group and by how much: the log and `weir verify` say it",
	} {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		a := &auditor{jobs: []auditedJob{{audit.Job{Name: "clicks", Topic: "web", Chunk: 64}, &auditAnswers{answers: [][]damage{lost, lost}}, nil}}, log: log, outages: outage.New(log), pause: time.Millisecond, private: private}
		a.once(t.Context())
		if last := a.last(); len(last.Found) != 1 || last.Found[0].What != want || last.Found[0].Do == "" {
			t.Errorf("private %v: %+v\nwant %s", private, last, want)
		}
		if !strings.Contains(out.String(), "anna") {
			t.Errorf("private %v: the log has no group: %s", private, &out)
		}
	}
}

// TestAuditDue: the first audit is due a twentieth of the interval after the start, and an audit that fails
// moves that no further.
func TestAuditDue(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	sink := &auditAnswers{}
	a := &auditor{jobs: []auditedJob{{audit.Job{Name: "clicks", Topic: "web", Chunk: 64}, sink, nil}}, log: log, outages: outage.New(log), every: time.Hour}
	ended, end := context.WithCancel(t.Context())
	end()
	before := time.Now()
	a.run(ended)
	first := a.last()
	if !first.At.IsZero() || first.Due.Before(before.Add(3*time.Minute)) || first.Due.After(time.Now().Add(3*time.Minute)) {
		t.Errorf("%+v, begun at %s", first, before)
	}
	sink.err, sink.answers = errors.New("no answer"), [][]damage{nil}
	a.once(t.Context())
	if got := a.last(); !got.Due.Equal(first.Due) {
		t.Errorf("due %s after an audit that failed, was %s", got.Due, first.Due)
	}
	sink.err, sink.answers = nil, [][]damage{nil}
	a.once(t.Context())
	if got := a.last(); got.At.IsZero() || !got.Due.Equal(got.At.Add(time.Hour)) {
		t.Errorf("%+v", got)
	}
	never := &auditor{log: log}
	never.run(t.Context())
	if got := never.last(); !got.Due.IsZero() {
		t.Errorf("due %s without an interval", got.Due)
	}
}

// TestAuditGoesOn: an audit of a job that fails hides nothing of the other jobs, keeps what was found of
// its own job before, and stays due.
func TestAuditGoesOn(t *testing.T) {
	excess, missing := rows(1, 2, 65), rows(3, 7, 60)
	first, second := &auditAnswers{}, &auditAnswers{}
	log := slog.New(slog.DiscardHandler)
	of := func(name string, sink audited) auditedJob {
		return auditedJob{audit.Job{Name: name, Topic: "web", Chunk: 64}, sink, nil}
	}
	a := &auditor{jobs: []auditedJob{of("clicks", first), of("views", second)}, log: log, outages: outage.New(log), pause: time.Millisecond, every: time.Hour}
	once := func(due bool, want ...string) { // due: an audit of all jobs still is
		t.Helper()
		before, found := a.last().Due, []string(nil)
		a.once(t.Context())
		for _, m := range a.last().Found {
			found = append(found, m.Job)
		}
		if !slices.Equal(found, want) || a.last().Mismatches != len(want) || a.last().Due.Equal(before) != due {
			t.Errorf("%+v, want mismatches of %v, due %v", a.last(), want, due)
		}
	}
	first.answers, second.answers = [][]damage{nil}, [][]damage{nil}
	once(false)
	first.err = errors.New("no such table")
	first.answers, second.answers = [][]damage{nil, nil}, [][]damage{{excess}, {excess}}
	once(true, "views")
	first.answers, second.answers = [][]damage{nil}, [][]damage{nil}
	once(true, "views") // that the others add up does not say that all does
	first.err = nil
	first.answers, second.answers = [][]damage{{missing}, {missing}}, [][]damage{nil, nil}
	once(false, "clicks")
	first.err = errors.New("no such table")
	first.answers, second.answers = [][]damage{nil, nil}, [][]damage{{excess}, {excess}}
	once(true, "clicks", "views")
}
