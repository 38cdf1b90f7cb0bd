// Package infer says what is in the records of a topic, and writes a job that reads them.
//
//	f := infer.Read(ctx, records, infer.Schemas{}, config.IsPath)
//	f.Write(w, "clicks", "clicks", config.IsColumn)
//
// It is a guess from a sample, for a person to check: the fields with their types and values,
// and which of them look like the time, a group, an id of the event, users, positions and
// amounts. It knows JSON, TSV and CSV, and Avro and Protobuf if it is given where their schemas
// are.
package infer

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/event"
)

// Bounds of what is looked at.
const (
	maxFields = 500 // fields of all records
	maxDepth  = 8   // objects in objects
	near      = event.Time(24 * 60 * 60 * 1000)
)

// Facts are what is known of some records.
type Facts struct {
	Records int          // in all
	Format  event.Format // of most of them
	Read    int          // that have it
	Each    string       // the array of events in each of these, as in event.Form; empty: a record is one event
	Events  int          // in the records that have the form
	Framed  bool         // each of them names its schema
	Named   int          // others, which name schemas that are not known, or do not fit
	Schemas []string     // the names of these
	Trouble error        // why one of these is not known; nil: nothing was asked

	fields      []*Field          // in the order in which they were met
	more        bool              // there are more
	arrays      []string          // paths of arrays of objects
	first, last event.Time        // of the records
	byPath      map[string]*Field // nil: no configuration can name the path
	isPath      func(string) bool // as a configuration writes it
	decoder     *decoder
}

// A Field is what is known of the values at one path.
type Field struct {
	path     string                   // in the form of package event
	present  int                      // events in which it is there and not null
	kinds    [event.Composite + 1]int // how often each kind comes
	values   map[string]int           // how often each value comes; of others than arrays and objects
	min, max float64                  // of the numbers
	scale    int                      // digits behind the point, at most; over maxScale if one has an exponent
	declared bool                     // its type says that it is a time…
	unit     event.Unit               // …in this unit
	times    [len(units)]int          // values that are a time near that of their record, by unit
}

// units are those that a value can have, the usual ones first.
var units = [...]event.Unit{event.Millis, event.RFC3339, event.ISO8601, event.Seconds, event.Micros, event.Nanos}

// A form is how a record is written.
type form struct {
	format event.Format
	whole  bool // it is an array of events
}

// unknown is the form of a record that cannot be read.
var unknown = form{format: 255}

// Read looks at records, whose times are those that Kafka has. It asks the registry for the
// schemas that they name. isPath says whether a configuration can name a value at a path; values at others
// are left out.
func Read(ctx context.Context, records []event.Record, from Schemas, isPath func(string) bool) *Facts {
	f := &Facts{Records: len(records), byPath: map[string]*Field{}, isPath: isPath, first: math.MaxInt64, decoder: newDecoder(from)}
	forms := map[form][]*event.Record{}
	most := unknown
	for i := range records {
		rec := &records[i]
		f.first, f.last = min(f.first, rec.Time), max(f.last, rec.Time)
		of := f.decoder.formOf(ctx, rec)
		if of == unknown {
			if name := schemaOf(rec); name != "" {
				f.Named++
				f.Schemas = append(f.Schemas, name)
			}
		} else if forms[of] = append(forms[of], rec); len(forms[of]) > len(forms[most]) {
			most = of
		}
	}
	slices.Sort(f.Schemas)
	f.Schemas = slices.Compact(f.Schemas)
	read := forms[most]
	if f.Trouble, f.Read = f.decoder.trouble, len(read); f.Read == 0 {
		return f
	}
	f.Format, f.Framed = most.format, most.format.HasSchema() && from.File == nil
	if most.whole {
		f.Each = event.Whole
	}
	f.look(ctx, read)
	if f.Each != "" || f.Format.HasSchema() {
		return f
	}
	best := f
	for _, path := range f.arrays {
		if strings.ContainsAny(path, ".[:") || event.CheckEach(f.Format, path) != nil { // inside of something
			continue
		}
		of := *f
		of.Each, of.Events, of.fields, of.more, of.byPath, of.arrays = path, 0, nil, false, map[string]*Field{}, nil
		if of.look(ctx, read); of.Events > best.Events && of.areEvents() {
			best = &of
		}
	}
	return best
}

// areEvents reports whether the elements of an array look like events: nine of ten have a time
// of their own, which is near that of the record. Lines of an order, for example, have none.
func (f *Facts) areEvents() bool {
	return slices.ContainsFunc(f.fields, func(x *Field) bool {
		return x.inEvent() && 10*slices.Max(x.times[:]) >= 9*f.Events
	})
}

