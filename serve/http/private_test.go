package http

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/serve/live"
	"weir/window"
)

// newBaskets counts events of a job whose first measure counts people, and the second one their baskets.
// Each event is a page, a country, a user and a basket, so long before noon.
func newBaskets(t *testing.T, events map[time.Duration][]string) *Server {
	t.Helper()
	spec := clicksSpec()
	spec.By = []window.Column{{Name: "page", Path: "page"}, {Name: "country", Path: "country"}}
	spec.Measures = []window.Measure{{Name: "users", Kind: window.HLL, Path: "user"}, {Name: "baskets", Kind: window.Bitmap, Path: "basket"}}
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	job := &pageJob{emptyJob: emptyJob{spec}, op: op}
	job.sink.Sink = emptySink(t, spec)
	windows := live.New(live.Config{Now: func() time.Time { return noon }, Memory: 1 << 30})
	windows.Add(job, &job.sink)
	op.Start(window.Plan{})
	b := event.Batch{}
	for ago, all := range events {
		at := noon.Add(-ago).UnixMilli()
		for _, one := range all {
			f := strings.Split(one, " ")
			b.Records = append(b.Records, event.Record{Offset: b.Next, Time: event.Time(at),
				Value: fmt.Appendf(nil, `{"ts":%d,"page":"%s","country":"%s","user":%s,"basket":%s}`, at, f[0], f[1], f[2], f[3])})
			b.Next++
		}
	}
	if err := op.Observe(&b); err != nil {
		t.Fatal(err)
	}
	return &Server{Windows: windows, K: 3}
}

// TestPrivateTexts: a group is told by its own people, whatever bytes its texts have.
func TestPrivateTexts(t *testing.T) {
	s := newBaskets(t, map[time.Duration][]string{0: {`a\u0000b c 1 1`, `a\u0000b c 2 2`, `a\u0000b c 3 3`, `a b\u0000c 4 4`}})
	var got topReply
	if get(t, s.Handler(), "/api/v1/top?column=page,country", &got); len(got.Groups) != 1 || got.Groups[0].Group[0] != "a\x00b" || got.Withheld != 1 {
		t.Errorf("%+v, want the one group of three people", got)
	}
}
