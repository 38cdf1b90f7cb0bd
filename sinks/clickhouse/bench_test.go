package clickhouse

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/measures/hll"
	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// pages returns the clicks job of the floors: hits and users by page.
func pages(keep time.Duration) schema.Job {
	return schema.Job{
		Topic: "clicks", Keep: keep, Rollups: []schema.Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: 24 * time.Hour}},
		Spec: &window.Spec{
			Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1 << 18, MaxGroups: 10_000,
			By:       []window.Dimension{{Name: "page", Path: "page"}},
			Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user_id"}},
		},
	}
}

// traffic makes events of Zipf pages by many users, over four partitions.
type traffic struct {
	op   *window.Operator
	r    *rand.Rand
	zipf *rand.Zipf
	next [4]int64
}

func newTraffic(b *testing.B, spec *window.Spec, pages uint64) *traffic {
	r := rand.New(rand.NewPCG(1, 2))
	return &traffic{op: operator(b, spec, 0, 1, 2, 3), r: r, zipf: rand.NewZipf(r, 1.1, 4, pages-1)}
}

// observe makes n events within the millisecond span after at.
func (f *traffic) observe(b *testing.B, at time.Time, span time.Duration, n int) {
	for p := range int32(4) {
		batch := event.Batch{Partition: p, First: f.next[p]}
		for range n / 4 {
			ts := at.UnixMilli() + f.r.Int64N(span.Milliseconds())
			doc := fmt.Appendf(nil, `{"ts":%d,"user_id":%d,"page":"/p/%d","country":"%d"}`, ts, f.r.IntN(2_000_000), f.zipf.Uint64(), 10+f.r.IntN(32))
			batch.Records = append(batch.Records, event.Record{Offset: f.next[p], Time: event.Time(ts), Value: doc})
			f.next[p]++
		}
		batch.Next = f.next[p]
		if err := f.op.Observe(&batch); err != nil {
			b.Fatal(err)
		}
	}
}

