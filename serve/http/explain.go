package http

import (
	"context"
	"fmt"
	"strings"

	"weir/measures/face"
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
func (s *Server) explain(_ context.Context, q call) (any, error) {
	of, err := parseCall(q.Get("of"))
	e, known := s.endpoints()[of.path]
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: of=%.64q: %w", errQuestion, q.Get("of"), err)
	case !known || of.path == "explain":
		return nil, fmt.Errorf("%w: of=%.64q; there is no such path to explain", errQuestion, q.Get("of"))
	}
	if err := e.check(of); err != nil {
		return nil, err
	}
	reply := explainReply{HTTP: "/api/v1/" + of.id()}
	a, st, err := s.statement(of)
	if err != nil || a.measure.Name == "" {
		return reply, err
	}
	st.about(a.query(a.measure.Name))
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

// statement returns a question in the terms of SQL, without the part that all of them have; no
// measure if it is not about one.
func (s *Server) statement(q call) (a asking, st Statement, err error) {
	switch q.path {
	case "people":
		if a, err = s.asked(q, face.People); err == nil {
			a.span, err = lately("30m", s.Windows.Now().UTC(), a.job.Window)
		}
	case "series":
		a, st, err = s.askedSeries(q)
	case "top":
		a, _, st, err = s.askedTop(q)
	case "list":
		a, err = s.askedList(q)
	case "heat":
		a, st.Precision, err = s.askedHeat(q)
		st.Within = strings.ToLower(q.Get("within"))
	case "positions":
		a, _, err = s.askedPositions(q)
	case "returning":
		a, st.Step, err = s.askedReturning(q)
		st.Returning = true
	case "retention":
		a, st, err = s.askedRetention(q)
	case "sessions":
		a, st, err = s.askedSessions(q)
	case "funnel":
		a, st, err = s.askedFunnel(q)
	}
	return a, st, err
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
