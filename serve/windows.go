package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"weir/event"
	"weir/serve/live"
	"weir/serve/redis"
	"weir/sketches/bloom"
)

// Windows gives the live windows the keys that Redis clients ask for.
type Windows struct{ *live.Windows }

var _ redis.Windows = Windows{}

// query resolves a key's points, which may count back from now.
func (w Windows) query(k redis.Key) (q live.Query, known bool, err error) {
	point := func(p redis.Point) (event.Time, error) {
		start, ok := w.Start(k.Job, p.Ago)
		known = ok
		if !ok || p.Start.IsZero() {
			return start, nil
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
		return q, known, err
	}
	if q.Until, err = point(k.To); err != nil || !known {
		return q, known, err
	}
	if q.Until < q.From {
		return q, known, fmt.Errorf("%w: the range of windows ends before it begins", live.ErrQuery)
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
	return q, known, nil
}

// Lookup implements redis.Windows.
func (w Windows) Lookup(ctx context.Context, k redis.Key) (redis.Value, bool, error) {
	q, known, err := w.query(k)
	if err != nil || !known {
		return redis.Value{}, false, err
	}
	v, found, err := w.Windows.Lookup(ctx, q)
	return value(v), found, err
}

// Recent implements redis.Windows.
func (w Windows) Recent(k redis.Key) (v redis.Value, found, known bool) {
	q, known, err := w.query(k)
	if err != nil || !known {
		return v, false, false
	}
	recent, found, known := w.Windows.Recent(q)
	return value(recent), found, known
}

func value(v live.Value) redis.Value {
	return redis.Value{Hits: v.Hits, HLL: v.HLL, Bitmap: v.Bitmap, Bloom: v.Bloom, Geo: v.Geo}
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
	Key   string `json:"key"`
	Found bool   `json:"found"`
	Kind  string `json:"kind,omitempty"`  // hits, hll, bitmap, bloom, geo
	Value uint64 `json:"value"`           // events, distinct ids, members, bits set, members
	Has   *bool  `json:"has,omitempty"`   // with member=…, for bitmap, bloom and geo
	Error string `json:"error,omitempty"` // what is wrong with the key
}

// queryKey answers GET /api/v1/query?key=w:clicks:users:now[&member=7], with
// the keys of the Redis endpoint.
func (h *HTTP) queryKey(rw http.ResponseWriter, r *http.Request) {
	a := answer{Key: r.URL.Query().Get("key")}
	status := http.StatusOK
	k, err := redis.ParseKey(a.Key)
	if err != nil {
		a.Error, status = err.Error(), http.StatusBadRequest
	} else if err := h.answer(r.Context(), k, r.URL.Query().Get("member"), &a); err != nil {
		a.Error, status = err.Error(), http.StatusBadGateway // ClickHouse did not answer
		if errors.Is(err, live.ErrQuery) {
			status = http.StatusBadRequest
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(a) // the client went away: nobody to tell
}

func (h *HTTP) answer(ctx context.Context, k redis.Key, member string, a *answer) error {
	v, found, err := Windows{h.Windows}.Lookup(ctx, k)
	if err != nil || !found {
		return err
	}
	a.Found = true
	has := func(b bool) {
		if member != "" {
			a.Has = &b
		}
	}
	switch {
	case v.HLL != nil:
		a.Kind, a.Value = "hll", v.HLL.Count()
	case v.Bitmap != nil:
		a.Kind, a.Value = "bitmap", v.Bitmap.Count()
		var id uint32
		if _, err := fmt.Sscan(member, &id); err == nil {
			has(v.Bitmap.Has(id))
		}
	case v.Bloom != nil:
		a.Kind = "bloom"
		has(v.Bloom.Has(bloom.Hash([]byte(member))))
	case v.Geo != nil:
		a.Kind, a.Value = "geo", uint64(v.Geo.Len())
		_, _, ok := v.Geo.Position([]byte(member))
		has(ok)
	default:
		a.Kind, a.Value = live.Hits, v.Hits
	}
	return nil
}
