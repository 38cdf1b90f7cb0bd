package window_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"weir/event"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/sum"
	"weir/measures/topk"
	. "weir/window"
)

func avroSpec() *Spec {
	s := pageSpec()
	s.Format = event.Avro
	s.Measures = append(s.Measures, Measure{Name: "top", Kind: topk.Kind, Path: "page", K: 5}, Measure{Name: "first", Kind: ordered.First, Path: "page"}, Measure{Name: "last", Kind: ordered.Last, Path: "user_id"}, Measure{Name: "sum", Kind: sum.Sum, Path: "user_id"})
	return s
}

// avroRecord is an event whose schema, of the id, has the fields ts, page and user_id; with an
// even id in the opposite order.
func avroRecord(offset int64, id uint32) event.Record {
	ts, user := 1_763_600_000_000+offset, offset%700
	page := fmt.Sprint("/p/", offset%10)
	b := binary.BigEndian.AppendUint32([]byte{0}, id)
	first, last := ts, user
	if id%2 == 0 {
		first, last = user, ts
	}
	b = binary.AppendVarint(b, first)
	b = append(binary.AppendVarint(b, int64(len(page))), page...)
	return event.Record{Offset: offset, Time: event.Time(ts), Value: binary.AppendVarint(b, last)}
}

func avroSchema(id event.SchemaID) *event.Schema {
	long := &event.AvroType{Kind: event.AvroLong}
	fields := []event.AvroField{{Name: "ts", Type: long}, {Name: "page", Type: &event.AvroType{Kind: event.AvroString}}, {Name: "user_id", Type: long}}
	if id.Name().Number%2 == 0 {
		fields[0].Name, fields[2].Name = "user_id", "ts"
	}
	return &event.Schema{Avro: &event.AvroType{Kind: event.AvroRecord, Fields: fields}}
}

// TestUnknownSchema: an operator that must wait for schemas in the middle of batches counts
// the same as one that knows them, also if meanwhile the bytes of the batch move, another
// partition goes on, and what was counted is taken.
func TestUnknownSchema(t *testing.T) {
	batch := func() *event.Batch {
		b := &event.Batch{Next: 3000}
		for i := range b.Next {
			b.Records = append(b.Records, avroRecord(i, uint32(1+i/700)))
		}
		b.Records[1500].Value = []byte{7, 0, 0, 0, 0} // names no schema
		b.Records[1501].Value = nil
		return b
	}
	want := newOperator(t, avroSpec())
	want.Start(Plan{})
	for id := range uint32(5) {
		of := event.SchemaID(binary.BigEndian.AppendUint32([]byte{0}, id+1))
		want.Learn(of, avroSchema(of))
	}
	want.Start(Plan{Partition: 1})
	observe(t, want, *batch(), event.Batch{Partition: 1, Next: 5})

	op := newOperator(t, avroSpec())
	op.Start(Plan{})
	op.Start(Plan{Partition: 1})
	got, asked := &Changes{Table: NewTable(avroSpec())}, 0
	for {
		b := batch()
		err := op.Observe(b)
		for i := range b.Records { // the buffer is used for something else
			clear(b.Records[i].Value)
		}
		var unknown *event.UnknownSchema
		if !errors.As(err, &unknown) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if number := int64(unknown.ID.Name().Number); unknown.Offset != (number-1)*700 {
			t.Errorf("%v", err)
		}
		asked++
		observe(t, op, event.Batch{Partition: 1, First: int64(asked - 1), Next: int64(asked)})
		got.Merge(op.Take())
		op.Learn(unknown.ID, avroSchema(unknown.ID))
	}
	got.Merge(op.Take())
	if asked != 5 {
		t.Errorf("asked for %d schemas, want 5", asked)
	}
	if a, b := render(got), render(want.Take()); a != b {
		t.Errorf("with waits:\n%s\nwithout:\n%s", a, b)
	}
	if n := got.Outcomes[Counted]; n != 2998 || got.Outcomes[Malformed] != 2 {
		t.Errorf("%d counted, %d malformed", n, got.Outcomes[Malformed])
	}
	for _, d := range got.Dead {
		if d.Offset == 1500 && d.Reason != event.ErrNoFrame.Error() || d.Offset == 1501 && d.Reason != "empty value" {
			t.Errorf("%+v", d)
		}
	}
}

