package http

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"weir/internal/spelling"
	"weir/serve/key"
	"weir/serve/live"
)

// A queryReply is what /api/v1/query says about a window key.
type queryReply struct {
	Key     string `json:"key"`
	Found   bool   `json:"found"`
	Kind    string `json:"kind,omitempty"`    // hits, partial, or that of the measure
	Value   any    `json:"value"`             // the number that the answer stands for
	Has     *bool  `json:"has,omitempty"`     // with member=…, for set, bitmap, bloom and geo
	Partial bool   `json:"partial,omitempty"` // what ClickHouse holds is missing, or some of it…
	Reason  string `json:"reason,omitempty"`  // …because of this
	Error   string `json:"error,omitempty"`   // what is wrong with the key, or with ClickHouse
}

// query answers GET /api/v1/query?key=w:clicks:users:now[&member=7], with the keys of
// the Redis endpoint.
func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	asked, err := parametersOf(r)
	reply := queryReply{Key: asked.Get("key"), Value: 0}
	status := http.StatusOK
	if err == nil {
		err = parameters(asked)
	}
	if err != nil {
		reply.Error, status = err.Error(), http.StatusBadRequest
	} else if err := s.inTime(r.Context(), func(ctx context.Context) error { return s.ask(ctx, asked.Get("member"), &reply) }); err != nil {
		var malformed *key.SyntaxError
		var unknown *key.UnknownError
		switch reply.Error = err.Error(); {
		case errors.As(err, &unknown):
			status = http.StatusNotFound
		case errors.As(err, &malformed), errors.Is(err, key.ErrQuestion):
			status = http.StatusBadRequest
		case errors.Is(err, errPrivate):
			status = http.StatusForbidden
		default:
			status = http.StatusBadGateway // ClickHouse did not answer
		}
	}
	send(w, status, reply)
}

// parameters refuses unknown and repeated parameters: without them the answer would
// be one to another question.
func parameters(asked url.Values) error {
	known := []string{"key", "member"}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		switch {
		case !slices.Contains(known, name):
			text := fmt.Sprintf("there is no parameter %.64q; there are key and member", name)
			if near := spelling.Nearest(name, known); near != "" {
				text = fmt.Sprintf("there is no parameter %.64q; did you mean %s?", name, near)
			}
			return errors.New(text)
		case len(asked[name]) > 1:
			return fmt.Errorf("%s is given %d times", name, len(asked[name]))
		}
	}
	return nil
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
			return err
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
