package window_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/event"
	"weir/measures"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	geosketch "weir/sketches/geo"
	. "weir/window"
)

// clicks returns a small spec with every feature on.
func clicks() *Spec {
	s := &Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
		Window: 60_000, Lateness: 3_600_000, Skew: 600_000, Chunk: 64, MaxGroups: 5,
		By: []Dimension{{Name: "page", Path: "page"}, {Name: "country", Path: "geo.country", Default: "??", HasDefault: true}},
		Measures: []Measure{
			{Name: "users", Kind: hll.Kind, Path: "user"},
			{Name: "active", Kind: bitmap.Kind, Path: "user", Optional: true},
			{Name: "seen", Kind: bloom.Kind, Path: "id", Capacity: 1000, Error: 0.01},
			{Name: "places", Kind: geo.Kind, Path: "user", Optional: true, Lon: "lon", Lat: "lat"},
			{Name: "east", Kind: extreme.Max, Path: "lon", Optional: true},
			{Name: "west", Kind: extreme.Min, Path: "lon", Optional: true},
			{Name: "way", Kind: sum.Sum, Path: "lon", Optional: true, Scale: 6},
			{Name: "middle", Kind: sum.Avg, Path: "lat", Optional: true, Scale: 6},
			{Name: "people", Kind: set.Kind, Path: "user"},
			{Name: "earliest", Kind: ordered.First, Path: "id"},
			{Name: "latest", Kind: ordered.Last, Path: "lon", Optional: true},
			{Name: "often", Kind: topk.Kind, Path: "user", Optional: true, K: 3},
			{Name: "far", Kind: quantile.Kind, Path: "lon", Optional: true, Error: 0.05},
		},
		Where:  []Condition{{Path: "action", In: []string{"view", "click"}}},
		Dedupe: &Dedupe{Path: "id", Error: 0.0001},
	}
	for _, k := range measures.All {
		if !slices.ContainsFunc(s.Measures, func(m Measure) bool { return m.Kind == k.Kind }) { // one that is new
			s.Measures = append(s.Measures, Measure{Name: "any_" + k.Name, Kind: k.Kind, Path: "user", Optional: true})
		}
	}
	return s
}

// variant returns clicks with one of the forms of deduplication, of limits and of times.
func variant(seed uint64) *Spec {
	s := clicks()
	if seed%2 == 1 {
		s.Dedupe = &Dedupe{Path: "id", Exact: true}
	}
	if seed%5 == 4 {
		s.TimeField, s.TimeUnit = "", event.RecordTime
	}
	switch seed % 4 {
	case 1:
		s.Throttle = &Throttle{Path: "user", Limit: 1, Per: 300_000}
	case 2:
		s.Throttle = &Throttle{Path: "user", Limit: 1, Per: 300_000, Funnel: true, Burst: 1}
	case 3:
		s.Dedupe, s.Throttle = nil, &Throttle{Path: "user", Limit: 2, Per: 600_000}
	}
	return s
}

