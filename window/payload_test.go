package window_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/quantile"
	"weir/measures/sum"
	. "weir/window"
)

// The forms in which the same event is written. In the last one each field is a header.
var forms = []string{"json", "avro", "protobuf", "csv", "tsv", "headers"}

// An event of the tests below has a JSON text for each of these fields; an empty one is missing.
type fieldTexts map[string]string

// written returns a spec that reads the form, and the record of an event. The fields are looseFields, without geo.
func written(t *testing.T, form string, spec func(path func(string) string) *Spec, of fieldTexts) (*Spec, event.Record) {
	t.Helper()
	rec, bare := event.Record{Time: 1_763_600_000_000}, func(name string) string { return name }
	value := func(name string) (v any) {
		if of[name] == "" {
			return nil
		}
		d := json.NewDecoder(strings.NewReader(of[name]))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	s := spec(bare)
	switch form {
	case "json":
		var members []string
		for name, text := range of {
			if text != "" {
				members = append(members, `"`+name+`":`+text)
			}
		}
		rec.Value = []byte("{" + strings.Join(members, ",") + "}")
	case "avro":
		s.Format, s.Schema, s.Each = event.Avro, looseSchema, "batch.events"
		rec.Value = []byte{0, 2, 2} // sentAt, one element, of the second type
		for _, name := range looseFields {
			rec.Value = looseAvro(rec.Value, value(name))
		}
		rec.Value = append(rec.Value, 0)
	case "protobuf":
		s.Format, s.Schema, s.Each = event.Protobuf, looseSchema, "batch.events"
		var item []byte
		for k, name := range looseFields {
			item = looseProto(item, 1+3*k, value(name))
		}
		item = append(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(item))), item...)
		rec.Value = append(binary.AppendUvarint([]byte{9<<3 | 2}, uint64(len(item))), item...)
	case "csv", "tsv":
		s.Format, s.Columns = event.CSV, looseFields
		comma := ","
		if form == "tsv" {
			s.Format, comma = event.TSV, "\t"
		}
		var cells []string
		for _, name := range looseFields {
			text := of[name]
			if v, ok := value(name).(string); ok && form == "tsv" {
				text = v
			}
			cells = append(cells, strings.TrimPrefix(text, "null"))
		}
		rec.Value = []byte(strings.Join(cells, comma))
	case "headers":
		s = spec(func(name string) string { return "header:" + name })
		rec.Value = []byte("{}")
		var headers []byte
		n := int64(0)
		for _, name := range looseFields {
			text, ok := of[name], of[name] != ""
			if v, is := value(name).(string); is {
				text = v
			}
			if !ok || text == "null" {
				continue
			}
			n++
			headers = append(binary.AppendVarint(headers, int64(len(name))), name...)
			headers = append(binary.AppendVarint(headers, int64(len(text))), text...)
		}
		rec.Envelope = &event.Envelope{Headers: append(binary.AppendVarint(nil, n), headers...)}
	}
	return s, rec
}

// rowsOf counts events in a form, and returns what is stored and the reasons of dead letters.
func rowsOf(t *testing.T, form string, spec func(path func(string) string) *Spec, events ...fieldTexts) (rows string, reasons []string) {
	t.Helper()
	var op *Operator
	b := event.Batch{Next: int64(len(events))}
	for i, of := range events {
		s, rec := written(t, form, spec, of)
		if op == nil {
			op = newOperator(t, s)
			op.Start(Plan{})
		}
		rec.Offset = int64(i)
		b.Records = append(b.Records, rec)
	}
	observe(t, op, b)
	c := op.Take()
	for _, d := range c.Dead {
		reason, _, _ := strings.Cut(strings.ReplaceAll(d.Reason, "header:", ""), OfEvent)
		reasons = append(reasons, reason)
	}
	rows, _, _ = strings.Cut(render(c), "line")
	return rows, reasons
}

