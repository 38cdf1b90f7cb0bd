package infer

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
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
	maxShown  = 4   // values of a field that are shown
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
	Arrays  []string     // paths of arrays of objects
	Fields  []*Field     // in the order in which they were met
	More    bool         // there are more fields than Fields

	first, last event.Time        // of the records
	byPath      map[string]*Field // nil: no configuration can name the path
	isPath      func(string) bool // as a configuration writes it
	decoder     *decoder
}

// A Field is what is known of the values at one path.
type Field struct {
	Path    string // in the form of package event
	Present int    // events in which it is there and not null
	Null    int
	Bools   int
	Numbers int
	Texts   int
	Others  int            // arrays, and objects where other records have a value
	Values  map[string]int // how often each value comes; of others than arrays and objects

	Min, Max float64 // of the numbers
	Scale    int     // digits behind the point, at most; -1: one has an exponent

	isTime bool       // its type says that it is a time…
	unit   event.Unit // …in this unit

	order []string        // of Values
	times [len(units)]int // values that are a time near that of their record, by unit
}

// units are those that a value can have, the usual ones first.
var units = [...]event.Unit{event.Millis, event.RFC3339, event.ISO8601, event.Seconds, event.Micros, event.Nanos}

// Read looks at records, whose times are those that Kafka has. It asks the registry for the
// schemas that they name. isPath says whether a configuration can name a value at a path; values at others
// are left out.
func Read(ctx context.Context, records []event.Record, from Schemas, isPath func(string) bool) *Facts {
	f := &Facts{Records: len(records), byPath: map[string]*Field{}, isPath: isPath, first: math.MaxInt64, decoder: newDecoder(from)}
	forms := make([]form, len(records))
	count := map[form]int{}
	var most form
	for i := range records {
		rec := &records[i]
		f.first, f.last = min(f.first, rec.Time), max(f.last, rec.Time)
		if of, ok := f.decoder.formOf(ctx, rec); ok {
			forms[i] = of
			if count[of]++; count[of] > count[most] {
				most = of
			}
		} else if name := schemaOf(rec); name != "" {
			f.Named++
			if forms[i].format = unknown; !slices.Contains(f.Schemas, name) {
				f.Schemas = append(f.Schemas, name)
			}
		} else {
			forms[i].format = unknown
		}
	}
	f.Trouble, f.Format, f.Read = f.decoder.trouble, most.format, count[most]
	f.Framed = f.Read > 0 && f.Format.HasSchema() && from.File == nil
	if f.Read > 0 && most.whole {
		f.Each = event.Whole
	}
	var read []*event.Record
	for i := range records {
		if f.Read > 0 && forms[i] == most {
			read = append(read, &records[i])
		}
	}
	f.look(ctx, read)
	if f.Each != "" || f.Format.HasSchema() {
		return f
	}
	best := f
	for _, path := range f.Arrays {
		if strings.ContainsAny(path, ".[:") || event.CheckEach(f.Format, path) != nil { // inside of something
			continue
		}
		of := *f
		of.Each, of.Events, of.Fields, of.More, of.byPath, of.Arrays = path, 0, nil, false, map[string]*Field{}, nil
		if of.look(ctx, read); of.Events > best.Events && of.areEvents() {
			best = &of
		}
	}
	return best
}

// look notes the values of records that have the form.
func (f *Facts) look(ctx context.Context, records []*event.Record) {
	for _, rec := range records {
		f.record(ctx, rec)
	}
}

// areEvents reports whether the elements of an array look like events: nine of ten have a time
// of their own, which is near that of the record. Lines of an order, for example, have none.
func (f *Facts) areEvents() bool {
	return slices.ContainsFunc(f.Fields, func(field *Field) bool {
		return field.inEvent() && 10*slices.Max(field.times[:]) >= 9*f.Events
	})
}

// inEvent reports whether a field is one of the event itself, and not of its record.
func (f *Field) inEvent() bool {
	return !event.InEnvelope(f.Path) && !strings.HasPrefix(f.Path, event.OfRecord)
}

// unknown is the format of a record that cannot be read.
const unknown = event.Format(255)

