package window

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/event"
)

// traffic makes batches of the clicks job's events: 1,000 Zipf pages, two million
// users, about 190 bytes each.
func traffic(n int) []event.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 999)
	var bs []event.Batch
	b := event.Batch{}
	for i := range n {
		ts := 1_763_600_000_000 + int64(i)/100
		doc := fmt.Appendf(nil, `{"event_id":"%016x%016x","ts":%d,"user_id":%d,"page":"/p/%d","action":"view","referrer":"https://example.org/a","country":"DE","device":"mobile"}`,
			r.Uint64(), r.Uint64(), ts, r.IntN(2_000_000), zipf.Uint64())
		b.Records = append(b.Records, event.Record{Offset: int64(i), Time: event.Time(ts), Value: doc})
		if len(b.Records) == 5000 || i == n-1 {
			b.Next = int64(i) + 1
			bs = append(bs, b)
			b = event.Batch{First: b.Next}
		}
	}
	return bs
}

func pageSpec() *Spec {
	return &Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 86_400_000, Skew: 600_000,
		Chunk: 1 << 18, MaxGroups: 10_000,
		By:       []Column{{Name: "page", Path: "page"}},
		Measures: []Measure{{Name: "users", Kind: HLL, Path: "user_id"}},
	}
}

// BenchmarkObserve measures the whole core per event: decode, decide, count, HLL.
// Estimate: 80 ns to scan, 10 to find the group, 5 to count, 15 for the
// sketch: 110 ns.
func BenchmarkObserve(b *testing.B) {
	bs := traffic(100_000)
	op := newOperator(b, pageSpec())
	op.Start(Plan{})
	b.ReportAllocs()
	n, round := 0, int64(0)
	for b.Loop() {
		batch := bs[n%len(bs)]
		// The same events again, further on in the log.
		shift := round * 100_000
		batch.First += shift
		batch.Next += shift
		recs := batch.Records
		for i := range recs {
			recs[i].Offset = batch.First + int64(i)
		}
		observe(b, op, batch)
		if n++; n%len(bs) == 0 {
			round++
		}
		if n%100 == 0 {
			op.Reuse(op.Take().Table)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*5000), "ns/event")
}

// TestNoAllocationPerEvent: a batch that meets known groups allocates nothing.
func TestNoAllocationPerEvent(t *testing.T) {
	bs := traffic(50_000)
	s := pageSpec()
	s.Measures = append(s.Measures, Measure{Name: "active", Kind: Bitmap, Path: "user_id"}, Measure{Name: "seen", Kind: Bloom, Path: "event_id", Capacity: 1000, Error: 0.01},
		Measure{Name: "spread", Kind: Quantile, Path: "user_id", Error: 0.01})
	op := newOperator(t, s)
	op.Start(Plan{})
	for range 2 {
		for i := range bs {
			observe(t, op, bs[i])
		}
	}
	next := int64(50_000)
	allocs := testing.AllocsPerRun(20, func() {
		b := bs[0]
		b.First, b.Next = next, next+int64(len(b.Records))
		for i := range b.Records {
			b.Records[i].Offset = next + int64(i)
		}
		next = b.Next
		observe(t, op, b)
	})
	// The sketches may grow: a handful per 5,000 events.
	if per := allocs / 5000; per > 0.01 {
		t.Errorf("%.3f allocations per event, want none", per)
	}
}

// chunks makes a chunk of 2^17 of the clicks job's events in each of two partitions, in batches of
// 1,024, four of a partition one after another: four windows, 1,000 Zipf pages, 32 countries, of
// which four have half of the events.
func chunks() (bs []event.Batch) {
	const each, partitions = 1 << 17, 2
	r := rand.New(rand.NewPCG(1, 3))
	zipf := rand.NewZipf(r, 1.1, 4, 999)
	for at := range each / 1024 {
		for i := range int64(1024) {
			if i == 0 && at%4 == 0 {
				for p := range int32(partitions) {
					for k := range int64(4) {
						first := int64(at+int(k)) * 1024
						bs = append(bs, event.Batch{Partition: p, First: first, Next: first + 1024})
					}
				}
			}
			for p := range partitions {
				b := &bs[at/4*4*partitions+p*4+at%4]
				country := r.IntN(32)
				if r.IntN(2) == 0 {
					country %= 4
				}
				ts := 1_763_600_040_000 + b.First*240_000/each + i*240/each - r.Int64N(2000)
				doc := fmt.Appendf(nil, `{"event_id":"%016x%016x","ts":%d,"user_id":%d,"page":"/p/%d","action":"view","referrer":"https://example.org/a","country":"%c%c","device":"mobile"}`,
					r.Uint64(), r.Uint64(), ts, r.IntN(2_000_000), zipf.Uint64(), 'A'+country%26, 'Z'-country*7%26)
				b.Records = append(b.Records, event.Record{Offset: b.First + i, Time: event.Time(ts), Value: doc})
			}
		}
	}
	return bs
}