// TestTextsThatAreNumbers: a text that is a number of JSON counts as that number, wherever one is asked for,
// in every format; and a text that is no such number is none.
func TestTextsThatAreNumbers(t *testing.T) {
	spec := func(path func(string) string) *Spec {
		s := plainSpec()
		s.TimeField, s.TimeUnit = path("ts"), event.Seconds
		s.By = []Dimension{{Name: "cell", Lon: path("lon"), Lat: path("lat"), Precision: 5}}
		s.Where = []Condition{{Path: path("action"), AtLeast: "500"}, {Path: path("action"), IsNot: "503"}}
		s.Measures = []Measure{
			{Name: "sum", Kind: sum.Sum, Path: path("user"), Scale: 2}, {Name: "avg", Kind: sum.Avg, Path: path("user"), Scale: 2},
			{Name: "min", Kind: extreme.Min, Path: path("user")}, {Name: "max", Kind: extreme.Max, Path: path("user")},
			{Name: "p", Kind: quantile.Kind, Path: path("user"), Error: 0.01}, {Name: "ids", Kind: bitmap.Kind, Path: path("id")},
			{Name: "places", Kind: geo.Kind, Path: path("page"), Lon: path("lon"), Lat: path("lat")},
			{Name: "exact", Kind: sum.Sum, Path: path("id"), Where: []Condition{{Path: path("id"), Is: "42"}}},
		}
		return s
	}
	texts := func(quote string) []fieldTexts {
		n := func(s string) string { return quote + s + quote }
		return []fieldTexts{
			{"ts": n("1763600000"), "user": n("6040.80"), "id": n("42"), "page": `"a"`, "action": n("500"), "lon": n("13.40"), "lat": n("52.52")},
			{"ts": n("1763600000.25"), "user": n("-1e2"), "id": n("7"), "page": `"b"`, "action": n("504.0"), "lon": n("-0.12"), "lat": n("51.5")},
			{"ts": n("1763600001"), "user": n("0"), "id": n("9"), "page": `"b"`, "action": n("499"), "lon": n("0"), "lat": n("0")},
			{"ts": n("1763600001"), "user": n("0"), "id": n("9"), "page": `"b"`, "action": n("503"), "lon": n("0"), "lat": n("0")},
		}
	}
	const commas = "; a comma is no part of one, and two numbers in a text are two fields to write"
	want, reasons := rowsOf(t, "json", spec, texts("")...)
	if strings.Count(want, "\n") < 4 || len(reasons) > 0 {
		t.Fatalf("plain numbers:\n%s%q", want, reasons)
	}
	for _, form := range forms {
		for _, quote := range []string{"", `"`} {
			if got, reasons := rowsOf(t, form, spec, texts(quote)...); got != want || len(reasons) > 0 {
				t.Errorf("%s, quote %q:\n%s%q\nwant:\n%s", form, quote, got, reasons, want)
			}
		}
		of := texts("")[0]
		of["lon"] = `"52.52,13.40"`
		if _, reasons := rowsOf(t, form, spec, of); len(reasons) != 1 || reasons[0] != "field lon is not a number"+commas {
			t.Errorf("%s: a position in one text: %q", form, reasons)
		}
		for _, bad := range []string{" 1", "1 ", "+1", "01", "1.", ".5", "0x10", "1_000", "1,5", "NaN", "Infinity", "1e", "--1"} {
			of := texts("")[0]
			of["user"] = `"` + bad + `"`
			if _, reasons := rowsOf(t, form, spec, of); len(reasons) != 1 || strings.TrimSuffix(reasons[0], commas) != "field user is not a number" {
				t.Errorf("%s: %q: %q", form, bad, reasons)
			}
			of = texts("")[0]
			of["ts"] = `"` + bad + `"`
			if _, reasons := rowsOf(t, form, spec, of); len(reasons) != 1 || reasons[0] != "field ts is not a number, which unit s needs" {
				t.Errorf("%s: %q as a time: %q", form, bad, reasons)
			}
		}
	}
}

