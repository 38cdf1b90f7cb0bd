package infer

import (
	"context"
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
	schemas  map[schemaKey]*schema          // nil: it cannot be had
	troubles int
	trouble  error // the first
}

type schemaKey struct {
	format event.Format
	id     event.SchemaID
}

// A schema reads the values of records that were written with it.
type schema struct {
	*event.Schema
	form
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
	d := &decoder{from: from, names: map[event.Format]*event.Reader{}, schemas: map[schemaKey]*schema{}}
	for _, format := range []event.Format{event.Avro, event.Protobuf} {
		d.names[format], _ = event.NewReader(event.Form{Format: format, Framed: true}, nil) // no path is wrong
	}
	return d
}

// formOf returns the form of a record.
func (d *decoder) formOf(ctx context.Context, rec *event.Record) form {
	if d.from.File == nil {
		if of, ok := document(rec.Value); ok {
			return of
		}
		if schemaOf(rec) == "" {
			return columns(rec.Value)
		}
	}
	if s := d.find(ctx, rec); s != nil {
		if _, err := s.open(rec); err == nil {
			return s.form
		}
	}
	return unknown
}

// errNoSchema is the error of a schema that no record was read with.
var errNoSchema = errors.New("infer: the schema cannot be had")

// Schema returns the schema of an id that records name. It asks nothing.
func (f *Facts) Schema(_ context.Context, id event.SchemaID) (*event.Schema, error) {
	if s := f.decoder.schemas[schemaKey{f.Format, id}]; s != nil {
		return s.Schema, nil
	}
	return nil, errNoSchema
}

// find returns the schema of a record; nil if it has none that can be had. A name does not tell the
// format, so both are tried.
func (d *decoder) find(ctx context.Context, rec *event.Record) *schema {
	if d.from.File != nil {
		s, _ := d.schema(ctx, schemaKey{format: d.from.Format})
		return s
	}
	var trouble error
	for _, format := range []event.Format{event.Avro, event.Protobuf} {
		id, none := d.names[format].Select(rec) // never selects a schema, because it learns none
		if none || d.from.Registry == nil {
			break
		}
		s, err := d.schema(ctx, schemaKey{format, id})
		if s != nil {
			return s
		}
		if trouble == nil || errors.Is(trouble, schemas.ErrFormat) {
			trouble = err
		}
		// A registry that does not answer is asked for nothing else, because each question would take as long.
		var silent net.Error
		if errors.As(err, &silent) && silent.Timeout() {
			d.troubles = maxTroubles
		}
	}
	if trouble != nil {
		if d.troubles++; d.trouble == nil {
			d.trouble = trouble
		}
	}
	return nil
}

// schema returns a schema, with an error when it is asked for and cannot be had.
func (d *decoder) schema(ctx context.Context, key schemaKey) (s *schema, err error) {
	s, known := d.schemas[key]
	if !known && d.troubles < maxTroubles {
		s, err = d.load(ctx, key)
		d.schemas[key] = s
	}
	return s, err
}

// load makes the readers of a schema.
func (d *decoder) load(ctx context.Context, key schemaKey) (*schema, error) {
	var found *event.Schema
	var err error
	if d.from.File != nil {
		found, err = d.from.File.Schema(ctx, key.id)
	} else {
		found, err = d.from.Registry.For(key.format).Schema(ctx, key.id)
	}
	if err != nil {
		return nil, err
	}
	s := &schema{Schema: found, form: form{key.format, found.Events(event.Whole) != nil}}
	in, events := event.Form{Format: key.format, Framed: d.from.File == nil}, found
	if s.whole {
		in.Each, events = event.Whole, found.Events(event.Whole)
	}
	s.leaves, s.more = events.Leaves(maxFields)
	for left := s.leaves; len(left) > 0 || s.parts == nil; {
		n := min(len(left), event.MaxPaths-1) // the array is one too
		paths := make([]string, n)
		for i := range paths {
			paths[i] = left[i].Path
		}
		r, err := event.NewReader(in, paths)
		if err != nil {
			return nil, err
		}
		r.Learn(key.id, found)
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
		f.more = f.more || s.more
		for i, leaf := range s.leaves {
			value := s.parts[i/(event.MaxPaths-1)].values[i%(event.MaxPaths-1)]
			f.value(leaf.Path, value, rec.Time, 1)
			if value.Kind == event.Composite && s.Events(leaf.Path) != nil {
				f.array(leaf.Path)
			}
			if x := f.byPath[leaf.Path]; x != nil && leaf.Unit != event.RecordTime {
				x.declared, x.unit = true, leaf.Unit
			}
		}
		f.envelope(rec)
	}
}