// BenchmarkMeasures measures what further measures add to the core: a new worker counts three chunks
// of two partitions, and then the states of all rows are made, as in a process that catches up.
func BenchmarkMeasures(b *testing.B) {
	usual := []Measure{{Name: "users", Kind: HLL, Path: "user_id"}, {Name: "active", Kind: Bitmap, Path: "user_id"}}
	further := []Measure{
		{Name: "id_sum", Kind: Sum, Path: "user_id"},
		{Name: "ids", Kind: Quantile, Path: "user_id", Error: 0.01},
		{Name: "countries", Kind: TopK, Path: "country", K: 10},
		{Name: "people", Kind: Set, Path: "user_id"},
	}
	bs := chunks()
	run := func(name string, measures []Measure) {
		b.Run(name, func(b *testing.B) {
			s := pageSpec()
			s.Chunk, s.Measures = 1<<17, measures
			n := 0
			for b.Loop() {
				op := newOperator(b, s)
				for p := range int32(2) {
					op.Start(Plan{Partition: p})
				}
				for chunk := range int64(3) {
					for i := range bs {
						batch := bs[i]
						batch.First, batch.Next = batch.First+chunk*s.Chunk, batch.Next+chunk*s.Chunk
						for k := range batch.Records {
							batch.Records[k].Offset = batch.First + int64(k)
						}
						observe(b, op, batch)
						n += len(batch.Records)
					}
				}
				t := NewTable(s)
				t.Merge(op.Take().Table)
				t.Seal()
				var state []byte
				for row := range t.Rows {
					for m := range measures {
						state = row.AppendState(state[:0], m)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
	run("users", usual)
	for _, m := range further {
		run(m.Kind.String(), append(usual[:2:2], m))
	}
	run("all", append(usual[:2:2], further...))
}

// BenchmarkTopK measures the parts of a top list of countries: to count a block of events of 4,000
// cells, to report a cell, and to write its state.
func BenchmarkTopK(b *testing.B) {
	const cells, events = 4000, 1 << 17
	r := rand.New(rand.NewPCG(1, 4))
	zipf := rand.NewZipf(r, 1.1, 4, 999)
	m := &Measure{Name: "countries", Kind: TopK, Path: "country", K: 10}
	var in [events / blockSize]topIntake
	var of [events]uint32
	for i := range of {
		country := r.IntN(32) % (4 << (3 * r.IntN(2)))
		k := &in[i/blockSize]
		k.text = append(k.text, 'A'+byte(country%26), 'Z'-byte(country*7%26))
		k.ends[i%blockSize] = len(k.text)
		of[i] = uint32(i/(events/4)*1000) + uint32(zipf.Uint64())
	}
	t := TopK.tally(m).(*topTally)
	fill := func() {
		t.reset()
		t.grow(cells)
		for i := range in {
			in[i].add(t, of[i*blockSize:][:blockSize])
		}
	}
	c := TopK.column(m)
	c.grow(cells)
	report := func() {
		c.reset()
		c.grow(cells)
		for i := range uint32(cells) {
			t.report(i, 7, c, i)
		}
	}
	var state []byte
	for _, part := range []struct {
		name string
		do   func()
	}{{"count", fill}, {"report", report}, {"state", func() {
		for i := range uint32(cells) {
			state = c.appendState(state[:0], i)
		}
	}}} {
		b.Run(part.name, func(b *testing.B) {
			fill()
			report()
			for b.Loop() {
				part.do()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}
