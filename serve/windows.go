package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"weir/event"
	"weir/internal/spelling"
	"weir/serve/live"
	"weir/serve/redis"
)

// Windows gives the live windows the keys that Redis clients ask for.
type Windows struct{ *live.Windows }

var _ redis.Windows = Windows{}

// query resolves a key's points, which may count back from now.
func (w Windows) query(k redis.Key) (q live.Query, err error) {
	point := func(p redis.Point) (event.Time, error) {
		start, err := w.Start(k.Job, p.Ago)
		if err != nil || p.Start.IsZero() {
			return start, err
		}
		start = event.Time(p.Start.UnixMilli())
		if at := w.Align(k.Job, start); at != start {
			return 0, fmt.Errorf("%w: no window of job %s starts at %s; one starts at %s", live.ErrQuery, k.Job,
				p.Start.UTC().Format(time.RFC3339), time.UnixMilli(int64(at)).UTC().Format(time.RFC3339))
		}
		return start, nil
	}
	q = live.Query{Job: k.Job, Measure: k.Measure}
	if q.From, err = point(k.From); err != nil {
		return q, err
	}
	if q.Until, err = point(k.To); err != nil {
		return q, err
	}
	if q.Until < q.From {
		return q, fmt.Errorf("%w: the range of windows ends before it begins", live.ErrQuery)
	}
	q.Until += w.Size(k.Job)
	for _, g := range k.Groups {
		var text []byte
		if !g.All {
			text = []byte(g.Value)
			if text == nil {
				text = []byte{}
			}
		}
		q.Group = append(q.Group, text)
	}
	return q, nil
}

// Lookup implements redis.Windows.
func (w Windows) Lookup(ctx context.Context, k redis.Key) (redis.Value, bool, error) {
	v, found, err := w.lookup(ctx, k)
	return value(v), found, err
}

func (w Windows) lookup(ctx context.Context, k redis.Key) (live.Value, bool, error) {
	q, err := w.query(k)
	if err != nil {
		return live.Value{}, false, err
	}
	return w.Windows.Lookup(ctx, q)
}

// Recent implements redis.Windows.
func (w Windows) Recent(k redis.Key) (v redis.Value, found, known bool) {
	q, err := w.query(k)
	if err != nil {
		return v, false, false
	}
	recent, found, known := w.Windows.Recent(q)
	return value(recent), found, known
}

func value(v live.Value) redis.Value {
	return redis.Value{Hits: v.Hits, Measured: v.Measured, Partial: v.Partial}
}

// Keys implements redis.Windows: the rows of each job's last windows.
func (w Windows) Keys(ctx context.Context) iter.Seq2[redis.Key, error] {
	return func(yield func(redis.Key, error) bool) {
		more := true
		err := w.Names(ctx, func(n live.Name) bool {
			at := redis.Point{Start: time.UnixMilli(int64(n.Start)).UTC()}
			k := redis.Key{Job: n.Job, Measure: n.Measure, From: at, To: at}
			for _, g := range n.Group {
				k.Groups = append(k.Groups, redis.Group{Value: g})
			}
			more = yield(k, nil)
			return more
		})
		if err != nil && more {
			yield(redis.Key{}, err)
		}
	}
}

// An answer is what /api/v1/query says about a window key.
type answer struct {
	Key     string `json:"key"`
	Found   bool   `json:"found"`
	Kind    string `json:"kind,omitempty"`    // hits, partial, or that of the measure
	Value   any    `json:"value"`             // events, or what the measure comes to
	Has     *bool  `json:"has,omitempty"`     // with member=…, for bitmap, bloom and geo
	Partial bool   `json:"partial,omitempty"` // what ClickHouse holds is missing, or some of it…
	Reason  string `json:"reason,omitempty"`  // …because of this
	Error   string `json:"error,omitempty"`   // what is wrong with the key, or with ClickHouse
}

// queryKey answers GET /api/v1/query?key=w:clicks:users:now[&member=7], with
// the keys of the Redis endpoint.
func (h *HTTP) queryKey(rw http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	a := answer{Key: asked.Get("key"), Value: 0}
	status := http.StatusOK
	err := parameters(asked)
	var k redis.Key
	if err == nil {
		k, err = redis.ParseKey(a.Key)
	}
	if err != nil {
		a.Error, status = err.Error(), http.StatusBadRequest
	} else if err := h.answer(r.Context(), k, asked.Get("member"), &a); err != nil {
		var unknown *live.UnknownError
		switch a.Error = err.Error(); {
		case errors.As(err, &unknown):
			status = http.StatusNotFound
		case errors.Is(err, live.ErrQuery):
			status = http.StatusBadRequest
		default:
			status = http.StatusBadGateway // ClickHouse did not answer
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(a) // an error means that the client has disconnected
}

// parameters refuses what a question has none of: an answer would look as if it
// had been heeded.
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

func (h *HTTP) answer(ctx context.Context, k redis.Key, member string, a *answer) (err error) {
	kind, err := h.Windows.Kind(k.Job, k.Measure)
	if err != nil {
		return err
	}
	a.Kind = kind.Name
	var has func(any) bool
	if member != "" {
		if kind.Member == nil {
			return fmt.Errorf("%w: member=%.64s: nothing is a member of %s, which is of kind %s; a %s measure has members", live.ErrQuery, member, k.Measure, a.Kind, live.WithMembers())
		}
		if has, err = kind.Member(member); err != nil {
			return err
		}
	}
	v, found, err := Windows{h.Windows}.lookup(ctx, k)
	if err != nil {
		return err
	}
	a.Found, a.Partial, a.Reason = found, v.Partial != "", v.Partial
	a.Value = v.Hits
	if kind.Number != nil {
		a.Value = kind.Number(v.Measured)
	}
	if has != nil && found {
		is := has(v.Measured)
		a.Has = &is
	}
	return nil
}
