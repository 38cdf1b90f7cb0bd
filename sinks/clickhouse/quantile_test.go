package clickhouse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/sketches/histogram"
	"weir/window"
)

// TestQuantile: what rollups make of histograms, from the states of slots and from those of
// windows, is to the byte what package window makes; views show the quantiles that package
// histogram finds, within the stated error of the truth, from the live tail, from the
// rollup, and after later events have made them fall; weirQuantile finds those of several
// windows and groups; and a bucket that was changed by hand is found.
func TestQuantile(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Chunk = 256
	j.Spec.Measures = []window.Measure{{Name: "latency", Kind: window.Quantile, Path: "ms", Optional: true, Error: 0.01}}
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	m, spec := newMeasure(s.layout.Spec.Measures[0], 0), s.layout.Spec
	op := operator(t, spec, 0)
	r := rand.New(rand.NewPCG(3, 8))
	type cell struct {
		page  string
		start int64
	}
	layout := histogram.NewLayout(6)
	states, truth := map[cell][]byte{}, map[cell]*histogram.Pool{}
	all := new(histogram.Pool)
	all.Grow(1)
	n := int64(0)
	send := func(events int, draw func() float64) {
		t.Helper()
		for i := range events {
			ts, page, ms := int64(noon)+r.Int64N(3)*60_000, fmt.Sprint("/", r.IntN(2)), draw()
			observe(t, op, 0, n, event.Time(ts), fmt.Sprintf(`{"event_id":"e%d","ts":%d,"page":"%s","ms":%v}`, n, ts, page, ms))
			n++
			all.Add(0, layout.Of(ms))
			for _, step := range []int64{60, 3600} {
				at := cell{page, ts / 1000}
				at.start = step<<40 | (at.start - at.start%step)
				if truth[at] == nil {
					truth[at] = new(histogram.Pool)
					truth[at].Grow(1)
				}
				truth[at].Add(0, layout.Of(ms))
			}
			if i%700 != 699 && i != events-1 {
				continue
			}
			changes := op.Take() // only what has changed
			changes.Table.Seal()
			for row := range changes.Table.Rows {
				at := cell{string(row.Group(nil)[0]), int64(row.Window()) / 1000}
				merged, err := m.Measure.Merge(states[at], row.AppendState(nil, 0))
				if err != nil {
					t.Fatal(err)
				}
				states[at] = merged
			}
			write(t, s, changes)
		}
	}
	same := func(table string, step int64) {
		t.Helper()
		of := map[cell][][]byte{}
		for at, state := range states {
			at.start -= at.start % step
			of[at] = append(of[at], state)
		}
		rows := read(t, c, "SELECT page, toInt64(toUnixTimestamp(window_start)), hex("+m.Bytes("maxMap(latency_state)")+"), "+m.Rank(m.Number("maxMap(latency_state)"))+
			" FROM "+c.name(table)+" GROUP BY page, window_start ORDER BY ALL")
		if len(rows) != len(of) {
			t.Errorf("%s has %d rows, want %d", table, len(rows), len(of))
		}
		for at, states := range of {
			total, err := m.Add(states...)
			if err != nil {
				t.Fatal(err)
			}
			number, err := m.Measure.Number(total)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("('%s',%d,'%X',%d)", at.page, at.start, total, number)
			if !strings.Contains(strings.Join(rows, "\n"), want) {
				t.Errorf("%s has no row %.200s", table, want)
			}
		}
	}
	close := func(got string, want float64) bool {
		f, err := strconv.ParseFloat(got, 64)
		return err == nil && math.Abs(f-want) <= 1e-12*math.Abs(want)
	}
	levels := []float64{0.5, 0.9, 0.95, 0.99}
	shows := func(view string, step int64) {
		t.Helper()
		rows := read(t, c, "SELECT page, toInt64(toUnixTimestamp(window_start)), latency_p50, latency_p90, latency_p95, latency_p99 FROM "+c.name(view)+" WHERE page != '/none' ORDER BY ALL")
		if want := map[int64]int{60: 6, 3600: 2}[step]; len(rows) != want {
			t.Errorf("%s has %d rows, want %d", view, len(rows), want)
		}
		for _, row := range rows {
			cells := strings.Split(strings.Trim(row, "()"), ",")
			start, _ := strconv.ParseInt(cells[1], 10, 64)
			counts := truth[cell{strings.Trim(cells[0], "'"), step<<40 | start}].Append(nil, 0)
			for i, q := range levels {
				if want, _ := counts.Quantile(q); !close(cells[2+i], want) {
					t.Errorf("%s: %s: quantile %v is %s, want %v", view, row, q, cells[2+i], want)
				}
			}
		}
	}
	lognormal := func() float64 { return math.Exp(r.NormFloat64()*1.5 + 5) }
	send(4000, lognormal)
	observe(t, op, 0, n, event.Time(noon), fmt.Sprintf(`{"event_id":"e%d","ts":%d,"page":"/none"}`, n, int64(noon)))
	n++
	write(t, s, op.Take())
	shows("clicks_1m", 60)
	shows("clicks_1h", 3600)
	roll(t, s, true)
	shows("clicks_1m", 60)
	shows("clicks_1h", 3600)
	states[cell{"/none", int64(noon) / 1000}] = nil
	same("clicks_1m_rollup", 60)
	same("clicks_1h_rollup", 3600)
	before := strings.Split(strings.Trim(one(t, c, "SELECT latency_p99, latency_p50 FROM "+c.name("clicks_1h")+" WHERE page = '/0'"), "()"), ",")
	send(3000, func() float64 { return float64(r.IntN(3)-2) / 8 }) // quantiles fall
	for range 2 {
		shows("clicks_1m", 60)
		shows("clicks_1h", 3600)
		roll(t, s, true)
	}
	same("clicks_1m_rollup", 60)
	same("clicks_1h_rollup", 3600)
	if after := one(t, c, "SELECT latency_p99 < "+before[0]+", latency_p50 < "+before[1]+" FROM "+c.name("clicks_1h")+" WHERE page = '/0'"); after != "(1,1)" {
		t.Errorf("quantiles do not fall: before %s, after %s", before, after)
	}
	if got := one(t, c, "SELECT DISTINCT toTypeName(latency_p50), latency_p99 FROM "+c.name("clicks_1h")+" WHERE page = '/none'"); got != "('Nullable(Float64)',NULL)" {
		t.Errorf("without numbers the view has %s", got)
	}
	// Other readings of the chunks, as of a log that has lost records, with as many events: the
	// greater of two histograms stays, in the rollup of before and in the one that is made now.
	for range 3 {
		op := operator(t, spec, 0)
		for i := range n {
			observe(t, op, 0, i, event.Time(int64(noon)+i%3*60_000), fmt.Sprintf(`{"event_id":"e%d","ts":%d,"page":"/again","ms":%v}`, i, int64(noon)+i%3*60_000, 1+r.IntN(9)))
		}
		changes := op.Take()
		changes.Table.Seal()
		for row := range changes.Table.Rows {
			at := cell{"/again", int64(row.Window()) / 1000}
			merged, err := m.Measure.Merge(states[at], row.AppendState(nil, 0))
			if err != nil {
				t.Fatal(err)
			}
			states[at] = merged
		}
		write(t, s, changes)
		roll(t, s, true)
	}
	same("clicks_1m_rollup", 60)
	same("clicks_1h_rollup", 3600)
	(&backend{c: c}).exec(t, "DELETE FROM "+c.name("clicks_state")+" WHERE page = '/again'")
	for _, table := range []string{"clicks_1m_rollup", "clicks_1h_rollup"} {
		(&backend{c: c}).exec(t, "DELETE FROM "+c.name(table)+" WHERE page = '/again'")
	}
	counts := all.Append(nil, 0)
	for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.999, 1} {
		want, _ := counts.Quantile(q)
		for name, table := range map[string]string{"latency_state": "clicks_1m_rollup", "latency": "clicks_state"} {
			got := one(t, c, fmt.Sprintf("SELECT weirQuantile(state, %v) FROM (SELECT maxMap(%s) AS state FROM %s GROUP BY page, window_start)", q, name, c.name(table)))
			if !close(strings.Trim(got, "()"), want) {
				t.Errorf("weirQuantile of %s: quantile %v is %s, want %v", table, q, got, want)
			}
		}
	}
	if got := one(t, c, "SELECT weirQuantile(latency_state, 0.5) FROM "+c.name("clicks_1m_rollup")+" WHERE page = '/none'"); got != "(NULL)" {
		t.Errorf("weirQuantile of nothing is %s", got)
	}
	for _, level := range []string{"95", "1.01", "-0.01", "nan"} {
		err := c.query(t.Context(), "ask", "SELECT weirQuantile(latency_state, "+level+") FROM "+c.name("clicks_1m_rollup"), func(func(...any) error) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "the level of weirQuantile has to be 0 to 1") {
			t.Errorf("weirQuantile at level %s: %v", level, err)
		}
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	(&backend{c: c}).exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, latency_state) SELECT '/0', '', window_start, map(mapKeys(latency_state)[1], (toUInt64(1000000), mapValues(latency_state)[1].2)) FROM "+
		c.name("clicks_1h_rollup")+" WHERE page = '/0' LIMIT 1")
	if got := findings(t, s); len(got) != 1 || got[0].Measure != "latency" || !strings.Contains(got[0].Of.Text(got[0].Expected)+got[0].Of.Text(got[0].Found), " events") {
		t.Errorf("changed by hand: %v", got)
	}
}

