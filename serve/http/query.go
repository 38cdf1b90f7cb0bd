package http

import (
	"context"
	"fmt"
	"net/http"

	"weir/serve/key"
	"weir/serve/live"
)

// A queryReply is what /api/v1/query says about a window key.
type queryReply struct {
	Key     string `json:"key"`
	Found   bool   `json:"found"`
	Kind    string `json:"kind,omitempty"`    // hits, partial, or the kind of the measure
	Value   any    `json:"value"`             // the number that the answer stands for
	Has     *bool  `json:"has,omitempty"`     // with member=…, for set, bitmap, bloom and geo
	Partial bool   `json:"partial,omitempty"` // events that ClickHouse holds are missing…
	Reason  string `json:"reason,omitempty"`  // …because of this
	Error   string `json:"error,omitempty"`   // the fault of the key, or of ClickHouse
}

// keyed has the parameters of /api/v1/query.
var keyed = endpoint{parameters: []string{"key", "member"}}

// query answers GET /api/v1/query?key=w:clicks:users:now[&member=7], with the keys of
// the Redis endpoint.
func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	asked, err := parametersOf(r)
	reply := queryReply{Key: asked.Get("key"), Value: 0}
	status := http.StatusOK
	if err == nil {
		err = keyed.check(call{"query", asked})
	}
	if err == nil {
		err = s.inTime(r.Context(), func(ctx context.Context) error { return s.ask(ctx, asked.Get("member"), &reply) })
	}
	if err != nil {
		reply.Error, status = err.Error(), statusOf(err)
	}
	send(w, status, reply)
}

// ask looks up the key of a reply, and looks for a member in the answer unless the
// member is empty.
func (s *Server) ask(ctx context.Context, member string, reply *queryReply) error {
	k, err := key.Parse(reply.Key)
	if err != nil {
		return err
	}
	kind, err := s.Windows.Kind(k.Job, k.Measure)
	if err != nil {
		return err
	}
	reply.Kind = kind.Name
	var has func(any) bool
	if member != "" {
		if kind.Member == nil {
			return fmt.Errorf("%w: member=%.64s: nothing is a member of %s, which is of kind %s; a %s measure has members", key.ErrQuestion, member, k.Measure, kind.Name, live.WithMembers())
		}
		if has, err = kind.Member(member); err != nil {
			return fmt.Errorf("%w: member=%s: %w", key.ErrQuestion, member, err)
		}
	}
	if s.K > 0 { // its people are looked up first, and a new window may begin before its value is
		if k, err = s.Windows.Fixed(k); err != nil {
			return err
		}
	}
	if err := s.revealing(ctx, k, kind, member); err != nil {
		return err
	}
	a, err := s.Windows.Lookup(ctx, k)
	if err != nil {
		return err
	}
	reply.Found, reply.Partial, reply.Reason = a.Found(), a.Partial != "", a.Partial
	reply.Value = kind.Number(a.Value)
	if err := unknown(a.Partial, a.Found()); err != nil {
		return err
	}
	if has != nil && a.Found() {
		is := has(a.Value)
		reply.Has = &is
	}
	return nil
}