// A form is how a record is written.
type form struct {
	format event.Format
	whole  bool // it is an array of events
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
func columns(value []byte) (form, bool) {
	line := strings.TrimSuffix(string(value), "\n")
	switch {
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
	case strings.Contains(line, "\t") && !strings.Contains(line, "\n"):
		return form{format: event.TSV}, true
	case len(cells(event.CSV, value)) > 1:
		return form{format: event.CSV}, true
	}
	return form{}, false
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

// record notes the values of one record, which has the form.
func (f *Facts) record(ctx context.Context, rec *event.Record) {
	switch f.Format {
	case event.Avro, event.Protobuf:
		f.decoder.find(ctx, rec).note(f, rec)
		return
	case event.JSON, event.JSONSchema:
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
		return
	}
	for i, text := range cells(f.Format, rec.Value) {
		switch name := event.ColumnName(i); {
		case text == "":
		case isNumber(text):
			f.scalar(name, json.Number(text), rec.Time)
		default:
			f.text(name, text, rec.Time, 1)
		}
	}
	f.envelope(rec)
}

// envelope notes the values of the key and the headers of the record of an event.
func (f *Facts) envelope(rec *event.Record) {
	f.Events++
	if rec.Envelope == nil {
		return
	}
	if key := rec.Envelope.Key; key != nil && utf8.Valid(key) && prefix(key) == 0 {
		if o := object(key); o != nil {
			f.object("key:", o, rec.Time, 2)
		} else {
			f.scalar("key:", string(key), rec.Time)
		}
	}
	rec.Envelope.Headers.Each(func(name, value []byte) {
		if path := "header:" + string(name); string(name) != schemaHeader && event.CheckPath(path) == nil && utf8.Valid(name) && utf8.Valid(value) && value != nil {
			f.text(path, string(value), rec.Time, 1)
		}
	})
}

// object notes the values of an object. before is the path in front of its keys.
func (f *Facts) object(before string, o map[string]any, at event.Time, depth int) {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if path := before + key; event.CheckPath(path) == nil && !strings.ContainsAny(key, ".[]:") {
			f.value(path, o[key], at, depth)
		}
	}
}

func (f *Facts) value(path string, value any, at event.Time, depth int) {
	switch v := value.(type) {
	case map[string]any:
		if depth < maxDepth {
			f.object(path+".", v, at, depth+1)
		}
	case []any:
		_, objects := append(v, nil)[0].(map[string]any)
		f.composite(path, objects)
	case string:
		f.text(path, v, at, depth)
	default:
		f.scalar(path, v, at)
	}
}

// composite notes an array or a map, which perhaps is an array of objects.
func (f *Facts) composite(path string, objects bool) {
	if field := f.field(path); field != nil {
		field.Present++
		field.Others++
		if objects && !slices.Contains(f.Arrays, path) {
			f.Arrays = append(f.Arrays, path)
		}
	}
}

// text notes a text, or what is in it if that is a JSON object.
func (f *Facts) text(path, text string, at event.Time, depth int) {
	if strings.HasPrefix(text, "{") && depth < maxDepth {
		if o := object([]byte(text)); o != nil {
			f.object(path+"[json].", o, at, depth+1)
			return
		}
	}
	f.scalar(path, text, at)
}

// field returns the facts of a path; nil if there are too many, or no configuration can name it.
func (f *Facts) field(path string) *Field {
	field, known := f.byPath[path]
	if !known {
		if len(f.Fields) == maxFields {
			f.More = true
			return nil
		}
		if !f.isPath(event.PathText(path)) {
			f.byPath[path] = nil
			return nil
		}
		field = &Field{Path: path, Values: map[string]int{}, Min: math.Inf(1), Max: math.Inf(-1)}
		f.byPath[path] = field
		f.Fields = append(f.Fields, field)
	}
	return field
}

// scalar notes a value: nil, a bool, a json.Number or a string.
func (f *Facts) scalar(path string, value any, at event.Time) {
	field := f.field(path)
	if field == nil {
		return
	}
	var v event.Value
	var text string
	switch x := value.(type) {
	case nil:
		field.Null++
		return
	case bool:
		field.Bools++
		if text = "false"; x {
			text = "true"
		}
	case json.Number:
		field.Numbers++
		text = x.String()
		v = event.Value{Kind: event.Number, Bytes: []byte(text)}
		n, _ := v.Float()
		field.Min, field.Max = min(field.Min, n), max(field.Max, n)
		if _, behind, ok := strings.Cut(text, "."); ok && field.Scale >= 0 {
			field.Scale = max(field.Scale, len(behind))
		}
		if strings.ContainsAny(text, "eE") {
			field.Scale = -1
		}
	case string:
		field.Texts++
		text = x
		v = event.Value{Kind: event.String, Bytes: []byte(text)}
	}
	field.Present++
	if field.Values[text] == 0 {
		field.order = append(field.order, text)
	}
	field.Values[text]++
	for i, unit := range units {
		if t, ok := v.Time(unit); ok && t > at-near && t < at+near {
			field.times[i]++
		}
	}
}

func isNumber(text string) bool {
	_, ok := event.Value{Kind: event.Number, Bytes: []byte(text)}.Float()
	return ok
}
