package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"weir/internal/spelling"
	"weir/measures"
)

// maxDocument bounds what is parsed.
const maxDocument = 1 << 20

// A reader walks YAML documents against the table. It collects values in the
// form that viper merges (texts, lists, maps), the place of every value, and
// the mistakes.
type reader struct {
	from     Origin // what is being read
	places   map[string]Origin
	presets  map[*yaml.Node]string // of the nodes that presets have added: the preset
	jobs     []*yaml.Node          // those of presets, in front of the file's
	problems problems
}

func (r *reader) at(n *yaml.Node) Origin {
	at := r.from
	at.Name, at.Line, at.Column = cmp.Or(r.presets[n], at.Name), n.Line, n.Column
	return at
}

func (r *reader) complain(n *yaml.Node, path, format string, args ...any) {
	r.problems.add(r.at(n), path, format, args...)
}

// document reads the file, and the jobs of presets in front of those in it.
func (r *reader) document(data []byte) map[string]any {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, next yaml.Node
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&next)
	}
	switch {
	case err == nil:
		r.complain(next.Content[0], "", "a second document begins here; keep one (a line --- or ... ends it)")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err, data)
		return nil
	case root.Kind == 0: // an empty file is an empty configuration
		root.Content = []*yaml.Node{{Kind: yaml.MappingNode, Line: 1, Column: 1}}
	}
	r.places[""] = r.at(&yaml.Node{Line: 1, Column: 1})
	values := r.section(table(), root.Content[0], "")
	if values != nil && values["jobs"] == nil {
		values["jobs"] = r.sections(table().child("jobs"), &yaml.Node{Kind: yaml.SequenceNode}, "jobs")
	}
	return values
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax reports the YAML parser's error at the line that it names.
func (r *reader) syntax(err error, data []byte) {
	line := 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		line, _ = strconv.Atoi(m[1]) // digits
	}
	hint := ""
	if lines := bytes.Split(data, []byte("\n")); slices.ContainsFunc(lines[min(line-1, len(lines)):min(line+1, len(lines))], variable.Match) {
		hint = "variables are not expanded in this file: write the value, or set a variable such as WEIR_CLICKHOUSE_URLS; or "
	}
	r.complain(&yaml.Node{Line: line, Column: 1}, "", "not YAML: %s; %slook in this line and the next for a quote or bracket left open, a colon without a space, a tab, another indent, or what is not UTF-8",
		yamlLine.ReplaceAllString(err.Error(), ""), hint)
}

// section reads a mapping. Keys that an entry of a list lacks get their default here; viper fills
// in the others.
func (r *reader) section(k *key, n *yaml.Node, path string) map[string]any {
	n = follow(n)
	if isNull(n) {
		n = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
	}
	if n.Kind != yaml.MappingNode {
		r.complain(n, path, "expected a section (keys %s), found %s%s", strings.Join(names(k.keys), ", "), describe(n), k.instead(n))
		return nil
	}
	values := map[string]any{}
	given := map[string]*yaml.Node{}
	for pair := range slices.Chunk(n.Content, 2) {
		name, value := pair[0], pair[1]
		below, child, first := join(path, name.Value), k.child(name.Value), given[name.Value]
		switch {
		case child == nil:
			r.complain(name, below, "unknown key; %s", k.whichKey(name.Value))
		case first != nil:
			r.complain(name, below, "given twice, first in line %d; keep one", first.Line)
		default:
			given[name.Value] = name
			if got := r.value(child, value, below); got != nil {
				values[child.name] = got
			}
		}
	}
	if !strings.Contains(path, "[") {
		return values
	}
	for _, c := range k.keys {
		chosen, _ := values[c.when.sibling].(string)
		switch {
		case given[c.name] != nil || !c.when.holds(chosen):
		case c.typ == section && !c.optional:
			values[c.name] = r.section(c, &yaml.Node{Kind: yaml.MappingNode}, join(path, c.name))
		case c.def != "":
			values[c.name] = c.defaultValue()
		}
	}
	return values
}

