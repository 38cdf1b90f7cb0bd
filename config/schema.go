package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"weir/event"
)

// A key describes one key of the configuration: its path, the values that it may have,
// and its documentation. See [Config] for the tags.
type key struct {
	name  string // as written in YAML
	path  string // dotted from the root; [] stands for the elements of a list: jobs[].window
	typ   valueType
	index []int // reflect index path of the field in the parent's struct

	def, doc, min, max, format      string
	unless, secret, like, shortForm string
	enum                            []string
	required                        bool
	when                            when

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
	sibling, values, _ := strings.Cut(tag, "=")
	name, not := strings.CutSuffix(sibling, "!")
	if !not {
		return when{name, strings.Split(values, ",")}
	}
	all := (&key{keys: before}).child(name).enum
	return when{name, slices.DeleteFunc(slices.Clone(all), func(word string) bool { return word == values })}
}

func (w when) holds(value string) bool { return w.sibling == "" || slices.Contains(w.values, value) }

type valueType int

const (
	section  valueType = iota // a mapping with fixed keys
	sections                  // a list of such mappings
	text
	texts // a list of texts
	integer
	fraction
	boolean
	duration
	size
)

// String returns the name of the type in messages and in the reference.
func (t valueType) String() string {
	return [...]string{"a section", "a list", "text", "a list of texts", "a whole number", "a number", "true or false", "a duration", "a size"}[t]
}

// table is the root key; its path is empty.
var table = sync.OnceValue(func() *key {
	return &key{typ: section, keys: keysOf(reflect.TypeFor[Config](), "")}
})

// enums are the words of keys whose words other packages have.
var enums = map[string]func() []string{
	"(measures)": measureNames, "(functions)": event.Functions, "(formats)": event.Formats, "(sources)": Sources, "(units)": event.Units,
}

// nested matches a path inside two conditions of another one, which can have none in them.
var nested = regexp.MustCompile(`\.(any|all|not)\b.*\.(any|all|not)\b`)

// keysOf reads the tags of a struct, and of those embedded in it.
func keysOf(t reflect.Type, prefix string) (keys []*key) {
	for _, field := range reflect.VisibleFields(t) {
		tag := field.Tag.Get
		name := tag("yaml")
		if field.Anonymous || name == "-" || tag("like") != name && tag("like") != "" && nested.MatchString(prefix) {
			continue
		}
		k := &key{
			name: name, path: prefix + name, index: field.Index,
			def: tag("default"), doc: tag("doc"), min: tag("min"), max: tag("max"), format: tag("format"),
			unless: tag("unless"), secret: tag("secret"), like: tag("like"), shortForm: tag("short"), required: tag("required") == "true",
		}
		if words := tag("enum"); enums[words] != nil {
			k.enum = enums[words]()
		} else if words != "" {
			k.enum = strings.Split(words, ",")
		}
		if k.doc == "(measures)" {
			k.doc = measureDoc()
		}
		if when := tag("when"); when == "(measures)" {
			k.ofKinds()
		} else if when != "" {
			k.when = whenOf(when, keys)
		}
		k.classify(field.Type)
		keys = append(keys, k)
	}
	return keys
}

// valueTypes has the type of a key by the type of its field in Go.
var valueTypes = map[reflect.Type]valueType{
	reflect.TypeFor[Duration](): duration, reflect.TypeFor[Size](): size, reflect.TypeFor[Secret](): text, reflect.TypeFor[string](): text,
	reflect.TypeFor[[]string](): texts, reflect.TypeFor[int](): integer, reflect.TypeFor[float64](): fraction, reflect.TypeFor[bool](): boolean,
}

func (k *key) classify(t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t, k.optional = t.Elem(), true
	}
	switch typ, known := valueTypes[t]; {
	case known:
		k.typ = typ
	case t.Kind() == reflect.Slice:
		k.typ, k.keys = sections, keysOf(t.Elem(), k.path+"[].")
	default:
		k.typ, k.keys = section, keysOf(t, k.path+".")
	}
}

// child returns the key called name; nil when there is none.
func (k *key) child(name string) *key {
	for _, c := range k.keys {
		if c.name == name {
			return c
		}
	}
	return nil
}

// walk calls yield for a section and for those in it, with their values and places.
func (k *key) walk(v reflect.Value, at string, yield func(k *key, section reflect.Value, at string)) {
	yield(k, v, at)
	for _, c := range k.keys {
		switch field, below := v.FieldByIndex(c.index), join(at, c.name); {
		case c.typ == sections:
			for i := range field.Len() {
				c.walk(field.Index(i), fmt.Sprintf("%s[%d]", below, i), yield)
			}
		case c.typ == section && !field.IsZero():
			c.walk(reflect.Indirect(field), below, yield)
		}
	}
}

// leaves lists the keys that have a flag and an environment variable: all
// values outside lists of sections, whose elements have no lasting path.
func (k *key) leaves() (all []*key) {
	switch k.typ {
	case sections:
		return nil
	case section:
		for _, c := range k.keys {
			all = append(all, c.leaves()...)
		}
		return all
	}
	return []*key{k}
}

// env returns the name of the environment variable of a leaf.
func (k *key) env() string {
	return "WEIR_" + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// element returns a list of texts as the key of one of them.
func (k *key) element() *key {
	element := *k
	if k.typ == texts {
		element.typ = text
	}
	return &element
}

// defaultValue returns the default in the form that viper merges.
func (k *key) defaultValue() any {
	if k.typ == texts {
		return strings.Split(k.def, ",")
	}
	return k.def
}
