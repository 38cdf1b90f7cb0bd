package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"weir/audit"
	"weir/config"
	"weir/ingest"
	"weir/internal/spelling"
	httpserver "weir/serve/http"
)

// A recovery is what came of the death of a process.
type recovery struct {
	death
	back   time.Duration // until the next process answered
	caught time.Duration // until everything that was in the logs at the death was in ClickHouse
	toll
}

// String is the recovery in one sentence.
func (r recovery) String() string {
	text := fmt.Sprintf("process %d died of signal %d at %s: no answer for %s, caught up after %s; the audit of log, ledger and rows says: %d lost, %d doubled",
		r.pid, int(r.signal), r.at.Format("15:04:05"), seconds(r.back), seconds(r.caught), r.lost, r.doubled)
	if r.mismatches > 0 {
		text += ", " + spelling.Count(r.mismatches, "mismatch") + ": see weir verify"
	}
	return text
}

// state is how far the recovery is, in one sentence, until String tells its end.
func (r recovery) state() string {
	text := fmt.Sprintf("process %d died of signal %d; another one ", r.pid, int(r.signal))
	switch {
	case r.back == 0:
		return text + "starts …"
	case r.caught == 0:
		return text + "answers after " + seconds(r.back) + " and catches up …"
	}
	return text + "has caught up after " + seconds(r.caught) + "; the audit compares log, ledger and rows …"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// toll is what audits have found, in events.
type toll struct {
	lost, doubled uint64
	mismatches    int
}

// take adds a finding. What is missing in a rollup, and not in the rows of a chunk, is a
// mismatch and no lost event: it can be made again.
func (d *toll) take(f audit.Finding) {
	d.mismatches++
	if f.Measure != "" {
		return
	}
	switch f.Class {
	case audit.Missing:
		d.lost += f.Expected - f.Found
	case audit.Hole, audit.Deleted, audit.Beginning:
		d.lost += f.Found - f.Expected
	case audit.Excess:
		d.doubled += f.Found - f.Expected
	case audit.Unknown, audit.Twice:
		d.doubled += f.Found
	}
}

// recover waits until another process has caught up after a death, and audits everything. It calls
// tell with the state at the beginning, and each time that it changes.
func (u *up) recover(ctx context.Context, d death, tell func(state string)) (recovery, error) {
	r := recovery{death: d}
	tell(r.state())
	ends := map[string]map[int32]int64{}
	for i := range u.cfg.Jobs {
		j := &u.cfg.Jobs[i]
		at, err := u.ends(ctx, j)
		if err != nil {
			return r, err
		}
		ends[j.Name] = at
	}
	ask := newAPI(u.address, u.cfg.HTTP.Token.Reveal())
	for {
		var health httpserver.HealthReply
		err := ask.get(ctx, "health", nil, &health)
		if err == nil && r.back == 0 {
			r.back = time.Since(d.at)
			tell(r.state())
		}
		if err == nil && caughtUp(health.Jobs, ends) {
			break
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	r.caught = time.Since(d.at)
	tell(r.state())
	client, err := sinkClient(u.cfg, u.log)
	if err != nil {
		return r, err
	}
	defer client.Close()
	var out strings.Builder
	v := &verifier{books: &books{cfg: u.cfg, client: client}, out: &out, err: io.Discard}
	for i := range u.cfg.Jobs {
		if err := v.job(ctx, &u.cfg.Jobs[i]); err != nil {
			return r, err
		}
	}
	if r.toll = v.toll; r.mismatches > 0 {
		u.log.Error("the audit after the death of a process: something does not add up", "found", out.String())
	}
	return r, nil
}

// ends returns where the partitions of a job's topic that hold records end now.
func (u *up) ends(ctx context.Context, j *config.Job) (map[int32]int64, error) {
	src, err := source(u.cfg, j, ingest.Database{}, u.log, u.outages, false)
	if err != nil {
		return nil, err
	}
	spans, err := src.Spans(ctx)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	ends := map[int32]int64{}
	for p, s := range spans {
		if s.Next > s.First {
			ends[p] = s.Next
		}
	}
	return ends, src.Close()
}

// caughtUp reports whether everything below ends is in ClickHouse.
func caughtUp(all []httpserver.JobHealth, ends map[string]map[int32]int64) bool {
	behind := 0
	for _, at := range ends {
		behind += len(at)
	}
	for _, h := range all {
		for _, p := range h.Partitions {
			if end, ok := ends[h.Job][p.Partition]; ok && p.Durable >= end {
				behind--
			}
		}
	}
	return behind == 0
}