// TestRecordWithoutTime: a record of −1, or of 1970 because its producer gave seconds, has no time that is
// compared; the event's time alone decides, and moves the clock of limiters.
func TestRecordWithoutTime(t *testing.T) {
	const now = 1_763_600_000_000
	s := plainSpec()
	s.Throttle = &Throttle{Path: "id", Limit: 1, Per: 1000}
	for _, c := range []struct {
		record event.Time
		want   string
	}{
		{now, "counted throttled late future"}, {-1, "counted counted counted counted"}, {0, "counted counted counted counted"},
		{now / 1000, "counted counted counted counted"}, {31_535_999_999, "counted counted counted counted"}, {31_536_000_000, "future future future future"},
	} {
		op := newOperator(t, s)
		op.Start(Plan{})
		var got []string
		timeless := uint64(0)
		for i, ts := range []event.Time{now, now + 1000, now - 3_600_001, now + 600_001} {
			observe(t, op, event.Batch{First: int64(i), Next: int64(i) + 1, Records: []event.Record{{Offset: int64(i), Time: c.record, Value: fmt.Appendf(nil, `{"ts":%d,"id":%d}`, ts, i/2)}}})
			c := op.Take()
			timeless += c.Timeless
			for f, n := range c.Outcomes {
				if n > 0 {
					got = append(got, Outcome(f).String())
				}
			}
		}
		if none := c.record < 31_536_000_000; (timeless == 4) != none || timeless > 0 != none {
			t.Errorf("a record of %d: %d events without its time", c.record, timeless)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("a record of %d: %s, want %s", c.record, got, c.want)
		}
	}
}

// TestKeysWithDots: a quoted key is read, and the reason that a field is missing names a key with dots.
func TestKeysWithDots(t *testing.T) {
	const event = `{"ts":1000,"log.level":"error","labels":{"k8s.pod":{"name":"p"},"k8s.pod.name":"q"}}`
	for path, want := range map[string]string{
		`"log.level"`: "error", `labels."k8s.pod.name"`: "q", `labels."k8s.pod".name`: "p",
		"log.level":           `field log.level is missing; the event has a key log.level with a dot in it: write "log.level"`,
		"labels.k8s.pod.name": `field labels.k8s.pod.name is missing; the event has a key k8s.pod with a dot in it: write labels."k8s.pod".name`,
		"log.levels":          "field log.levels is missing", "labels.k8s[0]": "field labels.k8s[0] is missing", "header:log.level": "field header:log.level is missing",
		"[a][log.level] lower": `field lower of a or log.level is missing; the event has a key log.level with a dot in it: write "log.level"`,
	} {
		s := plainSpec()
		s.By = []Dimension{{Name: "level", Path: path}}
		outcome, reason, group, _ := one(t, s, event)
		if group+reason != want || (outcome == Counted) != (reason == "") {
			t.Errorf("%s: %s %q %q, want %q", path, outcome, group, reason, want)
		}
	}
}

// TestNotThere: in a list of fields a missing value, a null and an empty text are passed over, in every format; if
// nothing is left, the field is missing. An empty text of a single field is an id.
func TestNotThere(t *testing.T) {
	of := func(id, user string) fieldTexts { return fieldTexts{"ts": "1763600000000", "id": id, "user": user} }
	for _, form := range forms {
		for _, c := range []struct {
			path     string
			same     []fieldTexts // as
			as       fieldTexts
			optional bool
		}{
			{"[id][user]", []fieldTexts{of(`""`, `"u"`), of("null", `"u"`), of("", `"u"`), of(`"u"`, `"x"`)}, of(`"u"`, ""), false},
			{"[id][user]", []fieldTexts{of(`""`, `""`), of("null", ""), of(`""`, "")}, of("", ""), true},
			{"id", []fieldTexts{of(`""`, ""), of(`""`, `"u"`)}, of(`""`, ""), false},
		} {
			spec := func(path func(string) string) *Spec {
				s := plainSpec()
				s.TimeField = path("ts")
				field := strings.NewReplacer("id", path("id"), "user", path("user")).Replace(c.path)
				s.By = []Dimension{{Name: "who", Path: field, Default: "none", HasDefault: true}}
				s.Measures = []Measure{{Name: "users", Kind: hll.Kind, Path: field, Optional: c.optional}}
				return s
			}
			want, reasons := rowsOf(t, "json", spec, c.as)
			if want == "" || reasons != nil {
				t.Fatalf("%v: %q %q", c.as, want, reasons)
			}
			for _, event := range c.same {
				if form == "tsv" && c.path == "id" { // an empty cell is missing there
					continue
				}
				if got, reasons := rowsOf(t, form, spec, event); got != want || reasons != nil {
					t.Errorf("%s: %s of %v: %s%q, want as of %v: %s", form, c.path, event, got, reasons, c.as, want)
				}
			}
		}
	}
}

