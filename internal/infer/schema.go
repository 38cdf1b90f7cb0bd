package infer

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"weir/event"
	"weir/schemas"
)

// Schemas says where the schemas of records are. The zero value knows none.
type Schemas struct {
	Registry *schemas.Registry // has those that records name; nil: there is none

	File    *schemas.File // is that of all records, which name none; nil: there is none
	Format  event.Format  // of File
	Name    string        // of File, as a configuration has it
	Message string        // of File
}

// maxTroubles is how many schemas may not be had before no other is asked for. Records that
// begin with a 0 by chance name many.
const maxTroubles = 10

// A decoder reads records that need a schema.
type decoder struct {
	from     Schemas
	names    map[event.Format]*event.Reader // which tell the id of a record
	formats  map[event.SchemaID]event.Format
	schemas  map[event.SchemaID]*schema // nil: it cannot be had
	troubles int
	trouble  error // the first
}

// A schema reads the values of records that were written with it.
type schema struct {
	*event.Schema
	id     event.SchemaID
	format event.Format
	framed bool
	whole  bool              // its values are arrays of events
	values                   // of a record
	events map[string]values // of an event, by the path of their array
}

// values are read by some readers: each has a bounded number of paths.
type values struct {
	leaves []event.Leaf
	more   bool
	parts  []part
}

// A part reads some of the leaves: a reader has a bounded number of paths.
type part struct {
	reader *event.Reader
	values []event.Value
}

func newDecoder(from Schemas) *decoder {
	d := &decoder{from: from, names: map[event.Format]*event.Reader{}, formats: map[event.SchemaID]event.Format{}, schemas: map[event.SchemaID]*schema{}}
	for _, format := range []event.Format{event.Avro, event.Protobuf} {
		d.names[format], _ = event.NewReader(event.Form{Format: format, Framed: true}, nil) // no path is wrong
	}
	return d
}

// formOf returns the form of a record, if it can be read.
func (d *decoder) formOf(ctx context.Context, rec *event.Record) (form, bool) {
	if d.from.File == nil {
		if form, ok := document(rec.Value); ok {
			return form, true
		}
		if schemaOf(rec) == "" {
			return columns(rec.Value)
		}
	}
	if s := d.find(ctx, rec); s != nil && s.read(rec) == nil {
		return form{s.format, s.whole}, true
	}
	return form{}, false
}

// errNoSchema is the error of a schema that no record was read with.
var errNoSchema = errors.New("infer: the schema cannot be had")

// Schema returns the schema of an id that records name. It asks nothing.
func (f *Facts) Schema(_ context.Context, id event.SchemaID) (*event.Schema, error) {
	if s := f.decoder.schemas[id]; s != nil {
		return s.Schema, nil
	}
	return nil, errNoSchema
}

// find returns the schema of a record; nil if it has none that can be had.
func (d *decoder) find(ctx context.Context, rec *event.Record) *schema {
	format, id := d.from.Format, event.SchemaID("")
	if d.from.File == nil {
		name, none := d.names[event.Avro].Select(rec) // never selects one, because it learns none
		if none || d.from.Registry == nil {
			return nil
		}
		var known bool
		if format, known = d.formats[name]; !known {
			if d.troubles >= maxTroubles {
				return nil
			}
			var err error
			if format, err = d.from.Registry.Format(ctx, name); err != nil {
				d.fail(err)
			}
			if err != nil || !format.HasSchema() {
				format = unknown
			}
			d.formats[name] = format
		}
		if format == unknown {
			return nil
		}
		if id, none = d.names[format].Select(rec); none {
			return nil
		}
	}
	s, known := d.schemas[id]
	if !known {
		var err error
		if s, err = d.load(ctx, format, id); err != nil {
			d.fail(err)
		}
		d.schemas[id] = s
	}
	return s
}

// fail notes why a schema cannot be had. A registry that does not answer is asked for no other,
// because each question would take as long.
func (d *decoder) fail(err error) {
	d.troubles++
	var silent net.Error
	if errors.As(err, &silent) && silent.Timeout() {
		d.troubles = maxTroubles
	}
	if d.trouble == nil {
		d.trouble = err
	}
}

