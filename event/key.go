package event

import "strings"

// With Form.Keyed the key of each record names its schema too, in front of it or in a header of its
// own, as Confluent's serializers of keys write it. The key is then read as a value is: with a
// reader of its own, whose programs are of the same schemas.

// keySchemaHeader is the header that names the schema of a key, if the key does not.
const keySchemaHeader = "__key_schema_id"

// errKeyBoth: a key with a schema is a value by itself or a record, and not both.
var errKeyBoth = &PathConflict{"key:", "has a schema: it is read as a value or by its fields, and not both"}

// A keyReader reads the values at paths that lead into keys that have a schema.
type keyReader struct {
	reader *Reader
	rec    Record // whose value is the key
	null   bool   // the selected record has no key
	vals   []Value
	at     []int // slots of vals
}

// newKeyReader returns nil if no path leads into the key.
func newKeyReader(format Format, paths []string, texts *scratch) (*keyReader, error) {
	k := &keyReader{}
	var inside []string
	whole := false
	for slot, path := range paths {
		if in, rest := splitPath(path); in == inKey {
			inside, k.at = append(inside, rest), append(k.at, slot)
			whole = whole || rest == ""
		}
	}
	if inside == nil {
		return nil, nil
	}
	k.vals = make([]Value, len(inside))
	form := Form{Format: format, Framed: true}
	if !whole {
		var err error
		if k.reader, err = newReader(form, inside, texts); err != nil {
			return nil, err
		}
		k.reader.header = keySchemaHeader
		return k, nil
	}
	if len(inside) > 1 {
		return nil, errKeyBoth
	}
	k.reader = &Reader{format: format, framed: true, programs: map[SchemaID]*program{}, header: keySchemaHeader, whole: true, scratch: texts, walk: walk{scratch: texts}}
	return k, nil
}

// choose finds the program for the key of a record, as Select does for the value.
func (k *keyReader) choose(rec *Record) (need SchemaID, ok bool) {
	k.null = rec.Envelope == nil || rec.Envelope.Key == nil
	if k.null {
		return "", true
	}
	k.rec = Record{Value: rec.Envelope.Key, Envelope: rec.Envelope}
	return k.reader.Select(&k.rec)
}

// read sets the values of the paths that lead into the key of the chosen record.
func (k *keyReader) read(vals []Value) error {
	if k.null {
		clear(k.vals)
	} else if err := k.reader.walked(k.vals); err != nil {
		return &keyError{err}
	}
	for i, slot := range k.at {
		vals[slot] = k.vals[i]
	}
	return nil
}

// A keyError says why the key of a record cannot be read.
type keyError struct{ err error }

func (e *keyError) Error() string {
	return "event: the record's key: " + strings.TrimPrefix(e.err.Error(), "event: ")
}
func (e *keyError) Unwrap() error { return e.err }

// readWhole makes the program read the value itself, at slot 0. A message is no text and no number.
func (p *program) readWhole(s *Schema) {
	if s.Avro == nil {
		p.proto = compileProto(s.Message, &branch{})
		p.proto.whole = true
		return
	}
	p.avro = &avroBlock{}
	newAvroCompiler().read(p.avro, s.Avro, 0)
}