// TestTimesOfZero: in a list of times, also one that ends in the record's, a 0 is passed over, as a missing value is. A single
// time of 0 is 1970, and so is a 0 of the same list in another field.
func TestTimesOfZero(t *testing.T) {
	of := func(ts, id string) fieldTexts { return fieldTexts{"ts": ts, "id": id} }
	for _, form := range forms {
		for _, c := range []struct {
			list     string
			orRecord bool
			event    fieldTexts
			want     string
		}{
			{"[ts][id]", false, of("0", "1763600000001"), "1763599980000 \"0\""}, {"[ts][id]", false, of(`"0"`, "1763600000001"), "1763599980000 \"0\""},
			{"[ts][id]", false, of("1763600000001", "0"), "1763599980000 \"1763600000001\""}, {"[ts][id]", true, of("0", "0"), "1763599980000 \"0\""},
			{"ts", true, of("0", "0"), "1763599980000 \"0\""}, {"ts", false, of("0", "0"), "older than the record by more than lateness"},
			{"[ts][id]", false, of("0", "0"), "field ts or id is missing"},
		} {
			spec := func(path func(string) string) *Spec {
				s := plainSpec()
				list := strings.NewReplacer("id", path("id"), "ts", path("ts"))
				s.TimeField, s.TimeOrRecord = list.Replace(c.list), c.orRecord
				s.By = []Dimension{{Name: "who", Path: list.Replace("[ts][id]")}}
				return s
			}
			rows, reasons := rowsOf(t, form, spec, c.event)
			if got, _, _ := strings.Cut(rows, " 0/0/0"); got+strings.Join(reasons, "") != c.want {
				t.Errorf("%s: %s of %v: %s %q, want %s", form, c.list, c.event, got, reasons, c.want)
			}
		}
	}
}