// load makes the readers of a schema.
func (d *decoder) load(ctx context.Context, format event.Format, id event.SchemaID) (*schema, error) {
	var of interface {
		Schema(context.Context, event.SchemaID) (*event.Schema, error)
	} = d.from.File
	if d.from.File == nil {
		of = d.from.Registry.For(format)
	}
	found, err := of.Schema(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &schema{Schema: found, id: id, format: format, framed: d.from.File == nil, whole: found.Events(event.Whole) != nil, events: map[string]values{}}
	s.values, err = s.compile("")
	return s, err
}

// compile makes the readers of the values of a record or, if each is not empty, of an event in the array there.
func (s *schema) compile(each string) (v values, err error) {
	of := s.Schema
	if each != "" {
		if of = s.Events(each); of == nil {
			return v, nil
		}
	}
	v.leaves, v.more = of.Leaves(maxFields)
	if each != "" && each != event.Whole {
		beside, more := s.Leaves(maxFields - len(v.leaves))
		v.more = v.more || more
		for _, leaf := range beside {
			if leaf.Path != each {
				leaf.Path = event.OfRecord + leaf.Path
				v.leaves = append(v.leaves, leaf)
			}
		}
	}
	for left := v.leaves; ; {
		n := min(len(left), event.MaxPaths-1) // the array is one too
		paths := make([]string, n)
		for i := range paths {
			paths[i] = left[i].Path
		}
		r, err := event.NewReader(event.Form{Format: s.format, Framed: s.framed, Each: each}, paths)
		if err != nil {
			return v, err
		}
		r.Learn(s.id, s.Schema)
		v.parts = append(v.parts, part{r, make([]event.Value, n)})
		if left = left[n:]; len(left) == 0 {
			return v, nil
		}
	}
}

// noArray reports whether no schema of a format has an array of records at a path.
func (d *decoder) noArray(format event.Format, path string) bool {
	if !format.HasSchema() {
		return false
	}
	for _, s := range d.schemas {
		if s != nil && s.format == format && s.Events(path) != nil {
			return false
		}
	}
	return true
}

// read reads the values of a record, until the next call.
func (s *schema) read(rec *event.Record) error {
	for _, p := range s.parts {
		p.reader.Select(rec)
		if err := p.reader.Read(rec, p.values); err != nil {
			return err
		}
	}
	return nil
}

// note notes the values of a record that can be read, or of its events. Fields without a value are noted too.
func (s *schema) note(f *Facts, rec *event.Record) {
	if f.Each == "" {
		_ = s.read(rec) // without error, as before
		s.values.note(f, s.Schema, rec)
		return
	}
	v, ok := s.events[f.Each]
	if !ok {
		v, _ = s.compile(f.Each) // the leaves of a schema are paths
		s.events[f.Each] = v
	}
	n := 0
	for _, p := range v.parts {
		p.reader.Select(rec)
		var err error
		if n, err = p.reader.Open(rec); err != nil {
			return
		}
	}
	for i := range n {
		good := true
		for _, p := range v.parts {
			good = good && p.reader.ReadEvent(i, p.values) == nil
		}
		if good {
			v.note(f, nil, rec)
		}
	}
}

// note notes what has been read of an event. Arrays of records of the schema, if there is one, are noted as such.
func (v *values) note(f *Facts, of *event.Schema, rec *event.Record) {
	f.More = f.More || v.more
	for i, leaf := range v.leaves {
		value := v.parts[i/(event.MaxPaths-1)].values[i%(event.MaxPaths-1)]
		switch text := string(value.Bytes); value.Kind {
		case event.String:
			f.text(leaf.Path, text, rec.Time, 1)
		case event.Number:
			f.scalar(leaf.Path, json.Number(text), rec.Time)
		case event.Bool:
			f.scalar(leaf.Path, text == "true", rec.Time)
		default:
			if field := f.field(leaf.Path); field != nil && value.Kind == event.Composite {
				field.Present++
				field.Others++
				if of != nil && of.Events(leaf.Path) != nil {
					f.arrays[leaf.Path]++
				}
			}
		}
		if field := f.byPath[leaf.Path]; field != nil && leaf.Unit != event.RecordTime {
			field.isTime, field.unit = true, leaf.Unit
		}
	}
	f.envelope(rec)
}