// logOf makes n records, with gaps between them, so that every outcome and every
// branch of the decoder occurs.
func logOf(r *rand.Rand, n int) []event.Record {
	var log []event.Record
	now := event.Time(1_763_600_000_000)
	off := int64(0)
	for i := range n {
		off += 1
		if r.IntN(10) == 0 {
			off += r.Int64N(150) // a gap, sometimes over a whole chunk
		}
		now += event.Time(r.IntN(3000))
		if r.IntN(40) == 0 {
			// A batch that cannot be read, sometimes over a whole chunk.
			for n := 1 + r.IntN(100); n > 0; n-- {
				log = append(log, event.Record{Offset: off, Time: now, Value: []byte(unreadable)})
				off++
			}
		}
		ts := now - event.Time(r.IntN(200_000))
		switch r.IntN(30) {
		case 0:
			ts = now - 4_000_000 // late
		case 1:
			ts = now + 700_000 // future
		case 2, 3:
			ts = now + 500_000 // of a fast clock
		}
		id := i
		if r.IntN(8) == 0 {
			id = max(0, i-r.IntN(100)) // a repeat
		}
		action := []string{"view", "click", "buy"}[r.IntN(3)]
		country := []string{"", `,"geo":{"country":"DE"}`, `,"geo":{"country":"FR"}`, `,"geo":{"country":null}`}[r.IntN(4)]
		doc := fmt.Sprintf(`{"id":"e%d","ts":%d,"user":%d,"page":"/p/%d","action":"%s","lon":%f,"lat":%f%s}`,
			id, ts, r.IntN(50), r.IntN(7), action, r.Float64()*360-180, r.Float64()*160-80, country)
		switch r.IntN(25) {
		case 0:
			doc = doc[:r.IntN(len(doc))]
		case 1:
			doc = strings.Replace(doc, `"page"`, `"pge"`, 1)
		case 2:
			doc = strings.Replace(doc, `"user":`, `"user":-`, 1)
		case 3: // without a position
			doc = strings.NewReplacer(`"lon"`, `"east"`, `"lat"`, `"north"`).Replace(doc)
		case 4:
			doc = strings.NewReplacer(`"lon":`, `"lon":null,"east":`, `"lat"`, `"north"`).Replace(doc)
		case 5: // with half of one
			doc = strings.Replace(doc, `"lon":`, `"lon":null,"east":`, 1)
		case 6:
			doc = strings.Replace(doc, `"lat"`, `"north"`, 1)
		}
		log = append(log, event.Record{Offset: off, Time: now, Value: []byte(doc)})
	}
	return log
}

// unreadable marks records of a log that cannot be read. Those with consecutive
// offsets are one batch.
const unreadable = "the batch cannot be read"

// pieces returns records [from, to) of a log in as few batches as possible. A batch
// that cannot be read is not cut, so it may end beyond to.
func pieces(partition int32, log []event.Record, from, to int64) []event.Batch {
	bs := []event.Batch{{Partition: partition, First: from, Next: from}}
	last := &bs[0]
	for _, rec := range log {
		bad := string(rec.Value) == unreadable
		if rec.Offset < from || rec.Offset >= to && (!bad || last.Unreadable == "" || rec.Offset > last.Next) {
			continue
		}
		switch {
		case !bad && last.Unreadable == "":
		case bad && last.Unreadable != "" && rec.Offset == last.Next:
		default:
			b := event.Batch{Partition: partition, First: last.Next, Next: last.Next}
			if bad {
				last.Next = rec.Offset
				b = event.Batch{Partition: partition, First: rec.Offset, Unreadable: unreadable, Time: rec.Time}
			}
			bs = append(bs, b)
			last = &bs[len(bs)-1]
		}
		if !bad {
			last.Records = append(last.Records, rec)
		}
		last.Next = rec.Offset + 1
	}
	if last.Next < to {
		if last.Unreadable != "" {
			bs = append(bs, event.Batch{Partition: partition, First: last.Next})
			last = &bs[len(bs)-1]
		}
		last.Next = to
	}
	return bs
}

// batches cuts records [from, to) of a log at random.
func batches(r *rand.Rand, partition int32, log []event.Record, from, to int64) []event.Batch {
	var bs []event.Batch
	for next := from; next < to; next = bs[len(bs)-1].Next {
		bs = append(bs, pieces(partition, log, next, min(to, next+1+r.Int64N(60)))...)
	}
	return bs
}

func newOperator(t testing.TB, s *Spec) *Operator {
	t.Helper()
	op, err := NewOperator(s)
	if err != nil {
		t.Fatal(err)
	}
	if s.Schema == looseSchema {
		op.Learn("", loose(s.Format))
	}
	return op
}