// TestLeftOut: a condition that reads only the record leaves out one without an array of events, and any condition a
// tombstone. Others are malformed.
func TestLeftOut(t *testing.T) {
	s := plainSpec()
	s.Each, s.TimeField = "data", "record:ts"
	s.Where = []Condition{{Path: "[record:ddl][record:x]", IsNot: "true"}, {Path: "header:kind", NotIn: []string{"beat"}}, {Path: "id", Exists: "true"}}
	beat := &event.Envelope{Headers: []byte("\x02\x08kind\x08beat")}
	for _, c := range []struct {
		value string
		env   *event.Envelope
		want  string
	}{
		{`{"ts":1000,"data":[{"id":1}],"ddl":false}`, nil, "counted 1"}, {`{"ts":1000,"data":[{"id":1}],"ddl":true}`, nil, "filtered 1"},
		{`{"ts":1000,"data":null,"ddl":true}`, nil, "filtered 0"}, {`{"ts":1000,"ddl":true}`, nil, "filtered 0"}, {`{"ts":1000,"x":true}`, beat, "filtered 0"},
		{`{"ts":1000,"data":null,"ddl":false}`, nil, "malformed 1: event: field data is missing"}, {`{"ts":1000,"data":null}`, beat, "filtered 0"},
		{`{"ts":1000,"data":7,"ddl":true}`, nil, "malformed 1: event: field data is not an array"}, {`{"ts":1000,"data":[],"ddl":false}`, nil, "filtered 0"},
		{"", nil, "filtered 0"}, {"", beat, "filtered 0"},
	} {
		op := newOperator(t, s)
		op.Start(Plan{})
		rec := event.Record{Time: 1000, Envelope: c.env}
		if c.value != "" {
			rec.Value = []byte(c.value)
		}
		observe(t, op, event.Batch{Next: 1, Records: []event.Record{rec}})
		got, of := op.Take(), ""
		for f, n := range got.Outcomes {
			if n > 0 {
				of = fmt.Sprint(Outcome(f), " ", got.Events.All)
			}
		}
		for _, d := range got.Dead {
			of += ": " + d.Reason
		}
		if of != c.want {
			t.Errorf("%s %v: %s, want %s", c.value, c.env != nil, of, c.want)
		}
	}
	for where, want := range map[string]Outcome{"action": Filtered, "": Malformed} {
		s := plainSpec()
		if where != "" {
			s.Where = []Condition{{Path: where, Exists: "true"}}
		}
		if got, _ := newOperator(t, s).Decode(event.Record{Time: 1000}); got != want {
			t.Errorf("a tombstone, and a condition on %q: %s, want %s", where, got, want)
		}
	}
}

// TestBadValues: with bad: skip a measure leaves out what it cannot take, and counts it; the event counts in hits and in
// the other measures, in every format.
func TestBadValues(t *testing.T) {
	spec := func(path func(string) string) *Spec {
		s := plainSpec()
		s.TimeField = path("ts")
		s.Measures = []Measure{
			{Name: "revenue", Kind: sum.Sum, Path: path("user"), Scale: 2, Bad: "skip"}, {Name: "rounded", Kind: sum.Sum, Path: path("user"), Scale: 2, Round: true, Bad: "skip"},
			{Name: "greatest", Kind: extreme.Max, Path: path("user"), Bad: "skip"}, {Name: "pages", Kind: hll.Kind, Path: path("page")},
			{Name: "places", Kind: geo.Kind, Path: path("page"), Lon: path("lon"), Lat: path("lat"), Optional: true, Bad: "skip"},
		}
		return s
	}
	of := func(user, lon string) fieldTexts {
		return fieldTexts{"ts": "1763600000000", "user": user, "page": `"p"`, "lon": lon, "lat": "1"}
	}
	events := []fieldTexts{of("59.97", "2"), of("59.970000000000006", "200"), of(`"BOI="`, "2"), of("0.125", `"x"`), of("-1e400", "")}
	want := ""
	for _, form := range forms {
		got, reasons := rowsOf(t, form, spec, events...)
		if want == "" {
			want = got
		}
		if got != want || reasons != nil || !strings.Contains(got, "0/0/0:5") {
			t.Errorf("%s: %s%q, want %s", form, got, reasons, want)
		}
	}
	op := newOperator(t, spec(func(name string) string { return name }))
	op.Start(Plan{})
	b := event.Batch{Next: int64(len(events))}
	for i, e := range events {
		_, rec := written(t, "json", spec, e)
		rec.Offset = int64(i)
		b.Records = append(b.Records, rec)
	}
	observe(t, op, b)
	c := op.Take()
	if got := fmt.Sprint(c.Skipped); got != "[4 2 2 0 3]" {
		t.Errorf("skipped %s", got)
	}
	c.Table.Seal()
	for r := range c.Table.Rows {
		if a, b := sum.Of(r, 0).Text(2), sum.Of(r, 1).Text(2); a != "59.97" || b != "120.06" {
			t.Errorf("sums %s and %s", a, b)
		}
	}
}

