package window_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/event"
	"weir/measures/geo"
	"weir/measures/ordered"
	geosketch "weir/sketches/geo"
	. "weir/window"
)

// eachClicks returns a variant of clicks for arrays of events.
func eachClicks(seed uint64) *Spec {
	s := variant(seed)
	s.Each, s.TimeField, s.TimeUnit = "batch.events", "ts", event.Millis
	if s.Dedupe != nil && !s.Dedupe.Exact {
		s.Dedupe = nil
	}
	return s
}

// room is how many offsets a record of eachLog has in the flat log.
const room = 8

// eachLog makes n records of up to seven events, and the log in which each of these events is a
// record of its own: event i of offset o is at offset o × room + i. A record whose events
// cannot be told apart is a malformed record there.
func eachLog(r *rand.Rand, n int) (log, flat []event.Record) {
	for _, rec := range logOf(r, n) {
		one := event.Record{Offset: rec.Offset * room, Time: rec.Time, Value: []byte("malformed")}
		if string(rec.Value) == unreadable {
			log, flat = append(log, rec), append(flat, one)
			continue
		}
		var docs []string
		for _, of := range logOf(r, r.IntN(6)) {
			doc := string(of.Value)
			switch {
			case doc == unreadable, len(docs) == room-1:
				continue
			case !json.Valid(of.Value): // cut: it would reach into the next one
				doc = []string{`{"ts":1,"ts":1}`, `[]`, `7`, `{"ts":tru}`, ``}[r.IntN(5)]
			}
			docs = append(docs, moved(doc, rec.Time))
		}
		value := `{"batch":{"events":[` + strings.Join(docs, " , ") + `]},"sentAt":1}`
		if strings.TrimSpace(strings.Join(docs, "")) == "" {
			value, docs = `{"batch":{"events":[ ]}}`, nil
		}
		if r.IntN(20) == 0 {
			value, docs = []string{"", `{"batch":{"events":{}}}`, `{"batch":[]}`, `[]`, value[:len(value)-1], strings.Replace(value, "[", "[}", 1)}[r.IntN(6)], []string{"malformed"}
		}
		log = append(log, event.Record{Offset: rec.Offset, Time: rec.Time, Value: []byte(value)})
		for i, doc := range docs {
			flat = append(flat, event.Record{Offset: one.Offset + int64(i), Time: rec.Time, Value: []byte(doc)})
		}
	}
	return log, flat
}

// moved gives a document of logOf a time near to that of its record: logOf begins at another
// time for each call.
func moved(doc string, now event.Time) string {
	_, rest, ok := strings.Cut(doc, `"ts":`)
	if !ok {
		return doc
	}
	var ts event.Time
	if _, err := fmt.Sscanf(rest, "%d", &ts); err != nil || ts < 1_000_000_000_000 {
		return doc
	}
	return strings.Replace(doc, fmt.Sprint(ts), fmt.Sprint(ts-1_763_600_000_000+now), 1)
}

// rows renders the rows of a table, and its positions, without the offsets in stamps.
func rows(c *Changes) string {
	var b strings.Builder
	c.Table.Seal()
	s := c.Table.Spec()
	for r := range c.Table.Rows {
		fmt.Fprintf(&b, "%d %q", r.Window(), r.Group(nil))
		for slot, n := range r.Hits {
			fmt.Fprintf(&b, " %d:%d", slot.Chunk(), n)
		}
		for m := range s.Measures {
			switch s.Measures[m].Kind {
			case geo.Kind:
			case ordered.First, ordered.Last:
				mark, value := ordered.Of(r, m)
				fmt.Fprintf(&b, " %s=%d %q", s.Measures[m].Name, mark.Time, value)
			default:
				fmt.Fprintf(&b, " %s=%x", s.Measures[m].Name, r.AppendState(nil, m))
			}
		}
		b.WriteByte('\n')
	}
	c.Table.Positions(3).Each(func(w int64, member []byte, st geosketch.Stamp, score uint64) bool {
		fmt.Fprintf(&b, "place %d %q %d %x %d\n", w, member, st.Time, st.Slot, score)
		return true
	})
	return b.String()
}