func observe(t testing.TB, op *Operator, bs ...event.Batch) {
	t.Helper()
	for i := range bs {
		if err := op.Observe(&bs[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// render writes changes as text: what a sink would store, to the byte.
func render(c *Changes) string {
	var b strings.Builder
	c.Merge(&Changes{Table: NewTable(c.Table.Spec())}) // sorts
	c.Table.Seal()
	s := c.Table.Spec()
	for r := range c.Table.Rows {
		fmt.Fprintf(&b, "%d", r.Window())
		for _, g := range r.Group(nil) {
			fmt.Fprintf(&b, " %q", g)
		}
		for slot, n := range r.Hits {
			fmt.Fprintf(&b, " %d/%d/%d:%d", slot.Epoch(), slot.Partition(), slot.Chunk(), n)
		}
		for m := range s.Measures {
			if s.Measures[m].Kind != geo.Kind {
				fmt.Fprintf(&b, " %s=%08x", s.Measures[m].Name, crc32.ChecksumIEEE(r.AppendState(nil, m)))
			}
		}
		b.WriteByte('\n')
	}
	for m := range s.Measures {
		if p := c.Table.Positions(m); p != nil {
			p.Each(func(w int64, member []byte, st geosketch.Stamp, score uint64) bool {
				fmt.Fprintf(&b, "place %d %q %d %x %d %d\n", w, member, st.Time, st.Slot, st.Offset, score)
				return true
			})
		}
	}
	for _, l := range c.Lines {
		fmt.Fprintf(&b, "line %d/%d/%d first %d next %d", l.Epoch, l.Partition, l.Chunk, l.First, l.Next)
		for f, n := range l.Outcomes {
			if n > 0 {
				fmt.Fprintf(&b, " %s %d", Outcome(f), n)
			}
		}
		if l.Events != (Events{}) {
			fmt.Fprintf(&b, " of %d events %v", l.Events.All, l.Events.By)
		}
		fmt.Fprintf(&b, " watermark %d\n", l.Watermark)
	}
	for _, d := range c.Dead {
		fmt.Fprintf(&b, "dead %d/%d/%d %s (%s) %d %q\n", d.Epoch, d.Partition, d.Offset, d.Outcome, d.Reason, d.Time, d.Payload)
	}
	for _, p := range c.Next {
		fmt.Fprintf(&b, "next %d %d\n", p.Partition, p.Offset)
	}
	return b.String()
}

// whole reads a log in one pass: the reference that other runs are compared with.
func whole(t testing.TB, s *Spec, logs map[int32][]event.Record, end int64) *Changes {
	op := newOperator(t, s)
	for _, p := range slices.Sorted(maps.Keys(logs)) {
		op.Start(Plan{Partition: p})
		observe(t, op, pieces(p, logs[p], 0, end)...)
	}
	return op.Take()
}

// TestPurity: however the log is cut into batches, flushed, spread over
// workers, read twice from a chunk's beginning, and merged in whatever order,
// the same is stored.
func TestPurity(t *testing.T) {
	restored := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := variant(seed)
		if seed >= 20 { // states are saved
			s.Dedupe, s.Throttle, s.SaveAfter = nil, nil, int64(1+seed%3*10)
		}
		logs := map[int32][]event.Record{}
		end := int64(0)
		for p := range int32(3) {
			logs[p] = logOf(r, 200+r.IntN(200))
			end = max(end, logs[p][len(logs[p])-1].Offset+1)
		}
		restored += pure(t, r, s, logs, end, fmt.Sprintf("seed %d", seed))
	}
	if restored < 50 {
		t.Errorf("%d owners went on with a saved state, want more", restored)
	}
}

// TestReuseMerged: merged changes stay as they are while an operator goes on with a table
// that was merged into them.
func TestReuseMerged(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := variant(seed)
		var ops [4]*Operator // two pairs
		for i := range ops {
			ops[i] = newOperator(t, s)
			ops[i].Start(Plan{Partition: int32(i % 2)})
		}
		logs := [...][]event.Record{logOf(r, 3000), logOf(r, 3000)}
		end := min(logs[0][2999].Offset, logs[1][2999].Offset) + 1
		var got []*Changes
		var want []string
		for from := int64(0); from < end; from += end / 5 {
			for i, op := range ops {
				observe(t, op, pieces(int32(i%2), logs[i%2], from, min(end, from+end/5))...)
			}
			into := ops[0].Take()
			taken := ops[1].Take()
			into.Merge(taken)
			ops[1].Reuse(taken.Table)
			merged := ops[2].Take()
			merged.Merge(ops[3].Take())
			got, want = append(got, into), append(want, render(merged))
		}
		for i, c := range got {
			if text := render(c); text != want[i] {
				t.Fatalf("seed %d, flush %d: %s", seed, i, diff(want[i], text))
			}
		}
	}
}

// pure reads logs in one pass and in pieces, and compares what is stored. It returns how many owners went on with a saved state.
func pure(t *testing.T, r *rand.Rand, s *Spec, logs map[int32][]event.Record, end int64, name string) (restored int) {
	t.Helper()
	one := whole(t, s, logs, end)
	want, of := render(one), map[string]Row{}
	for row := range one.Table.Rows {
		of[fmt.Sprint(row.Window(), row.Group(nil))] = row
	}

	var all []*Changes
	for p := range int32(3) {
		committed := int64(-1)
		known := (*Known)(nil)
		for committed < end {
			// One owner after the other; each dies somewhere.
			op := newOperator(t, s)
			plan, err := s.Resume(event.Assignment{Partition: p, Committed: committed, LogEnd: end}, ledgerOf(p, known), Policy{})
			if err != nil {
				t.Fatal(err)
			}
			op.Start(plan)
			if plan.Saved != "" {
				restored++
			}
			die := plan.Start + 1 + r.Int64N(end)
			if r.IntN(3) == 0 || die > end {
				die = end
			}
			for _, b := range batches(r, p, logs[p], plan.Warm, die) {
				observe(t, op, b)
				if r.IntN(4) == 0 {
					c := op.Take()
					for _, n := range c.Next {
						// The flush is acknowledged: what it wrote is durable.
						committed = n.Offset
						known = &Known{Next: n.Offset}
						for _, l := range c.Lines {
							known.Saved = max(known.Saved, l.Saved)
						}
					}
					all = append(all, c)
				}
			}
			if die == end {
				all = append(all, op.Take())
				committed = end
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	got := &Changes{Table: NewTable(s)}
	for _, c := range all {
		if got.Merge(c); r.IntN(8) == 0 {
			got.Table.Seal()
			numbersOf(t, name, got.Table, of)
		}
	}
	if g := render(got); g != want {
		t.Fatalf("%s: stored values differ from those of one pass\n%s", name, diff(want, g))
	}
	return restored
}

// numbersOf checks that a whole row that counts as many events as the log has gives the
// numbers of the log, and one that counts less no greater ones.
func numbersOf(t *testing.T, name string, table *Table, of map[string]Row) {
	t.Helper()
	for row := range table.Rows {
		key := fmt.Sprint(row.Window(), row.Group(nil))
		want := of[key]
		for i, m := range table.Spec().Measures {
			if m.Kind.ByMember || m.Kind.Additive || !row.Whole() {
				continue
			}
			if got, most := row.Number(i), want.Number(i); got > most || got < most && row.Sum() == want.Sum() {
				t.Fatalf("%s: %s of a whole row of %s with %d of %d events is %d, that of the log %d", name, m.Name, key, row.Sum(), want.Sum(), got, most)
			}
		}
	}
}

// TestNaiveTwin compares the operator with a few maps.
func TestNaiveTwin(t *testing.T) {
	var limitedBy [4]uint64 // by variant
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := variant(seed)
		log := logOf(r, 600)
		end := log[len(log)-1].Offset + 1
		c := whole(t, s, map[int32][]event.Record{0: log}, end)
		c.Table.Seal()

		type key struct {
			w             event.Time
			page, country string
		}
		hits := map[key]map[int64]uint64{}
		type place struct {
			w      event.Time
			member string
		}
		type seenAt struct {
			time  event.Time
			off   int64
			score uint64
		}
		places := map[place]seenAt{}
		without := 0
		var outcomes [Outcomes]uint64
		seen := map[int64]map[string]bool{}
		groups := map[int64]map[string]bool{}
		limiters := map[int64]naiveLimiter{} // by the chunk whose events they judge
		watermarks := map[int64]event.Time{} // by chunk
		decoded := 0
		sc, err := event.NewScanner([]string{"ts", "page", "geo.country", "user", "id", "action", "lon", "lat"})
		if err != nil {
			t.Fatal(err)
		}
		v := make([]event.Value, 8)
		for _, rec := range log {
			chunk := rec.Offset / s.Chunk
			if seen[chunk] == nil {
				seen[chunk], groups[chunk] = map[string]bool{}, map[string]bool{}
			}
			if sc.Scan(rec.Value, v) != nil {
				outcomes[Malformed]++
				continue
			}
			if a := string(v[5].Bytes); a != "view" && a != "click" {
				outcomes[Filtered]++
				continue
			}
			ts, ok := v[0].Time(event.Millis)
			if s.TimeUnit == event.RecordTime {
				ts, ok = rec.Time, true
			}
			if _, isUint := v[3].Uint32(); !ok || v[1].Type != event.String || !isUint {
				outcomes[Malformed]++
				continue
			}
			lon, isLon := v[6].Float()
			lat, isLat := v[7].Float()
			if isLon != isLat { // the log has only numbers, null and missing fields here
				outcomes[Malformed]++
				continue
			}
			if ts < rec.Time-s.Lateness {
				outcomes[Late]++
				continue
			}
			if ts > rec.Time+s.Skew {
				outcomes[Future]++
				continue
			}
			id := string(v[4].Bytes)
			here, before := seen[chunk][id], seen[chunk-1][id]
			if s.Dedupe == nil {
				here, before = false, false
			}
			seen[chunk][id] = true
			limited := false
			if s.Throttle != nil && !here {
				user, at := string(v[3].Bytes), min(ts, rec.Time)
				limiters[chunk+1] = limiters[chunk+1].ask(s.Throttle, user, at, new(bool))
				if !before {
					limiters[chunk] = limiters[chunk].ask(s.Throttle, user, at, &limited)
				}
			}
			switch {
			case here || before:
				outcomes[Duplicate]++
				continue
			case limited:
				outcomes[Throttled]++
				continue
			}
			outcomes[Counted]++
			decoded++
			watermarks[chunk] = max(watermarks[chunk], min(ts, rec.Time))
			k := key{ts - ts%s.Window, string(v[1].Bytes), "??"}
			if v[2].Type == event.String {
				k.country = string(v[2].Bytes)
			}
			if g := k.page + "\x00" + k.country; !groups[chunk][g] {
				if len(groups[chunk]) < s.MaxGroups {
					groups[chunk][g] = true
				} else {
					k.page, k.country = Other, Other
				}
			}
			if hits[k] == nil {
				hits[k] = map[int64]uint64{}
			}
			hits[k][chunk]++
			if !isLon {
				without++
				continue
			}
			score, _ := geosketch.Encode(lon, lat)
			at, is := place{k.w, string(v[3].Bytes)}, seenAt{ts, rec.Offset, score}
			if was, ok := places[at]; !ok || was.time < is.time || was.time == is.time && was.off < is.off {
				places[at] = is
			}
		}
		outcomes[Gap] = uint64(end) - uint64(len(log))
		var all [Outcomes]uint64
		for _, l := range c.Lines {
			for f, n := range l.Outcomes {
				all[f] += n
			}
			if l.Watermark != watermarks[l.Chunk] {
				t.Fatalf("seed %d, chunk %d: watermark %d, want %d", seed, l.Chunk, l.Watermark, watermarks[l.Chunk])
			}
		}
		limitedBy[seed%4] += outcomes[Throttled]
		if all != outcomes {
			t.Fatalf("seed %d: outcomes %v, want %v", seed, all, outcomes)
		}
		if c.Table.Len() != len(hits) {
			t.Fatalf("seed %d: %d rows, want %d", seed, c.Table.Len(), len(hits))
		}
		for row := range c.Table.Rows {
			g := row.Group(nil)
			k := key{row.Window(), string(g[0]), string(g[1])}
			got := map[int64]uint64{}
			for slot, n := range row.Hits {
				got[slot.Chunk()] = n
			}
			if !maps.Equal(got, hits[k]) {
				t.Fatalf("seed %d: %v has hits %v, want %v", seed, k, got, hits[k])
			}
		}
		got := map[place]seenAt{}
		c.Table.Positions(3).Each(func(w int64, member []byte, st geosketch.Stamp, score uint64) bool {
			got[place{event.Time(w), string(member)}] = seenAt{event.Time(st.Time), st.Offset, score}
			return true
		})
		if !maps.Equal(got, places) {
			t.Fatalf("seed %d: positions %v, want %v", seed, got, places)
		}
		if decoded < 100 || without == 0 {
			t.Fatalf("seed %d: only %d events counted, %d of them without a position: the test tests nothing", seed, decoded, without)
		}
	}
	if l := limitedBy; l[0] != 0 || l[1] == 0 || l[2] == 0 || l[3] == 0 {
		t.Errorf("by variant, %v events are throttled", l)
	}
}

// TestDeadLetterCut: a dead letter holds the first 16 KiB of its record, a copy,
// and says how long the record was.
func TestDeadLetterCut(t *testing.T) {
	for _, size := range []int{0, 1, MaxPayload, MaxPayload + 1, 1 << 20} {
		value := bytes.Repeat([]byte("x"), size)
		op := newOperator(t, clicks())
		op.Start(Plan{})
		observe(t, op, event.Batch{Next: 1, Records: []event.Record{{Value: value}}})
		clear(value)
		d := op.Take().Dead
		if want := bytes.Repeat([]byte("x"), min(size, MaxPayload)); len(d) != 1 || !bytes.Equal(d[0].Payload, want) || d[0].Size != size {
			t.Errorf("a record of %d bytes: %d letters, want one of %d bytes that says %d", size, len(d), len(want), size)
		}
	}
}

func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	in := map[string]int{}
	for _, l := range w {
		in[l]++
	}
	for _, l := range g {
		in[l]--
	}
	n := 0
	for _, l := range slices.Sorted(maps.Keys(in)) {
		if c := in[l]; c != 0 && n < 20 {
			fmt.Fprintf(&b, "%+d %s\n", -c, l)
			n++
		}
	}
	return b.String()
}

// naiveLimiter has the times of the events of each key that were let through, on the
// key's clock, and its clock.
type naiveLimiter map[string][]event.Time

func (l naiveLimiter) ask(t *Throttle, key string, at event.Time, limited *bool) naiveLimiter {
	if l == nil {
		l = naiveLimiter{}
	}
	let, clock := l[key], l["clock of "+key]
	if len(clock) > 0 {
		at = max(at, clock[0])
	}
	l["clock of "+key] = []event.Time{at}
	if t.Funnel {
		// What is in the funnel, in periods per limit: it runs off with time.
		level, last := 0.0, event.Time(0)
		for _, passed := range let {
			level = max(0, level-float64(passed-last)*float64(t.Limit)/float64(t.Per)) + 1
			last = passed
		}
		level = max(0, level-float64(at-last)*float64(t.Limit)/float64(t.Per))
		*limited = level > float64(t.Burst)+1e-9
	} else {
		n := 0
		for _, passed := range let {
			if passed > at-t.Per {
				n++
			}
		}
		*limited = n >= t.Limit
	}
	if !*limited {
		l[key] = append(let, at)
	}
	return l
}

// TestRecordTimes: the time of a record is any int64 that a producer writes. Beyond all times of events
// an event is late, before them all it is future, also where lateness and skew beside it exceed an int64.
func TestRecordTimes(t *testing.T) {
	for at, want := range map[event.Time]Outcome{
		60_000: Counted, 61_000: Counted, 61_001: Late, 59_000: Counted, 58_999: Future,
		math.MaxInt64: Late, math.MaxInt64 - 1000: Late, math.MinInt64: Future, math.MinInt64 + 1000: Future, -1: Future,
	} {
		op := newOperator(t, &Spec{
			Job: "sales", Version: 1, TimeField: "ts", TimeUnit: event.Seconds, Window: 60_000, Chunk: 64, MaxGroups: 10, Lateness: 1000, Skew: 1000,
		})
		op.Start(Plan{})
		observe(t, op, event.Batch{Next: 1, Records: []event.Record{{Time: at, Value: []byte(`{"ts":60}`)}}})
		if got := op.Take().Lines[0].Outcomes; got[want] != 1 {
			t.Errorf("a record of %d: outcomes %v, want it %s", at, got, want)
		}
	}
}