// TestReasonsOfTimes: a form that is not known and a time out of range are two reasons.
func TestReasonsOfTimes(t *testing.T) {
	s := plainSpec()
	s.TimeUnit = event.ISO8601
	for text, want := range map[string]string{
		"1969-12-31T23:59:59Z": "field ts is not a time between 1970 and 2106 in unit iso8601", "20.11.2026 10:05": "field ts is a time in no form that unit iso8601 knows",
	} {
		if _, reason, _, _ := one(t, s, `{"ts":"`+text+`"}`); reason != want {
			t.Errorf("%s: %q, want %q", text, reason, want)
		}
	}
}

// TestKeysInBytes: keys that a serializer of numbers writes are as many people as numbers, and none is malformed.
func TestKeysInBytes(t *testing.T) {
	s := plainSpec()
	s.Measures = []Measure{{Name: "who", Kind: hll.Kind, Path: "key:"}}
	op := newOperator(t, s)
	op.Start(Plan{})
	b := event.Batch{Next: 30}
	for i := range b.Next {
		b.Records = append(b.Records, event.Record{Offset: i, Time: 1000, Value: []byte(`{"ts":1000}`), Envelope: &event.Envelope{Key: binary.BigEndian.AppendUint64(nil, uint64(10*i))}})
	}
	observe(t, op, b)
	c := op.Take()
	c.Table.Seal()
	for r := range c.Table.Rows {
		pool, at := hll.Of(r, 0)
		if n := pool.Count(at); n != 30 || c.Outcomes[Counted] != 30 {
			t.Errorf("%d people of %d events", n, c.Outcomes[Counted])
		}
	}
}

// TestLocalTimes: a text without an offset is a time of the zone, and UTC without one; a text with an offset is not. In every
// format.
func TestLocalTimes(t *testing.T) {
	const at = 1_763_600_000_000 // 2025-11-20T00:53:20Z
	zone := func(name string, hours event.Time) *event.Zone {
		z := &event.Zone{Name: name}
		z.Change(0, hours*3600_000)
		z.Change(at-1000, hours*3600_000+3600_000)
		return z
	}
	for _, form := range forms {
		for _, c := range []struct {
			text string
			zone *event.Zone
			want string
		}{
			{"2025-11-20 00:53:20", nil, "1763599980000"}, {"2025-11-20 09:53:20", zone("a", 8), "1763599980000"}, {"2025-11-19T17:53:20", zone("b", -8), "1763599980000"},
			{"20251120T095320", zone("a", 8), "1763599980000"}, {"2025-11-20 09:53:20 +0900", zone("b", -8), "1763599980000"}, {"2025-11-20T00:53:20Z", zone("a", 8), "1763599980000"},
			{"2025-11-20T00:53:20Z[UTC]", zone("a", 8), "1763599980000"}, {"2025-11-20 08:53:18", zone("a", 8), "1763599980000"}, {"2025-11-20 08:53:20", zone("a", 8), "1763599980000"}, // twice: before the change
			{"2025-11-20", zone("a", 8), "1763568000000"}, {"2025-11-20", nil, "1763596800000"},
		} {
			spec := func(path func(string) string) *Spec {
				s := plainSpec()
				s.TimeField, s.TimeUnit, s.TimeZone, s.Lateness = path("ts"), event.ISO8601, c.zone, 24*3600_000
				return s
			}
			if rows, reasons := rowsOf(t, form, spec, fieldTexts{"ts": `"` + c.text + `"`}); !strings.HasPrefix(rows, c.want+" ") || len(reasons) > 0 {
				t.Errorf("%s: %s in %v: %s %q, want %s", form, c.text, c.zone, rows, reasons, c.want)
			}
		}
	}
}

