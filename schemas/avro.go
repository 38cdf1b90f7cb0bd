package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

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
		if _, err := cache.Parse(forWriter(r), avroOptions...); err != nil {
			return nil, fmt.Errorf("a schema that it refers to: %w", err)
		}
	}
	parsed, err := cache.Parse(forWriter(text), avroOptions...)
	if err != nil {
		return nil, err
	}
	root, c := parsed.Root(), avroTypes{}
	c.define(root)
	t, err := c.of(root, "")
	return &event.Schema{Avro: t, Tree: func(value []byte) (any, error) {
		var v any
		rest, err := parsed.Decode(value, &v)
		if err == nil && len(rest) > 0 {
			err = event.ErrAvroTrail
		}
		return tree(v), err
	}}, err
}

// avroOptions lets a schema have any names, and leaves times the numbers that they are.
var avroOptions = []avro.SchemaOpt{avro.WithLaxNames(nil), avro.CustomType{AvroType: "long"}, avro.CustomType{AvroType: "int"}}

// forWriter removes from the text of a schema what says nothing about the bytes of a value: defaults, aliases and
// orders, which are for readers that have a schema of their own, as weir has not; a namespace that is null; and
// a decimal that is none, because its precision or scale is missing or wrong: its values are bytes, as Avro's
// specification says. The library refuses schemas with mistakes in these, and others have registered such.
func forWriter(text string) string {
	var schema any
	if json.Unmarshal([]byte(text), &schema) != nil {
		return text // the library reports the fault
	}
	dropForReaders(schema)
	out, err := json.Marshal(schema)
	if err != nil {
		return text
	}
	return string(out)
}

func dropForReaders(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			dropForReaders(v)
		}
	case map[string]any:
		delete(s, "default")
		delete(s, "aliases")
		delete(s, "order")
		if s["namespace"] == nil {
			delete(s, "namespace")
		}
		if s["logicalType"] == "decimal" && !isDecimal(s) {
			delete(s, "logicalType")
			delete(s, "precision")
			delete(s, "scale")
		}
		for _, v := range s {
			dropForReaders(v)
		}
	}
}

// isDecimal reports whether a type has a precision and a scale that a decimal can have.
func isDecimal(t map[string]any) bool {
	precision, ok := t["precision"].(float64)
	if !ok || precision < 1 || precision != math.Trunc(precision) {
		return false
	}
	if scale, given := t["scale"]; given {
		scale, ok := scale.(float64)
		if !ok || scale < 0 || scale > precision || scale != math.Trunc(scale) {
			return false
		}
	}
	size, ok := t["size"].(float64)
	return !ok || t["type"] != "fixed" || precision <= math.Floor(math.Log10(2)*(8*size-1))
}

var avroKinds = map[string]event.AvroKind{
	"null": event.AvroNull, "boolean": event.AvroBoolean, "int": event.AvroInt, "long": event.AvroLong, "float": event.AvroFloat, "double": event.AvroDouble,
	"bytes": event.AvroBytes, "string": event.AvroString, "fixed": event.AvroFixed, "enum": event.AvroEnum, "record": event.AvroRecord, "error": event.AvroRecord,
	"array": event.AvroArray, "map": event.AvroMap, "union": event.AvroUnion,
}

// avroTypes has the named types of a schema, by their full names.
type avroTypes map[string]*event.AvroType

// kindOf returns the kind of a node; false if the node is the name of a type that is defined
// elsewhere. A type may be called array or record, so a node of one of these words is a name
// unless it has what the kind needs.
func kindOf(n *avro.SchemaNode) (event.AvroKind, bool) {
	kind, ok := avroKinds[n.Type]
	switch kind {
	case event.AvroRecord, event.AvroEnum, event.AvroFixed:
		ok = ok && n.Name != ""
	case event.AvroArray:
		ok = ok && n.Items != nil
	case event.AvroMap:
		ok = ok && n.Values != nil
	case event.AvroUnion:
		ok = ok && n.Branches != nil
	}
	return kind, ok
}

// inside returns the nodes in a node, those that its kind has.
func inside(n *avro.SchemaNode) (nodes []*avro.SchemaNode) {
	switch kind, ok := kindOf(n); {
	case !ok:
	case kind == event.AvroRecord:
		for i := range n.Fields {
			nodes = append(nodes, &n.Fields[i].Type)
		}
	case kind == event.AvroUnion:
		for i := range n.Branches {
			nodes = append(nodes, &n.Branches[i])
		}
	case kind == event.AvroArray:
		nodes = append(nodes, n.Items)
	case kind == event.AvroMap:
		nodes = append(nodes, n.Values)
	}
	return nodes
}

// fullName returns the full name of a type that a node defines, and the namespace of the names
// in it. A name with dots is a full one, whatever namespace stands beside it.
func fullName(n *avro.SchemaNode) (name, namespace string) {
	if dot := strings.LastIndexByte(n.Name, '.'); dot >= 0 {
		return strings.TrimPrefix(n.Name, "."), n.Name[:dot]
	}
	if n.Namespace != "" {
		return n.Namespace + "." + n.Name, n.Namespace
	}
	return n.Name, ""
}

// define makes the types that a node and those in it define, still empty: a name may stand in front
// of its definition.
func (c avroTypes) define(n *avro.SchemaNode) {
	if _, ok := kindOf(n); ok && n.Name != "" {
		name, _ := fullName(n)
		c[name] = &event.AvroType{}
	}
	for _, node := range inside(n) {
		c.define(node)
	}
}

// named returns the type of a name. One without a dot is in the namespace around it, or else
// in none.
func (c avroTypes) named(name, namespace string) *event.AvroType {
	if !strings.Contains(name, ".") && namespace != "" {
		if t := c[namespace+"."+name]; t != nil {
			return t
		}
	}
	return c[strings.TrimPrefix(name, ".")]
}

// of returns a node in the form of package event. All names are defined.
func (c avroTypes) of(n *avro.SchemaNode, namespace string) (*event.AvroType, error) {
	kind, ok := kindOf(n)
	if !ok {
		if t := c.named(n.Type, namespace); t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("the type %q is not known", n.Type)
	}
	t := &event.AvroType{}
	switch kind {
	case event.AvroRecord, event.AvroEnum, event.AvroFixed:
		var name string
		name, namespace = fullName(n)
		t = c[name]
	}
	*t = event.AvroType{Kind: kind, Size: n.Size, Symbols: n.Symbols}
	switch n.LogicalType {
	case "decimal":
		if n.Scale <= event.MaxScale {
			t.Logical, t.Scale = event.AvroDecimal, n.Scale
		}
	case "uuid":
		t.Logical = event.AvroUUID
	}
	for i, node := range inside(n) {
		of, err := c.of(node, namespace)
		if err != nil {
			return nil, err
		}
		switch kind {
		case event.AvroRecord:
			t.Fields = append(t.Fields, event.AvroField{Name: n.Fields[i].Name, Type: of})
		case event.AvroUnion:
			t.Branches = append(t.Branches, of)
		default:
			t.Items = of
		}
	}
	return t, nil
}