// instead returns the line to write in place of a text, or of a section of names, where a section or a list belongs.
func (k *key) instead(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode && k.child("name") != nil && len(n.Content) > 0:
		return ": - name: " + n.Content[0].Value
	case n.Kind != yaml.ScalarNode || k.child("field") == nil:
		return ""
	case k.child("is") != nil: // a condition
		return "; write {field: event, is: x}"
	}
	return fmt.Sprintf("; write %s: {field: %s}", k.name, n.Value)
}

// variable matches what other programs replace by a variable of the environment.
var variable = regexp.MustCompile(`\$\{?[A-Z_]+\b`)

// value reads the value of a key, and notes its place. A wrong value is reported and nil.
func (r *reader) value(k *key, n *yaml.Node, path string) any {
	r.places[path] = r.at(n)
	n = follow(n)
	switch {
	case k.typ == section && k.optional && isNull(n):
		r.complain(n, path, "empty; give it keys or leave it out")
	case k.typ == section:
		return r.section(k, n, path)
	case k.typ == sections:
		return r.sections(k, n, path)
	case k.typ == texts:
		return r.texts(k, n, path)
	case k.secret != "" && r.from.Source != FromEnv:
		file := strings.TrimSuffix(k.path, k.name) + k.secret
		r.complain(n, path, "a secret must not be in the configuration or on a command line; write it to a file and name that in %s, or set %s", file, k.env())
	case k.typ == text && k.def == "" && n.Value == "" && r.from.Source == FromFlag: // takes one of the file away
		delete(r.places, path) // nothing is given then: no secret, for example
		return ""
	case r.from.Source == FromFile && k.format != "any" && k.format != "operand" && variable.MatchString(n.Value):
		r.complain(n, path, "variables are not expanded in this file; %s", k.variableInstead())
	default:
		got, err := k.scalar(n)
		if err == nil {
			return got
		}
		r.complain(n, path, "%s", err)
	}
	return nil
}

// variableInstead says what to do in place of a variable.
func (k *key) variableInstead() string {
	if strings.HasPrefix(k.path, "jobs") {
		return "write the value itself"
	}
	return "leave the key out and set " + k.env()
}

func (r *reader) sections(k *key, n *yaml.Node, path string) any {
	if isNull(n) {
		return nil
	} else if n.Kind != yaml.SequenceNode {
		r.complain(n, path, "expected a list, found %s; begin each entry with a dash%s", describe(n), k.instead(n))
		return nil
	}
	items := r.atMost(k, n, path)
	if k.path == "jobs" {
		items = slices.Concat(r.jobs, items)
	}
	list := []any{}
	for i, item := range items {
		below := fmt.Sprintf("%s[%d]", path, i)
		r.places[below] = r.at(item)
		list = append(list, r.entry(k, follow(item), below))
	}
	return list
}

// atMost returns the elements of a list, up to the bound of its key. Every list
// has a bound, so that aliases cannot expand a small file without limit.
func (r *reader) atMost(k *key, n *yaml.Node, path string) []*yaml.Node {
	most, _ := strconv.Atoi(k.max) // keysOf has seen it
	if len(n.Content) > most {
		r.complain(n, path, "%d entries; at most %d", len(n.Content), most)
		return n.Content[:most]
	}
	return n.Content
}

// entry reads one element of a list of sections, in full or in short form: a text, or a list of
// texts, alone.
func (r *reader) entry(k *key, n *yaml.Node, path string) map[string]any {
	switch short := k.child(k.shortForm); {
	case isNull(n):
		r.complain(n, path, "empty; fill the entry or remove its dash")
		return nil
	case short != nil && (n.Kind == yaml.ScalarNode || n.Kind == yaml.SequenceNode && short.typ == texts):
		name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.shortForm, Line: n.Line, Column: n.Column}
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{name, n}}
	case k.child("preset") != nil:
		n = r.expand(n)
	}
	return r.section(k, n, path)
}

