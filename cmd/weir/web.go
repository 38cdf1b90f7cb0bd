package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	httpserver "weir/serve/http"
	"weir/serve/key"
	"weir/sinks/clickhouse"
)

// This file gives the HTTP endpoint what it asks of ClickHouse by itself: the statements
// that it shows, questions about ids over several windows, and the dead letters. Everything else it gets from serve/live.

// statements returns the function that writes a question as a SELECT.
func statements(sinks map[string]*clickhouse.Sink) func(httpserver.Statement) string {
	return func(st httpserver.Statement) string {
		sink := sinks[st.Job]
		if sink == nil {
			return ""
		}
		return sink.SQL(questionOf(st))
	}
}

func questionOf(st httpserver.Statement) clickhouse.Question {
	return clickhouse.Question{
		Measure: st.Measure, From: st.From, Until: st.Until, Group: st.Group,
		Columns: st.Columns, Limit: st.Limit, Step: st.Step, Returning: st.Returning,
		Precision: st.Precision, Within: st.Within,
		Unit: st.Unit, Zone: st.Zone, Periods: st.Periods, Gap: st.Gap, Steps: st.Steps,
	}
}

// ids answers questions about ids from the sinks of the jobs.
type ids map[string]*clickhouse.Sink

func (s ids) Rollup(job string) time.Duration { return s[job].Shortest() }

func (s ids) Retention(ctx context.Context, st httpserver.Statement) ([]httpserver.Pair, error) {
	rows, err := s[st.Job].Retention(ctx, questionOf(st))
	return converted(rows, err, func(p clickhouse.Pair) httpserver.Pair { return httpserver.Pair(p) })
}

func (s ids) Sessions(ctx context.Context, st httpserver.Statement) ([]httpserver.Bound, error) {
	rows, err := s[st.Job].Sessions(ctx, questionOf(st))
	return converted(rows, err, func(b clickhouse.Bound) httpserver.Bound { return httpserver.Bound(b) })
}

func (s ids) Funnel(ctx context.Context, st httpserver.Statement) ([]httpserver.Bound, error) {
	rows, err := s[st.Job].Funnel(ctx, questionOf(st))
	return converted(rows, err, func(b clickhouse.Bound) httpserver.Bound { return httpserver.Bound(b) })
}

// converted returns rows in the types of the endpoint. An error about the question is one of
// package key there.
func converted[From, To any](rows []From, err error, to func(From) To) ([]To, error) {
	var refused *clickhouse.Refused
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("%w: %s", key.ErrQuestion, refused.Reason)
	}
	all := make([]To, len(rows))
	for i, r := range rows {
		all[i] = to(r)
	}
	return all, err
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