// document returns the form of a value that is a JSON object, or an array of them, perhaps behind
// the name of its schema.
func document(value []byte) (of form, ok bool) {
	if n := prefix(value); n > 0 {
		of.format, value = event.JSONSchema, value[n:]
	}
	of.whole = bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("["))
	return of, events(value) != nil
}

// events returns the JSON objects that a text is, or that are in an array; nil if it is neither.
func events(text []byte) (all []map[string]any) {
	if o := object(text); o != nil {
		return []map[string]any{o}
	}
	var parts []json.RawMessage
	if json.Unmarshal(text, &parts) != nil {
		return nil
	}
	for _, part := range parts {
		o := object(part)
		if o == nil {
			return nil
		}
		all = append(all, o)
	}
	return all
}

// columns returns the form of a value that is a line of cells.
func columns(value []byte) form {
	line := strings.TrimSuffix(string(value), "\n")
	switch {
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
	case strings.Contains(line, "\t") && !strings.Contains(line, "\n"):
		return form{format: event.TSV}
	case len(cells(event.CSV, value)) > 1:
		return form{format: event.CSV}
	}
	return unknown
}

// prefix returns the length of the name of a schema in front of a value; 0 for none.
func prefix(value []byte) int {
	switch {
	case len(value) > 5 && value[0] == 0:
		return 5
	case len(value) > 17 && value[0] == 1:
		return 17
	}
	return 0
}

// schemaHeader is the header that names the schema of a value.
const schemaHeader = "__value_schema_id"

// schemaOf returns the schema that a record names, in words.
func schemaOf(rec *event.Record) string {
	named := rec.Value
	if rec.Envelope != nil {
		rec.Envelope.Headers.Each(func(name, value []byte) {
			if string(name) == schemaHeader {
				named = append(slices.Clone(value), 0)
			}
		})
	}
	if n := prefix(named); n > 0 {
		return event.SchemaID(named[:n]).Name().String()
	}
	return ""
}

// object returns the keys and values of a JSON object that weir reads; nil if it is none.
func object(text []byte) map[string]any {
	s, err := event.NewScanner(nil)
	if err != nil || s.Scan(text, nil) != nil {
		return nil
	}
	var o map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&o) != nil {
		return nil
	}
	return o
}

// cells splits a line of TSV or CSV; nil if it is none.
func cells(format event.Format, line []byte) []string {
	if format == event.TSV {
		return strings.Split(strings.TrimRight(string(line), "\r\n"), "\t")
	}
	r := csv.NewReader(bytes.NewReader(line))
	all, err := r.Read()
	if _, more := r.Read(); err != nil || !errors.Is(more, io.EOF) {
		return nil
	}
	return all
}

// look notes the values of records, which have the form.
func (f *Facts) look(ctx context.Context, records []*event.Record) {
	for _, rec := range records {
		switch f.Format {
		case event.Avro, event.Protobuf:
			f.decoder.find(ctx, rec).note(f, rec)
		case event.JSON, event.JSONSchema:
			f.documents(rec)
		default:
			for i, text := range cells(f.Format, rec.Value) {
				v := event.Value{Kind: event.Number, Bytes: []byte(text)}
				if _, ok := v.Float(); !ok {
					v.Kind = event.String
				}
				if text != "" {
					f.value(event.ColumnName(i), v, rec.Time, 1)
				}
			}
			f.envelope(rec)
		}
	}
}

// documents notes the values of the events that a record of JSON has.
func (f *Facts) documents(rec *event.Record) {
	for _, o := range events(rec.Value[prefix(rec.Value):]) {
		if f.Each == "" || f.Each == event.Whole {
			f.object("", o, rec.Time, 1)
			f.envelope(rec)
			continue
		}
		array, _ := o[f.Each].([]any)
		delete(o, f.Each)
		for _, element := range array {
			if doc, ok := element.(map[string]any); ok {
				f.object("", doc, rec.Time, 1)
				f.object(event.OfRecord, o, rec.Time, 1)
				f.envelope(rec)
			}
		}
	}
}

// envelope counts an event, and notes the values of the key and the headers of its record.
func (f *Facts) envelope(rec *event.Record) {
	f.Events++
	if rec.Envelope == nil {
		return
	}
	if key := rec.Envelope.Key; key != nil && utf8.Valid(key) && prefix(key) == 0 {
		if o := object(key); o != nil {
			f.object("key:", o, rec.Time, 2)
		} else {
			f.value("key:", event.Value{Kind: event.String, Bytes: key}, rec.Time, maxDepth)
		}
	}
	rec.Envelope.Headers.Each(func(name, value []byte) {
		if path := "header:" + string(name); string(name) != schemaHeader && event.CheckPath(path) == nil && utf8.Valid(name) && utf8.Valid(value) && value != nil {
			f.value(path, event.Value{Kind: event.String, Bytes: value}, rec.Time, 1)
		}
	})
}

