package schemas

import (
	"encoding/json"
	"fmt"

	"github.com/twmb/avro"

	"weir/event"
)

// parseAvro parses an Avro schema. references are the schemas of the named types that it uses,
// each after those that it uses itself.
func parseAvro(text string, references []string) (*event.Schema, error) {
	var cache avro.SchemaCache
	seen := map[string]bool{}
	for _, r := range references {
		if seen[r] {
			continue
		}
		seen[r] = true
		if _, err := cache.Parse(withoutDefaults(r), avro.WithLaxNames(nil)); err != nil {
			return nil, fmt.Errorf("a schema that it refers to: %w", err)
		}
	}
	parsed, err := cache.Parse(withoutDefaults(text), avro.WithLaxNames(nil))
	if err != nil {
		return nil, err
	}
	c := avroTypes{}
	t, err := c.of(parsed.Root(), "")
	return &event.Schema{Avro: t}, err
}

// withoutDefaults removes the defaults of fields and enums from the text of a schema. They are
// for readers that have a schema of their own, which weir has not. The library refuses a
// schema with a default that is not of its field's type, and others have registered such.
func withoutDefaults(text string) string {
	var schema any
	if json.Unmarshal([]byte(text), &schema) != nil {
		return text // the library says what is wrong
	}
	dropDefaults(schema)
	out, err := json.Marshal(schema)
	if err != nil {
		return text
	}
	return string(out)
}

func dropDefaults(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			dropDefaults(v)
		}
	case map[string]any:
		delete(s, "default")
		for _, v := range s {
			dropDefaults(v)
		}
	}
}

// avroTypes has the named types of a schema, by their full names.
type avroTypes map[string]*event.AvroType

var avroKinds = map[string]event.AvroKind{
	"null": event.AvroNull, "boolean": event.AvroBoolean, "int": event.AvroInt, "long": event.AvroLong, "float": event.AvroFloat, "double": event.AvroDouble,
	"bytes": event.AvroBytes, "string": event.AvroString, "fixed": event.AvroFixed, "enum": event.AvroEnum, "record": event.AvroRecord, "error": event.AvroRecord,
	"array": event.AvroArray, "map": event.AvroMap, "union": event.AvroUnion,
}

var avroTimes = map[string]event.AvroLogical{"timestamp-millis": event.AvroMillis, "timestamp-micros": event.AvroMicros, "timestamp-nanos": event.AvroNanos}

// of returns a node in the form of package event. A name without a dot is one of the namespace
// around it.
func (c avroTypes) of(n *avro.SchemaNode, namespace string) (*event.AvroType, error) {
	kind, ok := avroKinds[n.Type]
	if !ok {
		for _, name := range []string{namespace + "." + n.Type, n.Type} {
			if t := c[name]; t != nil {
				return t, nil
			}
		}
		return nil, fmt.Errorf("the type %q is not known", n.Type)
	}
	t := &event.AvroType{Kind: kind, Size: n.Size, Symbols: n.Symbols}
	switch n.LogicalType {
	case "decimal":
		if n.Scale <= event.MaxScale {
			t.Logical, t.Scale = event.AvroDecimal, n.Scale
		}
	case "uuid":
		t.Logical = event.AvroUUID
	case "timestamp-millis", "timestamp-micros", "timestamp-nanos":
		if kind == event.AvroLong {
			t.Logical = avroTimes[n.LogicalType]
		}
	}
	if n.Name != "" {
		name := n.Name
		if namespace = n.Namespace; namespace != "" {
			name = namespace + "." + n.Name
		}
		c[name] = t
	}
	var err error
	for i := range n.Fields {
		f := event.AvroField{Name: n.Fields[i].Name}
		if f.Type, err = c.of(&n.Fields[i].Type, namespace); err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, f)
	}
	for i := range n.Branches {
		b, err := c.of(&n.Branches[i], namespace)
		if err != nil {
			return nil, err
		}
		t.Branches = append(t.Branches, b)
	}
	for _, items := range []*avro.SchemaNode{n.Items, n.Values} {
		if items != nil {
			if t.Items, err = c.of(items, namespace); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}