// TestEachIsFlat: arrays of events make the rows that the same events make one by one, with chunks
// of the same events; the events of a ledger line are the outcomes of these; and outcomes
// and dead letters of the records follow from them.
func TestEachIsFlat(t *testing.T) {
	var all, records [Gap]uint64
	partly := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 20))
		log, flat := eachLog(r, 300)
		s, plain := eachClicks(seed), eachClicks(seed)
		plain.Each, plain.Chunk = "", s.Chunk*room
		end := log[len(log)-1].Offset + 1
		got := whole(t, s, map[int32][]event.Record{0: log}, end)
		want := whole(t, plain, map[int32][]event.Record{0: flat}, end*room)
		if g, w := rows(got), rows(want); g != w {
			t.Fatalf("seed %d: the rows differ\n%s", seed, diff(w, g))
		}

		// What the records' outcomes must be, by those of the events.
		outcomes, letters, number := map[int64][]Outcome{}, map[int64][]DeadLetter{}, map[int64]int{}
		judge, err := NewJudge(plain)
		if err != nil {
			t.Fatal(err)
		}
		judge.Start(0, 0, 0)
		for _, b := range pieces(0, flat, 0, end*room) {
			if err := judge.Observe(&b, func(v *Verdict) error {
				outcomes[v.Offset/room] = append(outcomes[v.Offset/room], v.Outcome)
				number[v.Offset/room]++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range want.Dead {
			letters[d.Offset/room] = append(letters[d.Offset/room], d)
		}
		wanted := map[int64][Outcomes]uint64{}
		for _, rec := range log {
			of := outcomes[rec.Offset]
			is := Filtered
			switch {
			case slices.Contains(of, Counted):
				is = Counted
				if len(letters[rec.Offset]) > 0 {
					partly++
				}
			case len(of) > 0:
				is = of[0]
			}
			line := wanted[rec.Offset/s.Chunk]
			line[is]++
			wanted[rec.Offset/s.Chunk] = line
			records[is]++
		}
		lines := map[int64]*Line{}
		for i := range want.Lines {
			lines[want.Lines[i].Chunk] = &want.Lines[i]
		}
		for _, l := range got.Lines {
			o := wanted[l.Chunk]
			if o[Gap] = l.Outcomes[Gap]; l.Outcomes != o {
				t.Fatalf("seed %d, chunk %d: the records' outcomes are %v, want %v", seed, l.Chunk, l.Outcomes, o)
			}
			sum := uint64(0)
			for f, n := range l.Events.By {
				all[f] += n
				sum += n
				if one := lines[l.Chunk]; one.Outcomes[f] != n || one.Watermark != l.Watermark {
					t.Fatalf("seed %d, chunk %d: %v, want the outcomes %v as events", seed, l.Chunk, l, one.Outcomes)
				}
			}
			if sum != l.Events.All || !l.Even() || l.Hits() != l.Events.By[Counted] {
				t.Fatalf("seed %d, chunk %d: %v", seed, l.Chunk, l)
			}
		}
		whole := map[int64]string{}
		for _, rec := range log {
			whole[rec.Offset] = string(rec.Value)
		}
		for _, d := range got.Dead {
			of := letters[d.Offset]
			if whole[d.Offset] == unreadable {
				delete(letters, d.Offset)
				continue
			}
			if len(of) == 0 {
				t.Fatalf("seed %d: the dead letter %+v should not be", seed, d)
			}
			text, size, reason := string(of[0].Payload), of[0].Size, of[0].Reason
			if text == "malformed" { // the record as a whole
				text, size, reason = whole[d.Offset], len(whole[d.Offset]), d.Reason
			} else {
				reason += fmt.Sprintf(OfEvent+"%d of %d in the record", of[0].Offset%room+1, number[d.Offset])
				if len(of) > 1 {
					reason += fmt.Sprintf(", which has %d more that are late, future or malformed", len(of)-1)
				}
				if text == "" {
					reason = d.Reason // an empty record has another one
				}
			}
			if string(d.Payload) != text || d.Size != size || d.Reason != reason || d.Outcome != of[0].Outcome || d.Time != of[0].Time {
				t.Fatalf("seed %d: the dead letter %+v\nshould be %q, %s of %q", seed, d, text, of[0].Outcome, reason)
			}
			delete(letters, d.Offset)
		}
		for at := range letters {
			if whole[at] != unreadable { // of several that cannot be read, one letter stands for all
				t.Fatalf("seed %d: offset %d has no dead letter", seed, at)
			}
		}
		if got.Events.By != [Gap]uint64(want.Outcomes[:Gap]) || got.Events.All == 0 {
			t.Fatalf("seed %d: %v events in all, want %v", seed, got.Events, want.Outcomes)
		}
	}
	for _, f := range []Outcome{Counted, Late, Future, Malformed, Duplicate, Filtered, Throttled} {
		if all[f] < 100 || records[f] == 0 {
			t.Errorf("%d events and %d records are %s: the test tests little", all[f], records[f], f)
		}
	}
	if partly < 100 {
		t.Errorf("%d records are counted in part", partly)
	}
}

// TestEachPurity is TestPurity with arrays of events.
func TestEachPurity(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 21))
		logs, end := map[int32][]event.Record{}, int64(0)
		for p := range int32(3) {
			logs[p], _ = eachLog(r, 100+r.IntN(100))
			end = max(end, logs[p][len(logs[p])-1].Offset+1)
		}
		pure(t, r, eachClicks(seed), logs, end, fmt.Sprintf("seed %d", seed))
	}
}

