package infer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"unicode/utf8"

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

// A form is how a record is written.
type form struct {
	format event.Format
	whole  bool // it is an array of events
}

// A document is a record that can be read, with the objects that are its value or are in the array there.
type document struct {
	rec   *event.Record
	trees []map[string]any
}

// maxTroubles is how many schemas may not be had before no other is asked for. Records that
// begin with a 0 by chance name many.
const maxTroubles = 10

// schemaHeader is the header that names the schema of a value.
const schemaHeader = "__value_schema_id"

// A decoder reads records.
type decoder struct {
	from    Schemas
	names   [2]*event.Reader        // of formats, which tell the id of a record
	lost    map[event.SchemaID]bool // schemas that cannot be had
	silent  bool                    // the registry does not answer, so it is asked for nothing else
	trouble error                   // the first
}

// formats are those that need a schema.
var formats = [2]event.Format{event.Avro, event.Protobuf}

func newDecoder(from Schemas) *decoder {
	d := &decoder{from: from, lost: map[event.SchemaID]bool{}}
	for i, format := range formats {
		d.names[i], _ = event.NewReader(event.Form{Format: format, Framed: true}, nil) // no path is wrong
	}
	return d
}

// read returns the form of a record, and the objects that it has; nil if it cannot be read. name is the
// schema that it names, in words.
func (d *decoder) read(ctx context.Context, rec *event.Record) (of form, trees []map[string]any, name string) {
	id, none := d.names[0].Select(rec) // selects no schema, because it learns none
	if !none {
		name = id.Name().String()
	}
	if d.from.File == nil {
		value := rec.Value
		if !none && bytes.HasPrefix(value, []byte(id)) {
			of.format, value = event.JSONSchema, value[len(id):]
		}
		if trees, of.whole = objects(parse(value)); trees != nil {
			return of, trees, name
		}
		if none {
			of, trees = columns(rec.Value)
			return of, trees, name
		}
	}
	of, trees = d.binary(ctx, rec, id)
	return of, trees, name
}

// binary reads a record that needs a schema: the one of the file, or that of an id.
func (d *decoder) binary(ctx context.Context, rec *event.Record, id event.SchemaID) (of form, trees []map[string]any) {
	s, value := (*event.Schema)(nil), rec.Value
	if d.from.File != nil {
		of.format = d.from.Format
		s, _ = d.from.File.Schema(ctx, "") // without error
	} else if id != "" && d.from.Registry != nil {
		of.format, s, value = d.find(ctx, rec, id)
	}
	if s == nil || s.Tree == nil {
		return of, nil
	}
	v, err := s.Tree(value)
	if err != nil {
		return of, nil
	}
	trees, of.whole = objects(v)
	return of, trees
}

// find asks the registry for the schema of a record; nil if it cannot be had. An id does not tell the format, so
// both are tried.
func (d *decoder) find(ctx context.Context, rec *event.Record, id event.SchemaID) (event.Format, *event.Schema, []byte) {
	if d.lost[id] || len(d.lost) >= maxTroubles || d.silent {
		return 0, nil, nil
	}
	var trouble error
	for i, format := range formats {
		id, none := d.names[i].Select(rec) // with Protobuf, indexes are a part of it
		if none {
			break
		}
		s, err := d.from.Registry.For(format).Schema(ctx, id)
		if err == nil {
			return format, s, bytes.TrimPrefix(rec.Value, []byte(id))
		}
		if trouble == nil || errors.Is(trouble, schemas.ErrFormat) {
			trouble = err
		}
		var timeout net.Error
		if d.silent = errors.As(err, &timeout) && timeout.Timeout(); d.silent {
			break
		}
	}
	d.lost[id] = true
	d.trouble = cmp.Or(d.trouble, trouble)
	return 0, nil, nil
}

// objects returns the object that a tree is, or those in the array that it is; nil if it is neither.
func objects(tree any) (all []map[string]any, whole bool) {
	array, whole := tree.([]any)
	if !whole {
		array = []any{tree}
	}
	for _, element := range array {
		o, ok := element.(map[string]any)
		if !ok {
			return nil, whole
		}
		all = append(all, o)
	}
	return all, whole
}

// parse returns the tree of a text of JSON; nil if it is none.
func parse(text []byte) (tree any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&tree) != nil {
		return nil
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	return tree
}

// columns returns the cells of a line of TSV or CSV, by the names that weir gives to the columns.
func columns(value []byte) (of form, trees []map[string]any) {
	line := strings.TrimRight(string(value), "\r\n")
	var cells []string
	switch {
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
	case strings.Contains(line, "\t") && !strings.Contains(line, "\n"):
		of.format, cells = event.TSV, strings.Split(line, "\t")
	default:
		all, err := csv.NewReader(strings.NewReader(line)).ReadAll()
		if of.format = event.CSV; err == nil && len(all) == 1 && len(all[0]) > 1 {
			cells = all[0]
		}
	}
	if cells == nil {
		return form{}, nil
	}
	o := map[string]any{}
	for i, text := range cells {
		if _, number := (event.Value{Type: event.Number, Bytes: []byte(text)}).Float(); number {
			o[event.ColumnName(i)] = json.Number(text)
		} else if text != "" {
			o[event.ColumnName(i)] = text
		}
	}
	return of, []map[string]any{o}
}
