// Package infer says what is in the records of a topic, and writes a job that reads them.
//
//	f := infer.Read(ctx, records, infer.Schemas{}, config.IsPath)
//	f.Write(w, "clicks", "clicks", config.IsColumn)
//
// It is a guess from a sample, for a person to check: the fields with their types and values,
// and which of them look like the time, a group, an id of the event, users, positions and
// amounts. It knows JSON, TSV and CSV, and Avro and Protobuf if it is given where their schemas
// are. Each record becomes a tree, as encoding/json makes it, and all else is the same for every format.
//
//	infer.go    the facts: what is at each path
//	paths.go    the paths of all values, as a job writes them
//	records.go  trees of records
//	roles.go    what a job makes of a field
//	job.go      the text
package infer

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
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
	Framed  bool         // each of them names its schema
	Named   int          // others, which name schemas that are not known, or do not fit
	Schema  string       // the name of one of these
	Presets []string     // those that find in the events what they need
	Trouble error        // why one of these is not known; nil: nothing was asked
	events

	from        Schemas
	first, last event.Time // of the records
}

// events are what is known of the events of records, read in one way.
type events struct {
	Each   string // the array of events in each record, as in event.Form; empty: a record is one event
	Events int

	fields []*field          // by path
	more   bool              // there are more
	arrays []string          // paths of arrays of objects
	byPath map[string]*field // nil: no configuration can name the path
	isPath func(string) bool // as a configuration writes it
	at     event.Time        // of the record that is looked at
}

// A field is what is known of the values at one path.
type field struct {
	path     string                   // in the form of package event
	present  int                      // events in which it is there and not null
	types    [event.Composite + 1]int // how often each type comes
	values   map[string]int           // how often each value comes; of others than arrays and objects
	min, max float64                  // of the numbers
	scale    int                      // digits behind the point, at most, of those that are amounts
	odd      []string                 // values that do not fit the role, or some of them
	bad      int                      // how many do not
	times    [len(units)]int          // values that are a time near that of their record, by unit
}

// units are those that a value can have, the usual ones first.
var units = [...]event.Unit{event.Millis, event.RFC3339, event.ISO8601, event.Seconds, event.Micros, event.Nanos}

// Read looks at records, whose times are those that Kafka has. It asks the registry for the
// schemas that they name. isPath says whether a configuration can name a value at a path; values at others
// are left out.
func Read(ctx context.Context, records []event.Record, from Schemas, isPath func(string) bool) *Facts {
	f := &Facts{Records: len(records), from: from, first: math.MaxInt64}
	d := newDecoder(from)
	forms, usual := map[form][]document{}, form{}
	for i := range records {
		rec := &records[i]
		f.first, f.last = min(f.first, rec.Time), max(f.last, rec.Time)
		of, trees, name := d.read(ctx, rec)
		switch {
		case trees != nil:
			if forms[of] = append(forms[of], document{rec, trees}); len(forms[of]) > len(forms[usual]) {
				usual = of
			}
		case name != "":
			f.Named++
			f.Schema = cmp.Or(f.Schema, name)
		}
	}
	f.Trouble, f.Read = d.trouble, len(forms[usual])
	f.Format, f.Framed = usual.format, usual.format.HasSchema() && from.File == nil
	whole := ""
	if usual.whole {
		whole = event.Whole
	}
	single := look(forms[usual], whole, isPath)
	f.events = single
	for _, path := range single.arrays {
		if usual.whole || strings.ContainsAny(path, `.[:"`) || event.CheckEach(f.Format, path) != nil { // inside of something
			continue
		}
		if e := look(forms[usual], path, isPath); e.Events > f.Events && e.areEvents(&single) {
			f.events = e
		}
	}
	return f
}

// look notes the values of the events that documents have.
func look(documents []document, each string, isPath func(string) bool) events {
	e := events{Each: each, isPath: isPath, byPath: map[string]*field{}}
	for _, doc := range documents {
		e.at = doc.rec.Time
		for _, object := range doc.trees {
			if each == "" || each == event.Whole {
				e.event(object, nil, doc.rec.Envelope)
				continue
			}
			array, _ := object[each].([]any)
			beside := maps.Clone(object)
			delete(beside, each)
			for _, element := range array {
				if own, ok := element.(map[string]any); ok {
					e.event(own, beside, doc.rec.Envelope)
				}
			}
		}
	}
	slices.SortFunc(e.fields, func(a, b *field) int {
		return cmp.Or(cmp.Compare(truth(b.inEvent()), truth(a.inEvent())), cmp.Compare(a.column(), b.column()), strings.Compare(a.path, b.path))
	})
	return e
}

// areEvents reports whether the elements of an array look like events: they have a time of their own, which is near that
// of the record. Lines of an order, for example, have none. Where the records have a time too, the elements must
// have ids. What several gateways say of one message, for example, has none.
func (e *events) areEvents(records *events) bool {
	times := func(e *events) bool {
		return slices.ContainsFunc(e.fields, func(x *field) bool { return x.inEvent() && most(slices.Max(x.times[:]), e.Events) })
	}
	return times(e) && (!times(records) || slices.ContainsFunc(e.choose()[eventID], (*field).inEvent))
}

