package main

import (
	"context"
	"time"

	httpserver "weir/serve/http"
	"weir/sinks/clickhouse"
)

// This file gives the HTTP endpoint what it asks of ClickHouse by itself: the statements
// that it shows, and the dead letters. Everything else it gets from serve/live.

// statements returns the function that writes a question as a SELECT.
func statements(sinks map[string]*clickhouse.Sink) func(httpserver.Statement) string {
	return func(st httpserver.Statement) string {
		sink := sinks[st.Job]
		if sink == nil {
			return ""
		}
		return sink.SQL(clickhouse.Question{
			Measure: st.Measure, From: st.From, Until: st.Until, Group: st.Group,
			Columns: st.Columns, Limit: st.Limit, Step: st.Step, Returning: st.Returning,
			Precision: st.Precision, Within: st.Within,
		})
	}
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