// TestKeySchemas: an operator asks for the schemas of keys as for those of values, decides nothing before
// it has both, and counts by what is in the key; a key whose schema is lost makes its record malformed, and
// no other one.
func TestKeySchemas(t *testing.T) {
	s := avroSpec()
	s.Keyed, s.LostSchemas = true, []string{"1", "4"}
	s.By = []Dimension{{Name: "device", Path: "key:device"}}
	keySchema := &event.Schema{Avro: &event.AvroType{Kind: event.AvroRecord, Fields: []event.AvroField{{Name: "device", Type: &event.AvroType{Kind: event.AvroString}}}}}
	b := event.Batch{Next: 8}
	for i := range b.Next {
		rec, id := avroRecord(i, 2), byte(3)
		if i == 5 {
			id = 4
		}
		if i == 0 { // and the key's schema is not known yet
			rec = avroRecord(i, 1)
		}
		rec.Envelope = &event.Envelope{Key: append([]byte{0, 0, 0, 0, id, 2}, byte('a'+i%2))}
		b.Records = append(b.Records, rec)
	}
	b.Records[7].Envelope.Key = []byte("text")
	op := newOperator(t, s)
	op.Start(Plan{})
	var asked []string
	for {
		err := op.Observe(&b)
		var unknown *event.UnknownSchema
		if !errors.As(err, &unknown) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		asked = append(asked, fmt.Sprintf("%v at %d", unknown.ID.Name(), unknown.Offset))
		if unknown.ID.Name().Number == 3 {
			op.Learn(unknown.ID, keySchema)
		} else {
			op.Learn(unknown.ID, avroSchema(unknown.ID))
		}
	}
	c := op.Take()
	c.Table.Seal()
	var hits []string
	for r := range c.Table.Rows {
		for _, n := range r.Hits {
			hits = append(hits, fmt.Sprintf("%s %d", r.Group(nil)[0], n))
		}
	}
	if fmt.Sprint(asked) != "[schema id 3 at 0 schema id 2 at 1]" || fmt.Sprint(hits) != "[a 3 b 2]" && fmt.Sprint(hits) != "[b 2 a 3]" {
		t.Errorf("asked for %v, rows %v", asked, hits)
	}
	var reasons []string
	for _, d := range c.Dead {
		reasons = append(reasons, fmt.Sprint(d.Offset, " ", d.Reason))
	}
	if want := []string{"0 event: schema id 1 is lost, as the job's lost_schemas says", "5 event: the record's key: schema id 4 is lost, as the job's lost_schemas says",
		"7 event: the record's key: the record names no schema: it begins with neither 0 and an id nor 1 and a GUID"}; !slices.Equal(reasons, want) {
		t.Errorf("dead letters %q, want %q", reasons, want)
	}
}

// TestLostSchemas: records of a schema that is lost are malformed, and no schema is asked for;
// the others are counted.
func TestLostSchemas(t *testing.T) {
	s := avroSpec()
	s.LostSchemas = []string{"2", "01000000-0000-0000-0000-000000000000"}
	if s.Validate() == nil {
		t.Error("lost schemas may be in any order")
	}
	slices.Sort(s.LostSchemas)
	op := newOperator(t, s)
	op.Start(Plan{})
	op.Learn(event.SchemaID(binary.BigEndian.AppendUint32([]byte{0}, 1)), avroSchema(event.SchemaID(binary.BigEndian.AppendUint32([]byte{0}, 1))))
	b := event.Batch{Next: 4, Records: []event.Record{avroRecord(0, 1), avroRecord(1, 2), avroRecord(2, 1), {Offset: 3, Time: 1, Value: append([]byte{1, 1}, make([]byte, 20)...)}}}
	observe(t, op, b)
	c := op.Take()
	if c.Outcomes[Counted] != 2 || c.Outcomes[Malformed] != 2 || len(c.Dead) != 2 || c.Dead[0].Reason != "event: schema id 2 is lost, as the job's lost_schemas says" ||
		c.Dead[1].Reason != "event: schema 01000000-0000-0000-0000-000000000000 is lost, as the job's lost_schemas says" {
		t.Errorf("%v, %+v", c.Outcomes, c.Dead)
	}

	// The list has no part in the meaning.
	if s.Meaning() != avroSpec().Meaning() {
		t.Errorf("the meaning is %s", s.Meaning())
	}
}

// TestTimeAlsoRead: the time of an Avro event is read as an integer if nothing else reads it, and
// counts the same as where a column, a measure, a condition or a list of fields reads it too.
func TestTimeAlsoRead(t *testing.T) {
	rows := func(also func(*Spec)) *Changes {
		s := avroSpec()
		s.By = nil
		also(s)
		op := newOperator(t, s)
		op.Start(Plan{})
		for id := range uint32(2) {
			of := event.SchemaID(binary.BigEndian.AppendUint32([]byte{0}, id+1))
			op.Learn(of, avroSchema(of))
		}
		b := event.Batch{Next: 100}
		for i := range b.Next {
			b.Records = append(b.Records, avroRecord(i, uint32(1+i%2)))
		}
		observe(t, op, b)
		c := op.Take()
		c.Table.Seal()
		return c
	}
	windows := func(c *Changes) string {
		var text []byte
		for r := range c.Table.Rows {
			text = fmt.Appendln(text, r.Window())
		}
		return fmt.Sprint(c.Outcomes, string(text))
	}
	want := windows(rows(func(*Spec) {}))
	for name, also := range map[string]func(*Spec){
		"measure": func(s *Spec) {
			s.Measures = append(s.Measures, Measure{Name: "stamps", Kind: hll.Kind, Path: s.TimeField})
		},
		"sum": func(s *Spec) {
			s.Measures = append(s.Measures, Measure{Name: "stamps", Kind: sum.Sum, Path: s.TimeField})
		},
		"condition": func(s *Spec) { s.Where = []Condition{{Path: s.TimeField, Above: "1"}} },
		"dedupe":    func(s *Spec) { s.Dedupe = &Dedupe{Path: s.TimeField, Exact: true} },
		"function": func(s *Spec) {
			s.Measures = append(s.Measures, Measure{Name: "stamps", Kind: hll.Kind, Path: "[nosuch][" + s.TimeField + "]"})
		},
	} {
		if got := windows(rows(also)); got != want {
			t.Errorf("with a %s of the time:\n%s\nwithout:\n%s", name, got, want)
		}
	}
	c := rows(func(s *Spec) { s.By = []Dimension{{Name: "at", Path: s.TimeField}} })
	if group := string(c.Table.Row(0).Group(nil)[0]); len(group) != 13 || c.Table.Len() != 100 {
		t.Errorf("%d groups by the time, the first is %q; want 100 texts of 13 digits", c.Table.Len(), group)
	}
}