// event notes the values of an event: its own, those beside it, and those of the key and the headers.
func (e *events) event(own, beside map[string]any, env *event.Envelope) {
	e.Events++
	e.object("", own)
	e.object(event.OfRecord, beside)
	if env == nil {
		return
	}
	if key := env.Key; len(key) > 0 && key[0] > 1 && utf8.Valid(key) { // 0 and 1 name a schema
		if o, ok := parse(key).(map[string]any); ok {
			e.object("key:", o)
		} else {
			e.note("key:", event.Value{Type: event.String, Bytes: key})
		}
	}
	env.Headers.Each(func(name, value []byte) {
		if path := "header:" + string(name); string(name) != schemaHeader && event.CheckPath(path) == nil && utf8.Valid(name) && utf8.Valid(value) && value != nil {
			e.value(path, string(value))
		}
	})
}

// object notes the values of an object. before is the path in front of its keys.
func (e *events) object(before string, o map[string]any) {
	if strings.Count(before, ".") >= maxDepth {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if path := before + event.QuoteKey(key); event.CheckPath(strings.TrimPrefix(path, event.OfRecord)) == nil {
			e.value(path, o[key])
		}
	}
}

// value notes a value, or what is in it if that is an object, or a text with one.
func (e *events) value(path string, value any) {
	v := event.Value{Type: event.Null}
	switch x := value.(type) {
	case map[string]any:
		e.object(path+".", x)
		return
	case []any:
		v.Type = event.Composite
		if _, objects := append(x, nil)[0].(map[string]any); objects && !slices.Contains(e.arrays, path) && e.field(path) != nil {
			e.arrays = append(e.arrays, path)
		}
	case bool:
		if v = (event.Value{Type: event.Bool, Bytes: []byte("false")}); x {
			v.Bytes = []byte("true")
		}
	case json.Number:
		v = event.Value{Type: event.Number, Bytes: []byte(x)}
	case string:
		if strings.HasPrefix(x, "{") {
			if o, ok := parse([]byte(x)).(map[string]any); ok {
				e.object(path+"[json].", o)
				return
			}
		}
		v = event.Value{Type: event.String, Bytes: []byte(x)}
	}
	e.note(path, v)
}

// field returns the facts of a path; nil if there are too many, or no configuration can name it.
func (e *events) field(path string) *field {
	x, known := e.byPath[path]
	switch {
	case known:
	case !e.isPath(event.PathText(path)):
		e.byPath[path] = nil
	case len(e.fields) == maxFields:
		e.more = true
	default:
		x = &field{path: path, values: map[string]int{}, min: math.Inf(1), max: math.Inf(-1)}
		e.byPath[path] = x
		e.fields = append(e.fields, x)
	}
	return x
}

// note notes a value at a path.
func (e *events) note(path string, v event.Value) {
	x := e.field(path)
	if x == nil {
		return
	}
	if x.types[v.Type]++; v.Type == event.Null {
		return
	}
	if x.present++; v.Type == event.Composite {
		return
	}
	x.values[string(v.Bytes)]++
	if v.Type == event.Number {
		n, _ := v.Float()
		x.min, x.max = min(x.min, n), max(x.max, n)
	}
	if digits, ok := amountDigits(v); ok {
		x.scale = max(x.scale, digits)
	}
	for i, unit := range units {
		if t, ok := v.Time(unit); ok && t > e.at-near && t < e.at+near {
			x.times[i]++
		}
	}
}

// of counts the values of some types.
func (x *field) of(types ...event.Type) (n int) {
	for _, t := range types {
		n += x.types[t]
	}
	return n
}

// most reports whether n of some are nearly all. One record in twenty may be damaged.
func most(n, of int) bool { return 20*n >= 19*of }

// Has reports whether events have a value at a path.
func (f *Facts) Has(path string) bool {
	x := f.byPath[path]
	return x != nil && x.present > 0
}

// inEvent reports whether a field is one of the event itself, and not of its record.
func (x *field) inEvent() bool {
	return !event.InEnvelope(x.path) && !strings.HasPrefix(x.path, event.OfRecord)
}

// last returns the last key of a path.
func (x *field) last() string {
	if x.path == "key:" {
		return "key"
	}
	if end := len(x.path) - 1; x.path[end] == '"' {
		return x.path[strings.LastIndexByte(x.path[:end], '"'):]
	}
	return x.path[strings.LastIndexAny(x.path, ".:")+1:]
}

// column returns the number of a column that has no name; 0 if the field is none.
func (x *field) column() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(x.path, "c"))
	return n
}

// parent returns the path without its last key.
func (x *field) parent() string { return strings.TrimSuffix(x.path, x.last()) }

// overlaps reports whether the path is also that of an object in more than a few events. One job cannot read it as
// both.
func (x *field) overlaps(all []*field) bool {
	return slices.ContainsFunc(all, func(o *field) bool {
		return !most(x.present, x.present+o.present) && (inside(o.path, x.path) || inside(x.path, o.path))
	})
}

// inside reports whether path a leads into the value at b.
func inside(a, b string) bool {
	rest, ok := strings.CutPrefix(a, b)
	return ok && rest != "" && strings.ContainsAny(rest[:1], ".[")
}
