package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	httpserver "weir/serve/http"
	"weir/serve/key"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/questions"
)

// This file gives the HTTP endpoint what it asks of ClickHouse by itself: the statements that
// it shows, the questions that views answer, and the dead letters. Everything else it gets from
// serve/live.

// statements returns the function that writes a question as a SELECT.
func statements(sinks map[string]*clickhouse.Sink) func(httpserver.Statement) string {
	return func(st httpserver.Statement) string {
		sink := sinks[st.Job]
		if sink == nil {
			return ""
		}
		return sink.SQL(st.Question)
	}
}

// views answers questions from the views of the sinks of the jobs.
type views map[string]*clickhouse.Sink

func (s views) Kept(job string) (all []httpserver.Rollup, rows time.Duration) {
	rollups, rows := s[job].Rollups()
	for _, r := range rollups {
		all = append(all, httpserver.Rollup{Window: r.Window, Keep: r.Keep})
	}
	return all, rows
}

func (s views) Long(ctx context.Context, st httpserver.Statement) ([]questions.Told, error) {
	rows, err := s[st.Job].Long(ctx, st.Question)
	return rows, asked(err)
}

func (s views) Groups(ctx context.Context, st httpserver.Statement) (all, enough uint64, err error) {
	all, enough, err = s[st.Job].Groups(ctx, st.Question)
	return all, enough, asked(err)
}

// Rollup is of questions about ids.
func (s views) Rollup(job string) time.Duration {
	if all, _ := s[job].Rollups(); len(all) > 0 {
		return all[0].Window
	}
	return 0
}

func (s views) Retention(ctx context.Context, st httpserver.Statement) ([]questions.Pair, error) {
	rows, err := s[st.Job].Retention(ctx, st.Question)
	return rows, asked(err)
}

func (s views) Sessions(ctx context.Context, st httpserver.Statement) ([]questions.Bound, error) {
	rows, err := s[st.Job].Sessions(ctx, st.Question)
	return rows, asked(err)
}

func (s views) Funnel(ctx context.Context, st httpserver.Statement) ([]questions.Bound, error) {
	rows, err := s[st.Job].Funnel(ctx, st.Question)
	return rows, asked(err)
}

// asked returns an error about the question as one of package key.
func asked(err error) error {
	var refused *questions.Refused
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %s", key.ErrQuestion, refused.Reason)
	}
	return err
}

// deadLetters returns the function that reads the last dead letters of a job.
func deadLetters(sinks map[string]*clickhouse.Sink) func(context.Context, string, int) ([]httpserver.DeadLetter, error) {
	return func(ctx context.Context, job string, n int) ([]httpserver.DeadLetter, error) {
		sink := sinks[job]
		if sink == nil {
			return nil, nil
		}
		read, err := sink.DeadLetters(ctx, n)
		all := make([]httpserver.DeadLetter, len(read))
		for i, d := range read {
			all[i] = httpserver.DeadLetter{
				Job: job, Partition: d.Partition, Offset: d.Offset, Outcome: d.Outcome.String(), Reason: d.Reason,
				At: time.UnixMilli(int64(d.Time)).UTC(), Bytes: d.Size,
			}
			all[i].SetPayload(d.Payload)
		}
		return all, err
	}
}
