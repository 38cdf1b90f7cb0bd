package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/audit"
	httpserver "weir/serve/http"
)

// TestRecovery: a recovery is told in one sentence, and findings of the audit are in it as
// lost and doubled events; a worker has caught up when every partition of each job has.
func TestRecovery(t *testing.T) {
	const died = "process 4600 died of signal 9; another one "
	for _, c := range []struct {
		back, caught time.Duration
		want         string
	}{
		{0, 0, died + "starts …"},
		{240 * time.Millisecond, 0, died + "answers after 0.2 s and catches up …"},
		{240 * time.Millisecond, 1400 * time.Millisecond, died + "has caught up after 1.4 s; the audit compares log, ledger and rows …"},
	} {
		if got := (recovery{death: death{pid: 4600, signal: syscall.SIGKILL}, back: c.back, caught: c.caught}).state(); got != c.want {
			t.Errorf("%s, want\n%s", got, c.want)
		}
	}
	r := recovery{death: death{4600, syscall.SIGKILL, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}, back: 240 * time.Millisecond, caught: 1400 * time.Millisecond}
	const want = "process 4600 died of signal 9 at 12:00:00: no answer for 0.2 s, caught up after 1.4 s; the audit of log, ledger and rows says: 0 lost, 0 doubled"
	if got := r.String(); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	for _, f := range []audit.Finding{
		{Class: audit.Missing, Expected: 10, Found: 7},
		{Class: audit.Hole, Expected: 10, Found: 14},
		{Class: audit.Excess, Expected: 10, Found: 21},
		{Class: audit.Twice, Found: 100},
		{Class: audit.Lost, Expected: 5, Found: 1},
		{Class: audit.Missing, Measure: "users", Expected: 5, Found: 1},
	} {
		r.take(f)
	}
	if got := r.String(); !strings.HasSuffix(got, ": 7 lost, 111 doubled, 6 mismatches: see weir verify") {
		t.Error(got)
	}

	health := func(job string, durable ...int64) httpserver.JobHealth {
		h := httpserver.JobHealth{Job: job}
		for p, d := range durable {
			h.Partitions = append(h.Partitions, httpserver.PartitionHealth{Partition: int32(p), Durable: d})
		}
		return h
	}
	ends := map[string]map[int32]int64{"a": {0: 5, 1: 7}, "b": {}}
	for _, c := range []struct {
		all  []httpserver.JobHealth
		want bool
	}{
		{nil, false},
		{[]httpserver.JobHealth{health("b", 1)}, false},
		{[]httpserver.JobHealth{health("a", 5)}, false}, // it does not have partition 1 yet
		{[]httpserver.JobHealth{health("a", 5, 6)}, false},
		{[]httpserver.JobHealth{health("a", 5, 7)}, true},
		{[]httpserver.JobHealth{health("a", 9, 9), health("b")}, true},
	} {
		if got := caughtUp(c.all, ends); got != c.want {
			t.Errorf("%+v: %t", c.all, got)
		}
	}
}
