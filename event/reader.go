package event

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"weir/internal/cacheline"
)

// A Reader finds the values at a fixed set of paths in records of one format: in the value,
// the key and the headers. Like a Scanner it serves one goroutine, and does not allocate once
// its scratch has grown to what the records between two calls of Begin need.
//
// JSON is read by itself. For the other formats each record needs a schema: Select says
// which one, and Learn compiles it to a program.
type Reader struct {
	_        cacheline.Pad
	format   Format
	framed   bool            // each record names its schema
	glue     bool            // as AWS Glue's serializers do it
	alone    *Scanner        // json, if nothing else is to be done
	json     *Scanner        // of JSON
	cells    *cellReader     // of TSV and CSV
	root     *branch         // of the other formats
	envelope *envelopeReader // nil: no path leads there
	key      *keyReader      // of keys that have a schema; nil: no path leads there
	inside   *insideReader   // nil: no path leads into a text
	each     *eachReader     // nil: a record is one event
	faults   *Scanner        // finds faults again; nil: none yet

	walk     walk
	programs map[SchemaID]*program
	last     []byte // the id of program
	program  *program
	body     []byte   // of the selected record: what its schema describes
	err      error    // why the selected record names none
	header   string   // names the schema of a record
	whole    bool     // the only value is the body itself
	inflater inflater // behind what the other formats use of a record
	*scratch
	_ cacheline.Pad
}

// maxPrograms bounds what a producer of many schemas can make a reader keep.
const maxPrograms = 1024

// A program reads values that were written with one schema.
type program struct {
	avro  *avroBlock
	proto *protoProgram
	event *protoProgram // with Form.Each: of an event
	wrong error
}

// NewReader compiles paths: see CheckPath. Where a form has one schema for all records, it
// has the empty id.
func NewReader(form Form, paths []string) (*Reader, error) {
	return newReader(form, paths, new(scratch))
}

func newReader(form Form, paths []string, texts *scratch) (*Reader, error) {
	r := &Reader{format: form.Format, framed: form.Framed, glue: form.Glue, header: schemaHeader, programs: map[SchemaID]*program{}, scratch: texts, walk: walk{scratch: texts}}
	paths, in, err := newInsideReader(&form, paths, texts)
	if err != nil {
		return nil, err
	}
	r.inside = in
	ofEvent := func(path string) bool { return !InEnvelope(path) }
	if form.Each != "" {
		if !form.Format.HasEach() {
			return nil, fmt.Errorf("event: arrays of events in records of %s", form.Format)
		}
		if r.each, err = newEachReader(&form, paths, texts); err != nil {
			return nil, err
		}
		ofEvent = func(path string) bool { return !InEnvelope(path) && !strings.HasPrefix(path, OfRecord) }
	}
	if form.Format.HasColumns() {
		if r.cells, err = newCellReader(form.Format, form.Columns, paths, texts); err != nil {
			return nil, err
		}
	} else if r.root, err = newBranch(paths, ofEvent); err != nil {
		return nil, err
	} else if r.format == None && r.root.keys != nil {
		return nil, errors.New("event: nothing is read of a value of the format none")
	} else if !r.Selects() && r.format != None {
		r.json = scannerOf(r.root, len(paths), texts)
	}
	if form.Keyed {
		if r.key, err = newKeyReader(form.Format, paths, texts); err != nil {
			return nil, err
		}
	}
	if r.envelope, err = newEnvelopeReader(paths, form.Keyed, texts); r.envelope == nil && r.inside == nil && r.each == nil && r.format == JSON {
		r.alone = r.json
	}
	return r, err
}

// Begin forgets the values that were read before, but for those that the events of an opened record share if
// more of its events are to be read.
func (r *Reader) Begin(more bool) {
	if !more {
		r.shared = 0
	}
	r.forget()
}

// Full reports whether the values that were read since Begin take much memory.
func (r *Reader) Full() bool { return len(r.text)-r.kept > keepText/4 }

// TimeOnly tells the reader that nothing but Value.Time reads the value at a path. A whole number
// of Avro or Protobuf is then an Integer, because making a text of it and reading that again
// takes a tenth of the time for an event.
func (r *Reader) TimeOnly(path int) {
	if r.inside == nil { // else the reader has paths of its own
		r.walk.time = path + 1
	}
}

// Selects reports whether Select must be called before Read.
func (r *Reader) Selects() bool { return r.format.HasSchema() }

// Select finds the program for a record. If ok is false, the reader must Learn the schema need
// and select again. A record that names no schema is selected, and refused by Read.
func (r *Reader) Select(rec *Record) (need SchemaID, ok bool) {
	if need, ok = r.choose(rec); ok && r.key != nil {
		return r.key.choose(rec)
	}
	return need, ok
}

