package http

import (
	"context"
	"fmt"

	"weir/serve/key"
	"weir/serve/live"
	"weir/sinks/clickhouse/questions"
)

// A Statement is a question about a job, as its sink takes it.
type Statement struct {
	Job string
	questions.Question
}

// about sets what a statement has in common with a query of package live.
func (st *Statement) about(q live.Query) {
	st.Job, st.Measure, st.From, st.Until, st.Group = q.Job, q.Measure, q.From, q.Until, q.Group
}

// An explainReply says how to ask the same elsewhere.
type explainReply struct {
	HTTP  string `json:"http"`
	SQL   string `json:"sql"`   // as of the last flush; empty: none
	Redis string `json:"redis"` // empty: none
	RESP  string `json:"resp"`  // the address for Redis; empty: it is off
}

// explain answers how to ask a question, which the parameter of has as a stream would have
// it, in SQL and of the Redis endpoint. It does not ask the question, so it answers while
// ClickHouse does not.
func (s *Server) explain(_ context.Context, question asking) (any, error) {
	text := question.Get("of")
	of, err := parseCall(text)
	e, known := s.endpoints()[of.path]
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: of=%.64q: %w", errQuestion, text, err)
	case !known || of.path == "explain":
		return nil, fmt.Errorf("%w: of=%.64q; there is no such path to explain", errQuestion, text)
	}
	reply := explainReply{HTTP: "/api/v1/" + of.id()}
	a, err := e.read(of)
	if err != nil || e.asked == nil {
		return reply, err
	}
	st := a.statement()
	if s.SQL != nil {
		reply.SQL = s.SQL(st)
	}
	switch of.path {
	case "people", "series", "list": // no command answers the others
		if !st.Long && a.measure.Kind.Command != "" && s.Redis != "" {
			reply.Redis, reply.RESP = a.measure.Kind.Command+" "+windowKey(st, a.job).String(), s.Redis
		}
	}
	return reply, nil
}

// windowKey returns the window key of all windows of a statement about a job.
func windowKey(st Statement, job live.Description) key.Key {
	k := key.Key{Job: st.Job, Measure: st.Measure, From: key.Point{Start: st.From}, To: key.Point{Start: st.Until.Add(-job.Window)}}
	for _, g := range st.Group {
		k.Groups = append(k.Groups, key.Group{All: g == nil, Value: string(g)})
	}
	for len(k.Groups) > 0 && k.Groups[len(k.Groups)-1].All {
		k.Groups = k.Groups[:len(k.Groups)-1]
	}
	return k
}
