package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// TestTruncatedUnseen: a log lost its end and got other records at the same
// offsets, before weir saw an end below its position. weir cannot notice that
// at the start, and offsets that it does not read again stay counted as they
// were. But in the chunk that it reads again, rows and ledger do not add up,
// and the audit reports that.
func TestTruncatedUnseen(t *testing.T) {
	old := newLog(1, 1000)
	sink := newSink(spec())
	src := &fakeSource{log: old, committed: map[int32]int64{}}
	if err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true}); err != nil {
		t.Fatal(err)
	}
	// Everything from offset 600 on is lost; records of other pages follow, up to
	// 1,500.
	log := slices.Clone(old.parts[0][:600])
	for o := int64(600); o < 1500; o++ {
		now := old.parts[0][0].Time + event.Time(o*10)
		log = append(log, event.Record{Offset: o, Time: now, Value: fmt.Appendf(nil, `{"ts":%d,"page":"/other/%d","user":1}`, now, o%7)})
	}
	src.log = &fakeLog{parts: [][]event.Record{log}}
	if err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true}); err != nil {
		t.Fatalf("the start noticed it: %v", err)
	}
	books := auditOf(sink)
	if found, lag := books.Log([]event.Assignment{{LogEnd: 1500}}); len(found) > 0 || lag != 0 {
		t.Errorf("the offsets show it: %+v", found)
	}
	found := slices.Collect(books.Findings)
	// Offset 1,000 lies in the chunk that begins at 768.
	if len(found) != 1 || found[0].Class != audit.Excess || found[0].Chunk != 3 || found[0].Expected != 256 {
		t.Errorf("the audit finds %+v, want rows in excess in chunk 3", found)
	}
}

// TestBeginningGone: the tables were emptied while a process counted, which wrote its open chunk again. A
// start says that the log holds records below it, the audit finds them, and its remedy counts them.
func TestBeginningGone(t *testing.T) {
	sink := newSink(spec())
	src := &fakeSource{log: newLog(1, 1000), committed: map[int32]int64{}}
	run := func() string {
		t.Helper()
		var out bytes.Buffer
		if err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true, Log: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const says = `lines of the ledger are gone, perhaps with their rows`
	log := []event.Assignment{{LogEnd: 1000}}
	if out := run(); strings.Contains(out, says) {
		t.Errorf("the first start says %s", out)
	}
	sink.all.Lines = slices.DeleteFunc(sink.all.Lines, func(l window.Line) bool { return l.Chunk < 3 })
	sink.all.Table = window.NewTable(spec())
	if out := run(); !strings.Contains(out, says) || !strings.Contains(out, "from=0 to=768") {
		t.Errorf("the next start says %s", out)
	}
	if found, _ := auditOf(sink).Log(log); len(found) != 1 || found[0].Class != audit.Beginning || found[0].Offsets != (audit.Offsets{First: 0, Next: 768}) {
		t.Errorf("the audit finds %+v", found)
	}
	src.committed[0] = 0
	if out := run(); strings.Contains(out, says) {
		t.Errorf("the start that counts them says %s", out)
	}
	books := auditOf(sink)
	if found, _ := books.Log(log); len(found) > 0 || len(slices.Collect(books.Findings)) > 0 {
		t.Errorf("then the audit finds %+v and %+v", found, slices.Collect(books.Findings))
	}
}

// auditOf audits what a sink holds.
func auditOf(sink *mergeSink) *audit.Audit {
	a := audit.New(audit.Job{Chunk: spec().Chunk}, audit.Scope{})
	sink.all.Table.Seal()
	for row := range sink.all.Table.Rows {
		for slot, n := range row.Hits {
			a.Hits(slot, n, true)
		}
	}
	for i := range sink.all.Lines {
		a.Line(&sink.all.Lines[i], true)
	}
	return a
}

// TestTruncatedSaid: if a log has lost its end, the error, the log line and
// the audit say how many records a new epoch counts a second time.
func TestTruncatedSaid(t *testing.T) {
	log := newLog(1, 1000)
	sink := newSink(spec())
	src := &fakeSource{log: log, committed: map[int32]int64{}}
	if err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true}); err != nil {
		t.Fatal(err)
	}
	src.log = &fakeLog{parts: [][]event.Record{log.parts[0][:600]}}
	err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true})
	if !errors.Is(err, window.ErrBeyondEnd) || !strings.Contains(err.Error(), "of the 600 records that are left, up to 600 were counted before, which a new epoch counts a second time") {
		t.Errorf("a truncated log: %v", err)
	}
	found, _ := auditOf(sink).Log([]event.Assignment{{LogStart: 100, LogEnd: 600}})
	if len(found) != 1 || found[0].Class != audit.Beyond || found[0].Offsets != (audit.Offsets{First: 100, Next: 600}) {
		t.Errorf("the audit finds %+v, want 500 offsets that the ledger covers", found)
	}
	var out bytes.Buffer
	if err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true, Policy: window.Policy{NewEpoch: true}, Log: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "counts what is left of it a second time") || !strings.Contains(out.String(), "twice_at_most=600") {
		t.Errorf("the log says %s", &out)
	}
}