// choose finds the program for the value of a record.
func (r *Reader) choose(rec *Record) (need SchemaID, ok bool) {
	id := []byte(nil)
	if r.body, r.err = rec.Value, nil; rec.Value == nil {
		r.err = ErrEmpty
		return "", true
	}
	if r.framed {
		// Most records name the schema of the one before. No id is the beginning of another.
		if n := len(r.last); r.program != nil && len(rec.Value) >= n && string(rec.Value[:n]) == string(r.last) && (rec.Envelope == nil || len(rec.Envelope.Headers) <= 1) {
			if r.body = rec.Value[n:]; r.glue {
				r.body, r.err = r.inflated(r.last, r.body)
			}
			return "", true
		}
		named, inHeader := []byte(nil), false
		if rec.Envelope != nil && !r.glue {
			named, inHeader = rec.Envelope.Headers.last(r.header)
		}
		if inHeader {
			var rest []byte
			if id, rest, r.err = frame(named, r.format == Protobuf); r.err == nil && len(rest) > 0 {
				r.err = ErrNoFrame
			}
		} else if r.glue {
			if id, r.body, r.err = glueFrame(rec.Value); r.err == nil {
				r.body, r.err = r.inflated(id, r.body)
			}
		} else {
			id, r.body, r.err = frame(rec.Value, r.format == Protobuf)
		}
		if errors.Is(r.err, ErrNoFrame) && rec.Envelope != nil {
			rec.Envelope.Headers.Each(func(name, _ []byte) {
				if bytes.HasPrefix(name, apicurioHeader) {
					r.err = ErrApicurio
				}
			})
		}
		if r.err != nil {
			return "", true
		}
	}
	if r.program != nil && bytes.Equal(id, r.last) {
		return "", true
	}
	p := r.programs[SchemaID(id)]
	if p == nil {
		return SchemaID(id), false
	}
	r.program, r.last = p, append(r.last[:0], id...)
	return "", true
}

// Learn compiles the schema of an id.
func (r *Reader) Learn(id SchemaID, s *Schema) {
	if len(r.programs) >= maxPrograms {
		clear(r.programs)
	}
	p := &program{}
	switch {
	case s.Wrong != "":
		p.wrong = wrongSchema(s.Wrong)
	case r.whole:
		p.readWhole(s)
	case s.Avro != nil && r.each != nil:
		p.avro = compileAvroEach(s.Avro, r.each.binary.around, r.root)
	case s.Avro != nil:
		p.avro = compileAvro(s.Avro, r.root)
	case r.each != nil:
		p.proto, p.event = compileProtoEach(s.Message, r.each.binary.around, r.root)
	default:
		p.proto = compileProto(s.Message, r.root)
	}
	r.programs[id] = p
	if r.key != nil {
		r.key.reader.Learn(id, s)
	}
}

// wrongSchema is the error of a record whose schema cannot be used.
type wrongSchema string

func (w wrongSchema) Error() string { return "event: " + string(w) }

// Read sets vals[i] to the value at the i-th path, unless the form has Each: see Open. The values are valid until Begin. If it returns an error, the record is
// malformed, and vals are not valid. The error depends on the record and its schema alone.
func (r *Reader) Read(rec *Record, vals []Value) error {
	if r.alone != nil {
		err := r.alone.scan(rec.Value, vals)
		if err != nil {
			if _, framed := r.document(rec.Value); framed != nil {
				return framed
			}
		}
		return err
	}
	return r.read(rec, vals)
}

func (r *Reader) read(rec *Record, vals []Value) (err error) {
	found := vals
	if r.inside != nil {
		found = r.inside.found
	}
	switch {
	case r.json != nil:
		var doc []byte
		if doc, err = r.document(rec.Value); err == nil {
			err = r.json.scan(doc, found)
		}
	case r.format == None:
		clear(found)
	case r.cells != nil:
		err = r.cells.read(rec.Value, found)
	default:
		err = r.walked(found)
	}
	if err != nil {
		return err
	}
	return r.readBeside(rec, found, vals)
}

// readBeside reads what is not in the value of a record, its key and headers, and then the documents in texts.
func (r *Reader) readBeside(rec *Record, found, vals []Value) (err error) {
	if r.envelope != nil {
		err = r.envelope.read(rec.Envelope, found)
	}
	if err == nil && r.key != nil {
		err = r.key.read(found)
	}
	if err == nil && r.inside != nil {
		err = r.inside.read(vals)
	}
	return err
}

// First is Field.First for values that the reader has read. Its result is valid as long as they are.
func (r *Reader) First(f *Field, vals []Value, at []int) (v Value) {
	v, r.text = f.First(vals, at, r.text)
	return v
}

// document returns the JSON document of a value. No document begins with the bytes 0, 1 and 3,
// as the names of schemas do.
func (r *Reader) document(value []byte) ([]byte, error) {
	if len(value) == 0 {
		return value, nil
	}
	if r.format != JSONSchema {
		if frameSize(value[0]) > 0 || value[0] == glueMagic {
			return nil, ErrFramed
		}
		return value, nil
	}
	if r.glue {
		if id, rest, err := glueFrame(value); err == nil {
			return r.inflated(id, rest)
		}
		return value, nil
	}
	if n := frameSize(value[0]); n <= len(value) {
		return value[n:], nil
	}
	return value, nil
}

// walked reads the selected record by its program.
func (r *Reader) walked(vals []Value) (err error) {
	p, w := r.program, &r.walk
	switch {
	case r.err != nil:
		return r.err
	case p.wrong != nil:
		return p.wrong
	}
	w.begin(r.body, vals)
	if p.avro != nil {
		err = w.readAvro(p.avro)
	} else {
		err = w.readProto(p.proto)
	}
	w.end()
	return err
}
