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
	format event.Format
	leaves []event.Leaf
	more   bool
	parts  []part
	whole  bool // its values are arrays of events
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
	if s := d.find(ctx, rec); s != nil {
		if _, err := s.open(rec); err == nil {
			return form{s.format, s.whole}, true
		}
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
	s := &schema{Schema: found, format: format, whole: found.Events(event.Whole) != nil}
	form, events := event.Form{Format: format, Framed: d.from.File == nil}, found
	if s.whole {
		form.Each, events = event.Whole, found.Events(event.Whole)
	}
	s.leaves, s.more = events.Leaves(maxFields)
	for left := s.leaves; len(left) > 0 || s.parts == nil; {
		n := min(len(left), event.MaxPaths-1) // the array is one too
		paths := make([]string, n)
		for i := range paths {
			paths[i] = left[i].Path
		}
		r, err := event.NewReader(form, paths)
		if err != nil {
			return nil, err
		}
		r.Learn(id, found)
		s.parts = append(s.parts, part{r, make([]event.Value, n)})
		left = left[n:]
	}
	return s, nil
}

// open returns how many events a record has; an error if it cannot be read.
func (s *schema) open(rec *event.Record) (n int, err error) {
	for _, p := range s.parts {
		p.reader.Select(rec)
		if !s.whole {
			n, err = 1, p.reader.Read(rec, p.values)
		} else {
			n, err = p.reader.Open(rec)
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// note notes the values of the events of a record. Fields without a value are noted too.
func (s *schema) note(f *Facts, rec *event.Record) {
	n, _ := s.open(rec) // without error, as before
	for i := range n {
		for _, p := range s.parts {
			if s.whole && p.reader.ReadEvent(i, p.values) != nil {
				return
			}
		}
		f.More = f.More || s.more
		for i, leaf := range s.leaves {
			value := s.parts[i/(event.MaxPaths-1)].values[i%(event.MaxPaths-1)]
			switch text := string(value.Bytes); value.Kind {
			case event.String:
				f.text(leaf.Path, text, rec.Time, 1)
			case event.Number:
				f.scalar(leaf.Path, json.Number(text), rec.Time)
			case event.Bool:
				f.scalar(leaf.Path, text == "true", rec.Time)
			case event.Composite:
				f.composite(leaf.Path, s.Events(leaf.Path) != nil)
			}
			if field := f.field(leaf.Path); field != nil && leaf.Unit != event.RecordTime {
				field.isTime, field.unit = true, leaf.Unit
			}
		}
		f.envelope(rec)
	}
}
