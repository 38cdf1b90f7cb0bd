package jobs

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/geo"
	geosketch "weir/sketches/geo"
	"weir/window"
)

// readingSink reads all changes slowly, as a sink does that encodes them, so
// that live reads run at the same time.
type readingSink struct{ *mergeSink }

func (s readingSink) Write(ctx context.Context, c *window.Changes) error {
	var b []byte
	for row := range c.Table.Rows {
		for m, ms := range c.Table.Spec().Measures {
			if ms.Kind != geo.Kind {
				b = row.AppendState(b[:0], m)
			}
		}
	}
	for m, ms := range c.Table.Spec().Measures {
		if ms.Kind == geo.Kind {
			c.Table.Positions(m).Each(func(int64, []byte, geosketch.Stamp, uint64) bool { return true })
		}
	}
	time.Sleep(2 * time.Millisecond)
	return s.mergeSink.Write(ctx, c)
}

// TestLive: at any moment, memory merged with the sink has every record that
// was counted before the read began, and none twice.
func TestLive(t *testing.T) {
	s := spec()
	s.Measures = append(s.Measures,
		window.Measure{Name: "active", Kind: bitmap.Kind, Path: "user"},
		window.Measure{Name: "seen", Kind: bloom.Kind, Path: "user", Capacity: 100, Error: 0.01},
		window.Measure{Name: "places", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat"})
	const records = 20_000
	log := &fakeLog{parts: make([][]event.Record, 2)}
	for p := range log.parts {
		for i := range records {
			now := event.Time(1_763_600_000_000 + i*10)
			log.parts[p] = append(log.parts[p], event.Record{Offset: int64(i), Time: now,
				Value: fmt.Appendf(nil, `{"ts":%d,"page":"/%d","user":%d,"lon":%d,"lat":1}`, now, i%7, i%90, i%170)})
		}
	}
	n := 0
	sink := readingSink{newSink(s)}
	sink.fault = func() error {
		if n++; n%5 == 0 {
			return errLost
		}
		return nil
	}
	src := &fakeSource{log: log, committed: map[int32]int64{}}
	j, err := New(Config{Spec: s, Topic: "clicks", Source: src, Sink: sink, Workers: 2, Flush: 3 * time.Millisecond, Rollup: time.Hour, UntilEnd: true})
	if err != nil {
		t.Fatal(err)
	}
	running, ended := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() { errs <- j.Run(t.Context()); ended() }()
	all := &window.Range{From: 0, Until: math.MaxInt64, Group: [][]byte{nil}}
	reads, last := 0, uint64(0)
	for running.Err() == nil {
		var before uint64
		for _, p := range j.Status().Partitions {
			before += uint64(p.Next)
		}
		mem, err := j.Live(running, all)
		if running.Err() != nil {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		joined := window.NewTable(s)
		sink.mu.Lock()
		sink.all.Table.Copy(joined, all)
		sink.mu.Unlock()
		for _, t := range mem {
			t.Copy(joined, all)
		}
		joined.Seal()
		var got uint64
		for row := range joined.Rows {
			for _, n := range row.Hits {
				got += n
			}
		}
		if got < before || got < last || got > 2*records {
			t.Fatalf("read %d: %d hits, %d were counted before it, %d at the read before", reads, got, before, last)
		}
		last = got
		reads++
	}
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	if reads < 5 {
		t.Fatalf("only %d reads: the test tests nothing", reads)
	}
}