// flush writes what was observed and returns the number of rows.
func (f *traffic) flush(b *testing.B, s *Sink) int {
	c := f.op.Take()
	c.Table.Seal()
	if err := s.Write(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	n := c.Table.Len()
	f.op.Reuse(c.Table)
	return n
}

// ask times a query, reading every row.
func ask(b *testing.B, c *Client, sql string) (rows int, took time.Duration) {
	start := time.Now()
	err := c.Query(b.Context(), "ask", sql, func(scan func(...any) error) error { rows++; return nil })
	if err != nil {
		b.Fatal(err)
	}
	return rows, time.Since(start)
}

var floors = flag.Bool("floors", false, "benchmarks of views fail over their floors")

// best reports the least time, and with -floors fails if it is over the floor.
func best(b *testing.B, what string, least, floor time.Duration) {
	b.ReportMetric(float64(least.Microseconds())/1000, what)
	if *floors && floor > 0 && least > floor {
		b.Errorf("%s: %v is over the floor of %v", what, least, floor)
	}
}

// BenchmarkDay reads a day of 1,440 windows × 200 pages through clicks_1m. It also
// measures how long it takes to make and to audit the day.
func BenchmarkDay(b *testing.B) {
	c := open(b)
	j := pages(400 * 24 * time.Hour)
	s := install(b, c, j)
	f := newTraffic(b, j.Spec, 200)
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
	for minute := range 1440 {
		at := day.Add(time.Duration(minute) * time.Minute)
		for p := range int32(4) { // every page in every window
			batch := event.Batch{Partition: p, First: f.next[p]}
			for i := range 50 {
				batch.Records = append(batch.Records, event.Record{Offset: f.next[p], Time: event.Time(at.UnixMilli()),
					Value: fmt.Appendf(nil, `{"ts":%d,"user_id":%d,"page":"/p/%d"}`, at.UnixMilli(), f.r.IntN(2_000_000), int(p)*50+i)})
				f.next[p]++
			}
			batch.Next = f.next[p]
			if err := f.op.Observe(&batch); err != nil {
				b.Fatal(err)
			}
		}
		f.observe(b, at, time.Minute, 2000)
		if minute%60 == 59 {
			f.flush(b, s)
		}
	}
	start := time.Now()
	if err := s.Rollup(b.Context(), true, 0); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s/rollup-of-the-day")
	// The live tail is empty when the round after that is done.
	if err := s.Rollup(b.Context(), false, 0); err != nil {
		b.Fatal(err)
	}
	b.Run("audit", func(b *testing.B) {
		engine := engineCPU()
		for b.Loop() {
			a := audit.New(audit.Job{Chunk: s.layout.Spec.Chunk}, audit.Scope{})
			err := s.Audit(b.Context(), a, nil)
			if found := slices.Collect(a.Findings); err != nil || len(found) > 0 || a.Looked().Windows < 288_000 {
				b.Fatalf("%d windows, %v, found %+v", a.Looked().Windows, err, found)
			}
		}
		b.ReportMetric((engineCPU()-engine).Seconds()/float64(b.N), "engine-s/op")
	})
	within := fmt.Sprintf("window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", day.Unix(), day.Unix()+86400)
	for name, sql := range map[string]string{
		"whole": "SELECT window_start, page, hits, users FROM " + c.Name("clicks_1m") + " WHERE " + within,
		"page":  "SELECT window_start, hits, users FROM " + c.Name("clicks_1m") + " WHERE page = '/p/17' AND " + within,
		"hours": "SELECT window_start, page, hits, users FROM " + c.Name("clicks_1h") + " WHERE " + within,
	} {
		b.Run(name, func(b *testing.B) {
			least := time.Hour
			for b.Loop() {
				rows, took := ask(b, c, sql)
				if want := map[string]int{"whole": 288_000, "page": 1440, "hours": 4800}[name]; rows != want {
					b.Fatalf("%d rows, want %d", rows, want)
				}
				least = min(least, took)
			}
			best(b, "ms-best", least, map[string]time.Duration{"whole": 80 * time.Millisecond}[name])
		})
	}
}

// BenchmarkLive reads the last 15 minutes of 1,000 pages through clicks_1m, and the open
// hour and the one before through clicks_1h, while traffic flows: a flush every second, a
// rollup every five, with the watermark of what is flushed. Open windows were rolled up
// last six minutes ago, as late as a job does it (tailTime).
// RATE is events a second, 10,000 by default.
func BenchmarkLive(b *testing.B) {
	rate := 10_000
	if v, err := strconv.Atoi(os.Getenv("RATE")); err == nil {
		rate = v
	}
	c := open(b)
	j := pages(7 * 24 * time.Hour)
	s := install(b, c, j)
	f := newTraffic(b, j.Spec, 1000)
	const minutes = 14
	for at := time.Now().Add(-minutes * time.Minute); at.Before(time.Now()); at = at.Add(10 * time.Second) {
		f.observe(b, at, 10*time.Second, min(rate, 2000)*10) // fewer events suffice for the past
		f.flush(b, s)
		if ago := time.Since(at); ago < tailTime {
			open := ago > tailTime-10*time.Second
			if err := s.Rollup(b.Context(), open, event.Time(at.Add(10*time.Second).UnixMilli())); err != nil {
				b.Fatal(err)
			}
		}
	}
	sql := "SELECT window_start, page, hits, users FROM " + c.Name("clicks_1m") + " WHERE window_start >= now() - INTERVAL 15 MINUTE"
	hour := "SELECT window_start, page, hits, users FROM " + c.Name("clicks_1h") + " WHERE window_start >= toStartOfHour(now()) - INTERVAL 1 HOUR"
	var all, flushes time.Duration
	least, leastHour, n := time.Hour, time.Hour, 0
	engine := engineCPU()
	start := time.Now()
	for second := range 20 {
		tick := time.Now()
		f.observe(b, tick, time.Second, rate)
		began := time.Now()
		f.flush(b, s)
		flushes += time.Since(began)
		if second%5 == 4 {
			if err := s.Rollup(b.Context(), false, event.Time(tick.Add(time.Second).UnixMilli())); err != nil {
				b.Fatal(err)
			}
		}
		rows, took := ask(b, c, sql)
		if rows < 10_000 {
			b.Fatalf("%d rows", rows)
		}
		open, tookHour := ask(b, c, hour)
		if open < 900 {
			b.Fatalf("%d rows of two hours", open)
		}
		if second >= 8 { // by then the past is rolled up
			all, n, least, leastHour = all+took, n+1, min(least, took), min(leastHour, tookHour)
		}
		time.Sleep(time.Until(tick.Add(time.Second)))
	}
	b.ReportMetric(float64(all.Microseconds())/1000/float64(n), "ms-mean")
	best(b, "ms-best", least, 100*time.Millisecond)
	best(b, "ms-best-hour", leastHour, 150*time.Millisecond)
	b.ReportMetric(float64(flushes.Microseconds())/1000/20, "ms/flush")
	b.ReportMetric(float64(engineCPU()-engine)/float64(time.Since(start)), "engine-cpus")
}

// engineCPU returns the CPU time that the engine, which is a child process, has used.
func engineCPU() (sum time.Duration) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(rest)
		if len(f) < 13 || f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		sum += time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
	}
	return sum
}
