package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of weir.yaml, for editors:
//
//	# yaml-language-server: $schema=docs/weir.schema.json
//
// It accepts everything that Load accepts, and refuses unknown keys and wrong
// types. Only Load checks whether values fit together.
func JSONSchema() []byte {
	root := table().schema()
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "weir.yaml"
	root.Description = "Configuration of weir. Generated from the structs of internal/config."
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		panic("config: " + err.Error())
	}
	return b.Bytes()
}

// A node is one schema, with the parts of the language that weir.yaml needs.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Type        []string         `json:"type,omitempty"`
	Deprecated  bool             `json:"deprecated,omitempty"`
	Default     any              `json:"default,omitempty"`
	Const       string           `json:"const,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Pattern     string           `json:"pattern,omitempty"`
	Minimum     json.Number      `json:"minimum,omitempty"`
	Maximum     json.Number      `json:"maximum,omitempty"`
	MaxItems    json.Number      `json:"maxItems,omitempty"`
	MinItems    int              `json:"minItems,omitempty"`
	Items       *node            `json:"items,omitempty"`
	AnyOf       []*node          `json:"anyOf,omitempty"`
	OneOf       []*node          `json:"oneOf,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
	Additional  *bool            `json:"additionalProperties,omitempty"`
	Required    []string         `json:"required,omitempty"`
	If          *node            `json:"if,omitempty"`
	Then        *node            `json:"then,omitempty"`
	AllOf       []*node          `json:"allOf,omitempty"`
	Not         *node            `json:"not,omitempty"`
}

const (
	durationText = `^(0|([0-9]+ *(w|d|h|m|s|ms|us|ns))+)$`
	sizeText     = `^(0|[0-9]+ *([KkMmGgTt][Ii]?)?[Bb])$`
)

func (k *key) schema() *node {
	n := &node{Description: k.doc}
	switch k.kind {
	case section:
		k.object(n)
		if !k.optional {
			n.Type = append(n.Type, "null")
		}
		return n
	case sections:
		entry := &node{}
		k.object(entry)
		if k.short != "" {
			short := k.child(k.short).schema()
			short.Description = ""
			entry = &node{AnyOf: []*node{short, entry}}
		}
		n.Type, n.Items, n.MaxItems = []string{"array", "null"}, entry, json.Number(k.max)
		return n
	case texts:
		element := *k
		element.kind, element.doc, element.def = text, "", ""
		list := &node{Type: []string{"array"}, Items: element.schema(), MinItems: 1, MaxItems: json.Number(k.max)}
		n.AnyOf = []*node{element.schema(), list}
		if k.def != "" {
			n.Default = k.defaultValue()
		}
		return n
	case duration, size:
		n.Type, n.Pattern = []string{"string", "integer"}, durationText
		n.Minimum, n.Maximum = "0", "0" // a number can only be 0; the pattern judges texts
		if k.kind == size {
			n.Pattern = sizeText
		}
	case integer:
		n.Type, n.Minimum, n.Maximum = []string{"integer"}, json.Number(k.min), json.Number(k.max)
	case fraction:
		n.Type, n.Minimum, n.Maximum = []string{"number"}, json.Number(k.min), json.Number(k.max)
	case boolean:
		n.Type = []string{"boolean"}
	case text:
		n.Type = []string{"string"}
		switch k.format {
		case "any", "operand":
			n.Type = []string{"string", "number", "boolean"}
		case "flag":
			n.Type = []string{"boolean"}
		}
		n.Enum = slices.DeleteFunc(slices.Clone(k.enum), func(word string) bool { return word == "" && k.required })
		if k.format == "name" {
			n.Pattern = namePattern.String()
		}
	}
	if k.def != "" {
		n.Default = k.def
		switch k.kind {
		case integer, fraction:
			n.Default = json.Number(k.def)
		case boolean:
			n.Default, _ = strconv.ParseBool(k.def)
		}
	}
	return n
}

// is returns the schema of the entries in which the key is given as a word.
func (k *key) is(word string) *node {
	under := func(name string) *node {
		n := &node{Properties: map[string]*node{name: {Const: word}}}
		if word != k.def { // which it is without the key
			n.Required = []string{name}
		}
		return n
	}
	if k.older == "" {
		return under(k.name)
	}
	return &node{AnyOf: []*node{under(k.name), under(k.older)}}
}

// object fills in the keys of a mapping.
func (k *key) object(n *node) {
	no := false
	n.Type, n.Additional, n.Properties = []string{"object"}, &no, map[string]*node{}
	inList := strings.Contains(k.path, "jobs") // elsewhere a flag or variable may give it
	conditions := map[string]*node{}
	var order []string
	for _, c := range k.keys {
		if c.secret != "" {
			continue
		}
		n.Properties[c.name] = c.schema()
		if c.older != "" {
			older := c.schema()
			older.Description, older.Deprecated = "The older name of "+c.name+".", true
			n.Properties[c.older] = older
		}
		switch {
		case c.older != "" && !c.required:
			n.Not = &node{Required: []string{c.name, c.older}}
		case c.older != "":
			n.OneOf = []*node{{Required: []string{c.name}}, {Required: []string{c.older}}}
		case c.unless != "":
			n.AnyOf = []*node{{Required: []string{c.name}}, {Required: []string{c.unless}}}
		case c.when.sibling == "" && c.required && inList:
			n.Required = append(n.Required, c.name)
		case c.when.sibling != "":
			for _, word := range k.child(c.when.sibling).enum {
				condition := conditions[word]
				if condition == nil {
					condition = &node{
						If:   k.child(c.when.sibling).is(word),
						Then: &node{},
					}
					conditions[word] = condition
					order = append(order, word)
				}
				switch then := condition.Then; {
				case !c.when.holds(word):
					if then.Not == nil {
						then.Not = &node{}
					}
					then.Not.AnyOf = append(then.Not.AnyOf, &node{Required: []string{c.name}})
				case c.required:
					then.Required = append(then.Required, c.name)
				}
			}
		}
	}
	for _, word := range order {
		n.AllOf = append(n.AllOf, conditions[word])
	}
}