// TestQuantileOfTwoErrors: weirQuantile adds up states of measures with two errors, as those of two
// versions of a job. Its answer is within the greater one.
func TestQuantileOfTwoErrors(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	j := clicks()
	j.Rollups = j.Rollups[:1]
	const rough = 0.1
	j.Spec.Measures = []window.Measure{{Name: "fine", Kind: window.Quantile, Path: "ms", Error: 0.01}, {Name: "rough", Kind: window.Quantile, Path: "ms", Error: rough}}
	s := unasked(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	for i := range int64(100) {
		observe(t, op, 0, i, noon, fmt.Sprintf(`{"ts":%d,"page":"/","ms":%d}`, int64(noon), i-20))
	}
	write(t, s, op.Take())
	roll(t, s, true)
	for _, q := range []float64{0, 0.1, 0.2, 0.5, 0.75, 1} {
		want := math.Min(100*q, 99) - 20 // each number is there twice
		got := one(t, c, fmt.Sprintf("SELECT weirQuantile(arrayJoin([fine_state, rough_state]), %v) FROM %s", q, c.name("clicks_1m_rollup")))
		f, err := strconv.ParseFloat(strings.Trim(got, "()"), 64)
		if err != nil || math.Abs(f-want) > rough*math.Abs(want) {
			t.Errorf("quantile %v is %s, want %v", q, got, want)
		}
	}
}

// TestBucketValue: SQL and package histogram give every bucket the same value, at both ends
// of the range too.
func TestBucketValue(t *testing.T) {
	c := open(t)
	r := rand.New(rand.NewPCG(2, 2))
	for _, scale := range []int{0, 1, 5, 6, 9, 10} {
		layout := histogram.NewLayout(scale)
		for _, v := range []float64{0, 1, -1, 2, math.MaxFloat64, -math.MaxFloat64, 0x1p-1022, -0x1p-1021, math.Exp(r.NormFloat64() * 100), -math.Exp(r.NormFloat64() * 100)} {
			b := layout.Of(v)
			got := one(t, c, fmt.Sprintf("SELECT %s FROM (SELECT toUInt32(%d) AS b)", bucketValue, b))
			f, err := strconv.ParseFloat(strings.Trim(got, "()"), 64)
			if want := b.Value(); err != nil || math.Abs(f-want) > 1e-12*math.Abs(want) {
				t.Errorf("scale %d, %v: SQL says %s, want %v", scale, v, got, want)
			}
		}
	}
}