// TestDateAndTime: a date and a time of day in two fields are one time, in every format. A list of times takes no date
// alone, which would count every event at midnight.
func TestDateAndTime(t *testing.T) {
	shanghai := &event.Zone{Name: "Asia/Shanghai"}
	shanghai.Change(0, 8*3600_000)
	for _, form := range forms {
		for _, c := range []struct {
			field, date, clock string
			zone               *event.Zone
			want               string
		}{
			{"[id]T[page]", `"2025-11-20"`, `"00:53:20"`, nil, "1763599980000"}, {"[id]T[page]", `"2025-11-20"`, `"08:53:20.5"`, shanghai, "1763599980000"},
			{"[id]T[page]", `"20251120"`, `"005320"`, nil, "1763599980000"}, {"[id]T[page]", `"2025-11-20"`, `"01:53:20+01:00"`, shanghai, "1763599980000"},
			{"[id]T[page]", `"2025-11-20"`, "null", nil, "field id and page is missing"}, {"[id]T[page]", "", `"00:53:20"`, nil, "field id and page is missing"},
			{"[id]T[page]", `"2025-11-20"`, `"25:53:20"`, nil, "field id and page is a time in no form that unit iso8601 knows"},
			{"[id][page]", `"2025-11-20"`, `"00:53:20"`, nil, "field id or page is a date alone, which a list of times does not take; if another field has the time of day, write time: {date: DATE, field: TIME, unit: iso8601}"},
			{"[id][page]", "null", `"2025-11-20T00:53:20Z"`, nil, "1763599980000"}, {"[id][page]", `"2025-11-20T00:53:20Z"`, `"2025-11-20"`, nil, "1763599980000"},
		} {
			spec := func(path func(string) string) *Spec {
				s := plainSpec()
				s.TimeField, s.TimeUnit, s.TimeZone = strings.NewReplacer("id", path("id"), "page", path("page")).Replace(c.field), event.ISO8601, c.zone
				return s
			}
			rows, reasons := rowsOf(t, form, spec, fieldTexts{"id": c.date, "page": c.clock})
			if got, _, _ := strings.Cut(rows, " "); got+strings.Join(reasons, "") != c.want {
				t.Errorf("%s: %s and %s of %s: %s%q, want %s", form, c.date, c.clock, c.field, got, reasons, c.want)
			}
		}
	}
}

// TestWeeks: windows of 7d begin on Thursdays.
func TestWeeks(t *testing.T) {
	s := plainSpec()
	s.Window = 7 * 24 * 3600_000
	op := newOperator(t, s)
	op.Start(Plan{})
	observe(t, op, event.Batch{Next: 1, Records: []event.Record{{Time: 1_763_600_000_000, Value: []byte(`{"ts":1763600000000}`)}}})
	if got, _, _ := strings.Cut(render(op.Take()), " "); got != "1763596800000" || 1763596800000/86_400_000%7 != 0 { // 1970 began on one
		t.Errorf("the window begins at %s", got)
	}
}

// TestFormatNone: nothing is read of the value, which may be anything; and an event without a time has its record's.
func TestFormatNone(t *testing.T) {
	s := plainSpec()
	s.Format, s.TimeField, s.TimeUnit, s.TimeOrRecord = event.None, "header:at", event.RFC3339, true
	s.By = []Dimension{{Name: "kind", Path: "header:kind"}}
	op := newOperator(t, s)
	op.Start(Plan{})
	b := event.Batch{Next: 4}
	for i, value := range [][]byte{nil, {}, []byte("<xml/>"), {0, 1, 0xff}} {
		headers := []byte("\x02\x08kind\x08view")
		if i == 3 {
			headers = append([]byte("\x04\x08kind\x08view\x04at\x28"), "2025-11-20T00:53:21Z"...)
		}
		b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 1_763_600_000_000, Value: value, Envelope: &event.Envelope{Headers: headers}})
	}
	observe(t, op, b)
	if got, _, _ := strings.Cut(render(op.Take()), "line"); got != "1763599980000 \"view\" 0/0/0:4\n" {
		t.Errorf("%s", got)
	}
	s.By[0].Path = "kind"
	if _, err := NewOperator(s); err == nil {
		t.Error("a field of the value is read")
	}
}