// texts reads a list of texts; one text alone is a list of one.
func (r *reader) texts(k *key, n *yaml.Node, path string) any {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = r.atMost(k, n, path)
	}
	var list []any
	for i, item := range items {
		below := fmt.Sprintf("%s[%d]", path, i)
		if n.Kind != yaml.SequenceNode {
			below = path
		}
		got := r.value(k.element(), item, below)
		if got != nil && slices.Contains(list, got) {
			r.complain(item, below, "%q is listed twice; keep one", got)
		}
		list = append(list, got)
	}
	if len(list) == 0 {
		r.complain(n, path, "an empty list; give it %s or leave the key out", example(k))
	}
	return list
}

// scalar reads one text, number, boolean, duration or size.
func (k *key) scalar(n *yaml.Node) (string, error) {
	value := n.Value
	switch literal := k.format == "any" || k.format == "flag"; {
	case n.Kind == yaml.SequenceNode && k.name == "is":
		return "", errors.New("expected one value, found a list; write in: [a, b] for several")
	case n.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("expected %s, found %s", k.typ, describe(n))
	case isNull(n):
		return "", fmt.Errorf("empty; give it %s or leave the key out", example(k))
	case k.format == "operand":
		return operandText(n)
	case literal && n.Tag == "!!bool": // True and TRUE are true in YAML
		return strings.ToLower(value), nil
	case k.format == "any":
		return value, nil
	case k.format == "flag":
		return "", fmt.Errorf("expected true or false, found %s", describe(n))
	case k.typ == text && n.Tag != "!!str" && formats[k.format] != nil && formats[k.format](value) != nil && k.format != "name":
		return "", formats[k.format](value) // in quotes it would be no better
	case k.typ == text && n.Tag != "!!str":
		return "", fmt.Errorf("expected text, found %s; put it in quotes: %q", describe(n), value)
	}
	got, err := k.check(value)
	if err == nil && n.Tag == "!!str" && slices.Contains([]valueType{integer, fraction, boolean}, k.typ) {
		err = fmt.Errorf("expected %s, found text; remove the quotes", k.typ)
	}
	return got, err
}

// synonyms are words of other systems that no spelling leads to, but for those of kinds of measures.
var synonyms = map[string]string{
	"type": "kind", "==": "is", "!=": "is_not", "<": "below", "<=": "at_most", ">": "above", ">=": "at_least",
}

// nearest returns the one of some words that another was most likely meant to be, or "".
func nearest(word string, words []string) string {
	meant := cmp.Or(synonyms[word], word)
	for _, k := range measures.All {
		if slices.Contains(k.Config.Elsewhere, word) {
			meant = k.Name
		}
	}
	return spelling.Nearest(meant, words)
}

// whichKey returns the remedy of an unknown key.
func (k *key) whichKey(name string) string {
	if near := nearest(name, names(k.keys)); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if k.like == "where" && table().child("jobs").child("where").child(name) != nil {
		return "conditions nest two deep: any of all, or all of any, can say the same"
	}
	if elsewhere := table().find(name); elsewhere != "" {
		return fmt.Sprintf("it belongs to %s", elsewhere)
	}
	return "known here: " + strings.Join(names(k.keys), ", ")
}

// find returns the path of the section that has a key of this name.
func (k *key) find(name string) string {
	for _, c := range k.keys {
		if c.name == name && k.path != "" {
			return k.path
		}
		if at := c.find(name); at != "" {
			return at
		}
	}
	return ""
}

func names(keys []*key) (all []string) {
	for _, k := range keys {
		if k.secret == "" {
			all = append(all, k.name)
		}
	}
	return all
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describe names what was found, for messages.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!str":
		return fmt.Sprintf("the text %q", n.Value)
	}
	return n.Value
}

// firstSentence of a doc tag, without its full stop.
func firstSentence(doc string) string {
	sentence, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(sentence, ".")
}
