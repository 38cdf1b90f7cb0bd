package event

import (
	"fmt"
	"slices"
	"strings"
)

// A Format says what the bytes of a record's value are.
type Format uint8

// The formats.
const (
	JSON       Format = iota // one JSON object
	JSONSchema               // a JSON object, perhaps behind the name of its schema, which is skipped
	Avro                     // Avro's binary encoding
	Protobuf                 // a message of Protocol Buffers
	TSV                      // one line of cells with tabs between them
	CSV                      // one line of cells with commas between them
	None                     // anything: nothing is read of the value
)

var formatNames = [...]string{"json", "json-schema", "avro", "protobuf", "tsv", "csv", "none"}

// A Form says how the records of a job are read. The zero value is JSON.
type Form struct {
	Format  Format
	Framed  bool     // each record names its schema, as with a registry; otherwise all have one
	Glue    bool     // as AWS Glue's serializers do it, with Avro and JSONSchema
	Keyed   bool     // the keys name their schemas too, and have the format; with Framed
	Columns []string // names of the columns of cells; nil: those of ColumnName
	Each    string   // path of the array that has the events of a record, or Whole; empty: a record is one event
}

// HasColumns reports whether records of the format are lines of cells.
func (f Format) HasColumns() bool { return f == TSV || f == CSV }

// HasSchema reports whether records of the format can be read only with a schema.
func (f Format) HasSchema() bool { return f == Avro || f == Protobuf }

// cloudEvents is another name of JSON: of CloudEvents in both modes the value is a JSON object,
// and the attributes in headers are paths as in every format.
const cloudEvents = "cloudevents"

// Formats returns the names of all formats.
func Formats() []string { return append(slices.Clone(formatNames[:]), cloudEvents) }

// String returns the format's name in a configuration.
func (f Format) String() string { return formatNames[f] }

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	if name == cloudEvents {
		return JSON, nil
	}
	for i, n := range formatNames {
		if n == name {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("event: unknown format %q: want %s", name, strings.Join(Formats(), ", "))
}
