package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"weir/event"
)

// A key describes one key of the configuration: its path, the values that it may have,
// and its documentation.
type key struct {
	name  string // as written in YAML
	older string // an earlier name, which is still read; empty: none
	path  string // dotted from the root; [] stands for the elements of a list: jobs[].window
	kind  kind
	index []int // reflect index path of the field in the parent's struct

	def      string // default, as written; of a list the elements with commas
	doc      string
	min, max string            // bounds of the value; of a list, max is its number of entries
	bounds   string            // both in words, where they are not the same for all kinds
	enum     []string          // if it contains "", the key may be left out
	others   map[string]string // words of other systems for those of enum
	format   string
	required bool
	unless   string // sibling that may give the value of a required key
	secret   string // sibling that names a file instead; set means: refused in YAML and argv
	when     when
	like     string // described like the key of this name, for the reference
	short    string // list of sections: the key that a bare text gives a value to

	optional bool   // a section that is absent unless given (a pointer)
	keys     []*key // of a section or a list of sections
}

// A when binds a key to the value of a sibling.
type when struct {
	sibling string
	values  []string
}

// whenOf reads the tag; before are the keys in front of the one that has it.
func whenOf(tag string, before []*key) when {
	if sibling, not, ok := strings.Cut(tag, "!="); ok {
		for _, k := range before {
			if k.name == sibling {
				return when{sibling, slices.DeleteFunc(slices.Clone(k.enum), func(word string) bool { return word == not })}
			}
		}
	}
	if sibling, values, ok := strings.Cut(tag, "="); ok {
		return when{sibling, strings.Split(values, ",")}
	}
	return when{}
}

func (w when) holds(value string) bool { return w.sibling == "" || slices.Contains(w.values, value) }

type kind int

const (
	section  kind = iota // a mapping with fixed keys
	sections             // a list of such mappings
	text
	texts // a list of texts
	integer
	fraction
	boolean
	duration
	size
)

// String returns the name of the kind in messages and in the reference.
func (k kind) String() string {
	return [...]string{"a section", "a list", "text", "a list of texts", "a whole number", "a number", "true or false", "a duration", "a size"}[k]
}

// table is the root key; its path is empty.
var table = sync.OnceValue(func() *key {
	root := &key{kind: section}
	root.keys = keysOf(reflect.TypeFor[Config](), "", nil)
	return root
})

// keysOf reads the tags of a struct. Embedded structs are read in place. A tag
// that cannot be read is a mistake in this package: keysOf panics, and every
// test shows it.
func keysOf(t reflect.Type, prefix string, index []int) []*key {
	var keys []*key
	for i := range t.NumField() {
		field := t.Field(i)
		at := append(slices.Clone(index), i)
		if field.Anonymous {
			keys = append(keys, keysOf(field.Type, prefix, at)...)
			continue
		}
		tag := func(name string) string { return field.Tag.Get(name) }
		name := tag("yaml")
		if name == "-" {
			continue
		}
		k := &key{
			name: name, older: tag("older"), path: prefix + name, index: at,
			def: tag("default"), doc: tag("doc"), min: tag("min"), max: tag("max"), bounds: tag("bounds"),
			format: tag("format"), required: tag("required") == "true", unless: tag("unless"),
			secret: tag("secret"), short: tag("short"), like: tag("like"),
		}
		if words, ok := field.Tag.Lookup("enum"); ok {
			k.enum = strings.Split(words, ",")
		}
		if tag("enum") == "(measures)" {
			k.enum, k.others, k.doc = measureNames(), otherKinds, measureDoc()
		}
		if tag("enum") == "(functions)" {
			k.enum = event.Functions()
		}
		if tag("enum") == "(formats)" {
			k.enum = event.Formats()
		}
		if tag("enum") == "(sources)" {
			k.enum = append(Sources(), "")
		}
		if tag("enum") == "(units)" {
			k.enum = event.Units()
		}
		k.when = whenOf(tag("when"), keys)
		if k.name == "" || k.doc == "" {
			panic(fmt.Sprintf("config: %s.%s has no yaml or no doc tag", t, field.Name))
		}
		k.classify(field.Type)
		if k.def == "" && (k.kind == boolean || k.kind == integer) && !k.required {
			panic(fmt.Sprintf("config: %s has no default", k.path))
		}
		keys = append(keys, k)
	}
	return keys
}

func (k *key) classify(t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		k.optional = true
	}
	switch t {
	case reflect.TypeFor[Duration]():
		k.kind = duration
		return
	case reflect.TypeFor[Size]():
		k.kind = size
		return
	case reflect.TypeFor[Secret]():
		k.kind = text
		return
	}
	switch t.Kind() {
	case reflect.String:
		k.kind = text
	case reflect.Int:
		k.kind = integer
	case reflect.Float64:
		k.kind = fraction
	case reflect.Bool:
		k.kind = boolean
	case reflect.Struct:
		k.kind = section
		k.keys = keysOf(t, k.path+".", nil)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			k.kind = texts
			return
		}
		k.kind = sections
		k.keys = keysOf(t.Elem(), k.path+"[].", nil)
	default:
		panic(fmt.Sprintf("config: %s has type %s, which no YAML value fits", k.path, t))
	}
}

// child returns the key called name, now or earlier; nil when there is none.
func (k *key) child(name string) *key {
	for _, c := range k.keys {
		if c.name == name || c.older == name && name != "" {
			return c
		}
	}
	return nil
}

// leaves lists the keys that have a flag and an environment variable: all
// values outside lists of sections, whose elements have no lasting path.
func (k *key) leaves() []*key {
	if k.kind == sections {
		return nil
	}
	if k.kind != section {
		return []*key{k}
	}
	var all []*key
	for _, c := range k.keys {
		all = append(all, c.leaves()...)
	}
	return all
}

// olderPath returns the path under the key's earlier name; empty if it has none.
func (k *key) olderPath() string {
	if k.older == "" {
		return ""
	}
	return strings.TrimSuffix(k.path, k.name) + k.older
}

// env returns the name of the environment variable of a leaf.
func (k *key) env() string { return variable(k.path) }

// variable returns the name of the environment variable of a path.
func variable(path string) string {
	return "WEIR_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// alone reports whether a list of texts is mostly of one, which is written without brackets.
func (k *key) alone() bool { return k.format == "path" || k.format == "url" }

// defaultValue returns the default in the form that viper merges.
func (k *key) defaultValue() any {
	if k.kind == texts {
		return strings.Split(k.def, ",")
	}
	return k.def
}