// object notes the values of an object. before is the path in front of its keys.
func (f *Facts) object(before string, o map[string]any, at event.Time, depth int) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		path := before + key
		if event.CheckPath(path) != nil || strings.ContainsAny(key, ".[]:") {
			continue
		}
		v := event.Value{Kind: event.Null}
		switch x := o[key].(type) {
		case map[string]any:
			if depth < maxDepth {
				f.object(path+".", x, at, depth+1)
			}
			continue
		case []any:
			v.Kind = event.Composite
			if _, objects := append(x, nil)[0].(map[string]any); objects {
				f.array(path)
			}
		case bool:
			if v = (event.Value{Kind: event.Bool, Bytes: []byte("false")}); x {
				v.Bytes = []byte("true")
			}
		case json.Number:
			v = event.Value{Kind: event.Number, Bytes: []byte(x)}
		case string:
			v = event.Value{Kind: event.String, Bytes: []byte(x)}
		}
		f.value(path, v, at, depth)
	}
}

// array notes that an array has objects.
func (f *Facts) array(path string) {
	if !slices.Contains(f.arrays, path) && f.field(path) != nil {
		f.arrays = append(f.arrays, path)
	}
}

// field returns the facts of a path; nil if there are too many, or no configuration can name it.
func (f *Facts) field(path string) *Field {
	x, known := f.byPath[path]
	switch {
	case known:
	case !f.isPath(event.PathText(path)):
		f.byPath[path] = nil
	case len(f.fields) == maxFields:
		f.more = true
	default:
		x = &Field{path: path, values: map[string]int{}, min: math.Inf(1), max: math.Inf(-1)}
		f.byPath[path] = x
		f.fields = append(f.fields, x)
	}
	return x
}

// value notes a value, or what is in it if that is a text with a JSON object.
func (f *Facts) value(path string, v event.Value, at event.Time, depth int) {
	if v.Kind == event.String && bytes.HasPrefix(v.Bytes, []byte("{")) && depth < maxDepth {
		if o := object(v.Bytes); o != nil {
			f.object(path+"[json].", o, at, depth+1)
			return
		}
	}
	x := f.field(path)
	if x == nil {
		return
	}
	if x.kinds[v.Kind]++; v.Kind == event.Missing || v.Kind == event.Null {
		return
	}
	if x.present++; v.Kind == event.Composite {
		return
	}
	text := string(v.Bytes)
	x.values[text]++
	if v.Kind == event.Number {
		n, _ := v.Float()
		x.min, x.max = min(x.min, n), max(x.max, n)
		_, behind, _ := strings.Cut(text, ".")
		if x.scale = max(x.scale, len(behind)); strings.ContainsAny(text, "eE") {
			x.scale = math.MaxInt
		}
	}
	for i, unit := range units {
		if t, ok := v.Time(unit); ok && t > at-near && t < at+near {
			x.times[i]++
		}
	}
}

// only reports whether all values are of these kinds.
func (x *Field) only(kinds ...event.Kind) bool {
	n := 0
	for _, k := range kinds {
		n += x.kinds[k]
	}
	return n == x.present
}

// inEvent reports whether a field is one of the event itself, and not of its record.
func (x *Field) inEvent() bool {
	return !event.InEnvelope(x.path) && !strings.HasPrefix(x.path, event.OfRecord)
}

// last returns the last key of a path.
func (x *Field) last() string {
	if x.path == "key:" {
		return "key"
	}
	return x.path[strings.LastIndexAny(x.path, ".:")+1:]
}

// parent returns the path without its last key.
func (x *Field) parent() string { return strings.TrimSuffix(x.path, x.last()) }

// overlaps reports whether the path is also that of an object, which one job cannot read as
// both.
func (x *Field) overlaps(all []*Field) bool {
	inside := func(a, b string) bool {
		rest, ok := strings.CutPrefix(a, b)
		return ok && rest != "" && strings.ContainsAny(rest[:1], ".[")
	}
	return slices.ContainsFunc(all, func(o *Field) bool {
		return o.present+o.kinds[event.Null] > 0 && (inside(o.path, x.path) || inside(x.path, o.path))
	})
}
