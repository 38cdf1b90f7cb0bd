package http

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"weir/serve/key"
	"weir/serve/live"
)

// A Statement is a question in the terms of SQL, for Server.SQL.
type Statement struct {
	live.Question
	Columns   []string
	Limit     int
	Step      time.Duration
	Returning bool
	Precision int
	Within    string
}

// An explainReply says how to ask the same elsewhere.
type explainReply struct {
	HTTP  string `json:"http"`
	SQL   string `json:"sql"`   // as of the last flush; empty: none
	Redis string `json:"redis"` // empty: none
}

// explain answers how to ask a question, which the parameter of has as a stream would have
// it, in SQL and of the Redis endpoint.
func (s *Server) explain(ctx context.Context, q question) (any, error) {
	path, parameters, _ := strings.Cut(q.Get("of"), "?")
	values, err := url.ParseQuery(parameters)
	if err != nil {
		return nil, fmt.Errorf("%w: of=%.64q: %w", errQuestion, q.Get("of"), err)
	}
	of := question{path, values}
	e, known := s.endpoints()[path]
	if !known || path == "explain" {
		return nil, fmt.Errorf("%w: of=%.64q; there is no such path to explain", errQuestion, q.Get("of"))
	}
	reply := explainReply{HTTP: "/api/v1/" + of.id()}
	st, m, err := s.statement(ctx, &e, of)
	if err != nil || m.Name == "" {
		return reply, err
	}
	if s.SQL != nil {
		reply.SQL = s.SQL(st)
	}
	if k, ok := s.windowKey(st); ok && m.Kind.Command != "" {
		reply.Redis = m.Kind.Command + " " + k.String()
	}
	return reply, nil
}

// statement returns a question in the terms of SQL, and its measure; no measure if it is
// not about one.
func (s *Server) statement(ctx context.Context, e *endpoint, q question) (st Statement, m live.Described, err error) {
	answer, err := e.ask(ctx, q)
	if err != nil {
		return st, m, err
	}
	var of about
	switch a := answer.(type) {
	case seriesReply:
		of, st.Step = a.about, time.Duration(a.Step)*time.Second
	case topReply:
		of, st.Columns, st.Limit = a.about, a.Columns, max(1, len(a.Groups))
	case listReply:
		of = a.about
	case heatReply:
		of, st.Precision, st.Within = a.about, a.Precision, a.Within
	case positionsReply:
		of = a.about
	case returningReply:
		of, st.Step, st.Returning = a.about, time.Duration(a.Step)*time.Second, true
	case peopleReply:
		over := a.Now[len(a.Now)-2] // half an hour
		of = about{Job: a.Job, Measure: a.Measure, span: over.span}
	default:
		return st, m, nil
	}
	for _, d := range s.Windows.Jobs() {
		for _, one := range d.Measures {
			if d.Job == of.Job && one.Name == of.Measure {
				m = one
				st.Question = live.Question{Job: d.Job, Measure: one.Name, From: of.From, Until: of.Until}
				st.Group, _, err = groups(q, d)
			}
		}
	}
	return st, m, err
}

// windowKey returns the window key of all windows of a statement; ok is false if there is
// none.
func (s *Server) windowKey(st Statement) (k key.Key, ok bool) {
	for _, d := range s.Windows.Jobs() {
		if d.Job != st.Job {
			continue
		}
		k = key.Key{Job: st.Job, Measure: st.Measure, From: key.Point{Start: st.From}, To: key.Point{Start: st.Until.Add(-d.Window)}}
		for _, g := range st.Group {
			k.Groups = append(k.Groups, key.Group{All: g == nil, Value: string(g)})
		}
		for len(k.Groups) > 0 && k.Groups[len(k.Groups)-1].All {
			k.Groups = k.Groups[:len(k.Groups)-1]
		}
		return k, true
	}
	return k, false
}
