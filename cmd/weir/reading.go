package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/jobs"
	"weir/window"
)

// A reading passes records of a topic to a judge, and the verdicts to tell, one after the
// other. It joins no group, commits no offset and writes nothing, so it works beside
// running processes and disturbs none.
type reading struct {
	judge   *window.Judge
	schemas jobs.Schemas         // of a format that needs them
	spans   map[int32]event.Span // the offsets to read, by partition; Next: endless if there is no end
	tell    func(*window.Verdict) error
	each    func() error // after each batch

	asked map[event.SchemaID]refusal
}

// endless is the Next of a span without an end.
const endless = int64(1)<<62 - 1

// errRead ends a reading; tell may return it.
var errRead = errors.New("everything was read")

// readJob reads by the rules of a job: see run.
func readJob(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source, r *reading, from map[int32]int64) (err error) {
	if r.judge, err = window.NewJudge(j.Spec()); err != nil {
		return &exit{exitConfig, err, ""}
	}
	schemas, end, err := schemasOf(cfg, j, j.Spec())
	if err != nil {
		return err
	}
	defer end()
	r.schemas = schemas
	return r.run(ctx, src, from)
}

// run reads until the ends of all spans, or until tell fails or ctx ends.
func (r *reading) run(ctx context.Context, src *ingest.Source, from map[int32]int64) error {
	for p, span := range r.spans {
		r.judge.Start(p, from[p], span.First)
	}
	return fetch(ctx, src, from, func(b *event.Batch) error { return r.observe(ctx, b) })
}

// fetch passes batches to each, one after the other, until that returns errRead or another error.
func fetch(ctx context.Context, src *ingest.Source, from map[int32]int64, each func(*event.Batch) error) error {
	g, err := src.Assign(ctx)
	if err != nil {
		return err
	}
	defer g.Release()
	var mu sync.Mutex // several brokers deliver at the same time
	err = g.Fetch(ctx, from, func(p event.Part) error {
		defer p.Done()
		mu.Lock()
		defer mu.Unlock()
		return p.Unpack(each)
	})
	if errors.Is(err, errRead) {
		return nil
	}
	return err
}

func (r *reading) observe(ctx context.Context, b *event.Batch) error {
	span, wanted := r.spans[b.Partition]
	if !wanted {
		return nil
	}
	err := r.judged(ctx, b, func(v *window.Verdict) error {
		if v.Offset >= span.Next {
			return nil
		}
		v.Records = min(v.Records, span.Next-v.Offset)
		return r.tell(v)
	})
	if b.Next >= span.Next {
		delete(r.spans, b.Partition)
	}
	if err == nil && r.each != nil {
		err = r.each()
	}
	if err == nil && len(r.spans) == 0 {
		err = errRead
	}
	return err
}

// A refusal is why a schema could not be had, at a time.
type refusal struct {
	reason string
	at     time.Time
}

// askAgain is how long a schema that could not be had is not asked for again.
const askAgain = 5 * time.Second

// judged passes a batch to the judge. Where an operator waits for a schema that cannot be
// had, a tool goes on: the verdict says so.
func (r *reading) judged(ctx context.Context, b *event.Batch, tell func(*window.Verdict) error) error {
	for {
		err := r.judge.Observe(b, tell)
		var unknown *event.UnknownSchema
		if !errors.As(err, &unknown) {
			return err
		}
		no, known := r.asked[unknown.ID]
		if !known || time.Since(no.at) > askAgain {
			s, err := r.schemas.Schema(ctx, unknown.ID)
			if err == nil {
				r.judge.Learn(unknown.ID, s)
				continue
			}
			if ctx.Err() != nil {
				return err
			}
			if r.asked == nil {
				r.asked = map[event.SchemaID]refusal{}
			}
			no = refusal{err.Error(), time.Now()}
			r.asked[unknown.ID] = no
		}
		if err := r.judge.Pass(b, unknown, no.reason, tell); err != nil {
			return err
		}
	}
}

// groupText writes the group of an event: each text in quotes, with control characters
// escaped, so that data cannot steer a terminal.
func groupText(group [][]byte) string {
	var texts []string
	for _, g := range group {
		texts = append(texts, strconv.Quote(string(g)))
	}
	return strings.Join(texts, ", ")
}

// clock writes a time in seconds, UTC.
func clock(t event.Time) string { return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05Z") }
