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

	"weir/event"
	"weir/internal/outage"
	"weir/sinks/clickhouse"
	"weir/window"
)

// auditAnswers is a sink whose audits find what they are told to, one after
// the other.
type auditAnswers struct {
	answers  [][]window.Finding
	notes    []window.Finding
	err      error
	repaired []event.Time
}

func (s *auditAnswers) Repair(_ context.Context, from, until event.Time, _ func(string, int, int)) ([]clickhouse.Repaired, error) {
	s.repaired = append(s.repaired, from, until)
	return nil, nil
}

func (s *auditAnswers) Audit(_ context.Context, _ window.Scope, found func(window.Finding) error, _ func(done, total int)) (window.Audited, error) {
	answer := s.answers[0]
	s.answers = s.answers[1:]
	for _, f := range answer {
		if err := found(f); err != nil {
			return window.Audited{}, err
		}
	}
	return window.Audited{Notes: s.notes}, s.err
}

// TestAuditLooksTwice: what is gone at the second look was a replica that
// lagged; what is still there is said, with job, place and remedy, and stands
// in the metric until an audit finds nothing.
func TestAuditLooksTwice(t *testing.T) {
	missing := window.Finding{Misfit: window.Missing, Partition: 3, Chunk: 7, Expected: 64, Found: 60}
	excess := window.Finding{Misfit: window.Excess, Partition: 1, Chunk: 2, Expected: 64, Found: 65}
	sink := &auditAnswers{}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	a := &auditor{sinks: []audited{sink}, names: []string{"clicks"}, log: log, outages: outage.New(log), pause: time.Millisecond}
	once := func(want int, answers ...[]window.Finding) {
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
	once(0, []window.Finding{missing}, nil)
	if strings.Contains(out.String(), "level=ERROR") {
		t.Errorf("an error for nothing: %s", &out)
	}
	once(1, []window.Finding{missing, excess}, []window.Finding{excess})
	for _, want := range []string{"level=ERROR", "job=clicks", "partition 1, chunk 2", "do="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said: %s", want, &out)
		}
	}
	if strings.Contains(out.String(), "chunk 7") {
		t.Errorf("what had gone is said: %s", &out)
	}

	// Rollups that lack rows are made again, and looked at once more.
	behind := []window.Finding{{Misfit: window.Behind, Window: 120_000, Length: 60_000}, {Misfit: window.Behind, Window: 60_000, Length: 60_000}, excess}
	once(1, behind, behind, []window.Finding{excess})
	if !slices.Equal(sink.repaired, []event.Time{60_000, 180_000}) || !strings.Contains(out.String(), "they are made again") {
		t.Errorf("repaired %v: %s", sink.repaired, &out)
	}

	sink.err = errors.New("no answer")
	once(1, []window.Finding{missing}) // what is not known is not zero
	if !strings.Contains(out.String(), `what="audit of job clicks" error="no answer"`) {
		t.Errorf("an audit that could not be made is not said: %s", &out)
	}
	sink.err = nil
	once(0, nil)

	// What no reading mends is no mismatch, and said once.
	sink.notes = []window.Finding{{Misfit: window.Clipped, Partition: 5, Chunk: 9, Expected: 20, Found: 15, Cut: 1, Reach: 2}}
	once(0, nil)
	for _, want := range []string{"level=WARN", "job=clicks", "partition 5, chunk 9", "up to 5 are missing", "do="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said: %s", want, &out)
		}
	}
	once(0, nil)
	if strings.Contains(out.String(), "chunk 9") {
		t.Errorf("a note is said twice: %s", &out)
	}
}