// TestEachJudge: the verdicts of a judge are the events of the lines.
func TestEachJudge(t *testing.T) {
	for seed := range uint64(4) {
		testEachJudge(t, seed)
	}
}

func testEachJudge(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 22))
	s := eachClicks(seed)
	log, _ := eachLog(r, 600)
	end := log[len(log)-1].Offset + 1
	c := whole(t, s, map[int32][]event.Record{0: log}, end)
	j, err := NewJudge(s)
	if err != nil {
		t.Fatal(err)
	}
	j.Start(0, 0, 0)
	var by [Gap]uint64
	records, empty, last := map[int64]int{}, 0, int64(-1)
	for _, b := range batches(r, 0, log, 0, end) {
		if err := j.Observe(&b, func(v *Verdict) error {
			if v.Event > 0 && (v.Event > v.Events || v.Event != records[v.Offset]+1) || v.Offset < last || v.Records > 1 && v.Events > 0 {
				t.Fatalf("%+v", v)
			}
			if last = v.Offset; v.Outcome == Filtered && v.Events == 0 {
				empty++
				return nil
			}
			records[v.Offset]++
			by[v.Outcome] += uint64(v.Records)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if by != c.Events.By || empty == 0 || s.LooksBack() && by[Duplicate]+by[Throttled] == 0 {
		t.Errorf("seed %d: the judge has %v, the operator %v; %d empty records", seed, by, c.Events.By, empty)
	}
}

// TestEachDoesNotAllocate: an event of an array costs no allocation.
func TestEachDoesNotAllocate(t *testing.T) {
	s := eachClicks(0)
	s.Each, s.By = "e", append(s.By, Dimension{Name: "sent", Path: "record:sentAt"})
	s.Measures = slices.DeleteFunc(s.Measures, func(m Measure) bool { return m.Kind == geo.Kind })
	const now = event.Time(1_763_600_000_000)
	doc := fmt.Sprintf(`{"id":"a","ts":%d,"user":7,"page":"/","action":"view","lon":1.5,"lat":2}`, now)
	value := []byte(`{"e":[` + strings.Repeat(doc+",", 99) + doc + `],"sentAt":"x"}`)
	op := newOperator(t, s)
	op.Start(Plan{})
	next := int64(0)
	b := event.Batch{Records: []event.Record{{Time: now, Value: value}}}
	if n := testing.AllocsPerRun(50, func() {
		b.First, b.Next, b.Records[0].Offset = next, next+1, next
		next = (next + 1) % (s.Chunk - 1)
		if next == 0 {
			op.Start(Plan{})
		}
		if err := op.Observe(&b); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the last record of the run may begin again
		t.Errorf("%v allocations per record of 100 events, want none", n)
	}
	if c := op.Take(); c.Events.By[Counted] == 0 {
		t.Error("nothing was counted")
	}
}

// TestEachLine: the events and the records of a line add up.
func TestEachLine(t *testing.T) {
	if MaxEachChunk*event.MaxEvents >= 1<<31 {
		t.Error("a chunk may have more events than its counts hold")
	}
	if e := (&Line{Events: Events{All: 2, By: [Gap]uint64{1, 1}}, Outcomes: [Outcomes]uint64{Counted: 1}}); !e.Even() || e.Hits() != 1 {
		t.Error("a line that adds up")
	}
	for name, l := range map[string]*Line{
		"sum":             {Events: Events{All: 2, By: [Gap]uint64{1}}, Outcomes: [Outcomes]uint64{Counted: 1}},
		"fewer events":    {Events: Events{All: 1, By: [Gap]uint64{1}}, Outcomes: [Outcomes]uint64{Counted: 2}},
		"no counted one":  {Events: Events{All: 1, By: [Gap]uint64{Late: 1}}, Outcomes: [Outcomes]uint64{Counted: 1}},
		"no record":       {Events: Events{All: 1, By: [Gap]uint64{1}}, Outcomes: [Outcomes]uint64{Late: 1}},
		"without a total": {Events: Events{By: [Gap]uint64{1}}, Outcomes: [Outcomes]uint64{Counted: 1}},
	} {
		if l.Even() {
			t.Errorf("%s: %v adds up", name, l)
		}
	}
}
