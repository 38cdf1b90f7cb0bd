package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of weir.yaml, for editors:
//
//	# yaml-language-server: $schema=docs/weir.schema.json
//
// It accepts everything that Load accepts, and refuses unknown keys and wrong
// types. Only Load checks whether keys and values fit together.
func JSONSchema() []byte {
	root := table().schema()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "weir.yaml"
	root["description"] = "Configuration of weir. Generated from the structs of config."
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(root) // texts and numbers, into memory
	return b.Bytes()
}

// An object is one of JSON.
type object = map[string]any

// schema returns the schema of a key's value.
func (k *key) schema() object {
	n := object{}
	switch k.typ {
	case section:
		n = k.mapping()
		if !k.optional {
			n["type"] = []string{"object", "null"}
		}
	case sections:
		entry := k.mapping()
		if k.shortForm != "" {
			entry = object{"anyOf": []object{k.child(k.shortForm).schema(), entry}}
		}
		n = object{"type": []string{"array", "null"}, "items": entry, "maxItems": json.Number(k.max)}
	case texts:
		element := k.element().schema()
		delete(element, "default")
		delete(element, "description")
		n["anyOf"] = []object{element, {"type": "array", "items": element, "minItems": 1, "maxItems": json.Number(k.max)}}
	case duration: // a number can only be 0; the pattern judges texts
		n = object{"type": []string{"string", "integer"}, "minimum": 0, "maximum": 0, "pattern": `^(0|([0-9]+ *(w|d|h|m|s|ms))+)$`}
	case size:
		n = object{"type": []string{"string", "integer"}, "minimum": 0, "maximum": 0, "pattern": `^(0|[0-9]+ *([KkMmGgTt][Ii]?)?[Bb])$`}
	case integer, fraction:
		n = object{"type": map[valueType]string{integer: "integer", fraction: "number"}[k.typ], "minimum": json.Number(k.min), "maximum": json.Number(k.max)}
	case boolean:
		n["type"] = "boolean"
	case text:
		n["type"] = "string"
		switch {
		case k.format == "any", k.format == "operand":
			n["type"] = []string{"string", "number", "boolean"}
		case k.format == "flag":
			n["type"] = "boolean"
		case k.format == "name":
			n["pattern"] = namePattern
		case k.enum != nil:
			n["enum"] = k.enum
		}
	}
	n["description"] = k.doc
	if k.def == "" {
		return n
	}
	if n["default"] = k.defaultValue(); k.typ == integer || k.typ == fraction || k.typ == boolean {
		n["default"] = json.RawMessage(k.def)
	}
	return n
}

// mapping returns the schema of a mapping. Outside lists a flag or variable may give what is required.
func (k *key) mapping() object {
	properties, required := object{}, []string{}
	for _, c := range k.keys {
		if c.secret != "" {
			continue
		}
		properties[c.name] = c.schema()
		if c.required && c.when.sibling == "" && c.unless == "" && strings.Contains(c.path, "[]") {
			required = append(required, c.name)
		}
	}
	return object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}
