package event

import (
	"fmt"
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
)

var formatNames = [...]string{"json", "json-schema", "avro", "protobuf"}

// HasSchema reports whether records of the format can be read only with a schema.
func (f Format) HasSchema() bool { return f == Avro || f == Protobuf }

// Formats returns the names of all formats.
func Formats() []string { return formatNames[:] }

// String returns the format's name in a configuration.
func (f Format) String() string { return formatNames[f] }

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	for i, n := range formatNames {
		if n == name {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("event: unknown format %q: want %s", name, strings.Join(formatNames[:], ", "))
}
