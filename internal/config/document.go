package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"weir/internal/spelling"
)

// maxDocument bounds what is parsed.
const maxDocument = 1 << 20

// A reader walks YAML documents against the table. It collects values in the
// form that viper merges (texts, lists, maps), the place of every value, and
// the mistakes.
type reader struct {
	file     string
	order    int
	places   map[string]Origin
	sources  map[*yaml.Node]string // of the nodes that presets of jobs have added: the preset
	problems problems
}

func (r *reader) at(n *yaml.Node) Origin {
	name := r.file
	if source := r.sources[n]; source != "" {
		name = "preset " + source
	}
	return Origin{Source: FromFile, Name: name, Line: n.Line, Column: n.Column, order: r.order}
}

func (r *reader) complain(n *yaml.Node, path, format string, args ...any) {
	r.problems.add(r.at(n), path, format, args...)
}

// document reads one file. Lists of sections start at the index that offset
// gives for their path, so that several files can share one list.
func (r *reader) document(file string, order int, data []byte, offset map[string]int) map[string]any {
	r.file, r.order = file, order
	start := &yaml.Node{Line: 1, Column: 1}
	r.places[""] = r.at(start)
	if len(data) > maxDocument {
		r.complain(start, "", "%d bytes are too many for a configuration; at most 1MiB", len(data))
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) { // an empty file is an empty configuration
			return nil
		}
		r.syntax(data, err)
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) { // an error is one in what follows
		r.complain(endOf(data, root.Content[0]), "", "holds several documents; keep one (a line --- or ... ends it)")
	}
	return r.section(table(), root.Content[0], "", offset)
}

var documentEnd = regexp.MustCompile(`(?m)^(---|\.\.\.)(\s|$)`)

// endOf returns the place of the line that ends the document with a content, and line 1 if there is none.
func endOf(data []byte, content *yaml.Node) *yaml.Node {
	for _, at := range documentEnd.FindAllIndex(data, -1) {
		line, column := placeOf(data, at[0])
		// A line before the content begins the document. Empty content is where the document ends.
		if line > content.Line || line == content.Line && content.Column == column {
			return &yaml.Node{Line: line, Column: column}
		}
	}
	return &yaml.Node{Line: 1, Column: 1}
}

var (
	yamlLine   = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	indexed    = regexp.MustCompile(`[A-Za-z_](?:[\w.:-]*\w)?(?:\[(?:[0-9]+|json|\*|)\][\w.]*)+`)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// syntax reports the YAML parser's error with the best place it can find: the
// parser names at most a line, which is one too few if the mistake is in the
// grammar, and none for bytes that it cannot read.
func (r *reader) syntax(data []byte, err error) {
	message := err.Error()
	line, column := 1, 0
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
			if strings.HasPrefix(message, "did not find expected") {
				line++
			}
		}
	}
	lines := bytes.Split(data, []byte("\n"))
	line = min(max(line, 1), len(lines))
	remedy := ""
	if strings.Contains(message, "tab character") || strings.Contains(message, "character that cannot start any token") {
		// The parser may name the line before.
		for i := line; i <= min(line+1, len(lines)); i++ {
			text := lines[i-1]
			if tab := bytes.IndexByte(text, '\t'); tab >= 0 && len(bytes.TrimLeft(text[:tab], " ")) == 0 {
				line, column = i, tab+1
				break
			}
		}
	}
	switch {
	case strings.HasPrefix(message, "control characters"):
		at := bytes.IndexFunc(data, isControl)
		line, column = placeOf(data, at)
		if c, _ := utf8.DecodeRune(data[max(at, 0):]); c == 0 {
			remedy = "; this is a zero byte, as UTF-16 has: save the file as UTF-8"
		} else {
			remedy = "; remove it, or write it as " + strconv.Quote(string(c))
		}
	case strings.HasPrefix(message, "did not find expected"):
		remedy = "; look for a bracket or quote left open, or for another indent than above"
		if at := indexed.Find(lines[line-1]); at != nil {
			remedy = fmt.Sprintf("; inside [ ] and { }, a path with brackets needs quotes: %q", at)
		}
	case strings.Contains(message, "mapping values are not allowed"):
		remedy = "; a key needs a colon and a space behind it, a text with both in it quotes, and keys of one section the same indent"
	case strings.Contains(message, "could not find expected ':'"):
		remedy = "; a key needs a colon and a space behind it"
	case strings.Contains(message, "unexpected end of stream"):
		remedy = "; a quote is left open"
	case bytes.Contains(lines[line-1], []byte("\t")):
		remedy = "; indent with spaces, not with tabs"
	case strings.Contains(message, "character that cannot start any token"):
		remedy = "; put the text in quotes"
	case yamlAnchor.MatchString(message):
		line, column = placeOf(data, bytes.Index(data, []byte("*"+yamlAnchor.FindStringSubmatch(message)[1])))
		remedy = "; define it above with & or put the text in quotes"
	case !utf8.Valid(data):
		line, column = placeOf(data, firstInvalid(data))
		remedy = "; save the file as UTF-8"
	}
	if column == 0 { // where the line's text begins
		text := lines[line-1]
		column = 1 + len(text) - len(bytes.TrimLeft(text, " \t"))
	}
	r.complain(&yaml.Node{Line: line, Column: column}, "", "not YAML: %s%s", message, remedy)
}

// isControl reports whether a character can stand in YAML only as an escape.
func isControl(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff
}

// placeOf turns an offset into line and column, both from 1.
func placeOf(data []byte, offset int) (line, column int) {
	before := data[:max(offset, 0)]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// section reads a mapping. Missing keys get their default only inside lists,
// where offset is nil; viper fills in the others.
func (r *reader) section(k *key, n *yaml.Node, path string, offset map[string]int) map[string]any {
	n = follow(n)
	if isNull(n) {
		n = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
	}
	if n.Kind != yaml.MappingNode {
		r.complain(n, path, "expected a section (keys %s), found %s", strings.Join(names(k.keys), ", "), describe(n))
		return nil
	}
	values := map[string]any{}
	given := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		child := k.child(name.Value)
		of := name.Value // the key, under its present name
		if child != nil {
			of = child.name
		}
		below := join(path, of)
		if name.Kind != yaml.ScalarNode || name.Tag == "!!merge" {
			r.complain(name, path, "merge keys and keys that are not text have no meaning here; write every key out")
			continue
		}
		if first := given[of]; first != nil {
			spelt := ""
			if first.Value != name.Value {
				spelt = fmt.Sprintf(" (%s is the older name of %s)", child.older, child.name)
			}
			r.complain(name, below, "given twice, first in line %d%s; keep one", first.Line, spelt)
			continue
		}
		given[of] = name
		if child == nil {
			r.complain(name, below, "unknown key%s", k.whichKey(name.Value))
			continue
		}
		r.places[below] = r.at(value)
		if got, ok := r.value(child, value, below, offset); ok {
			values[child.name] = got
		}
	}
	if offset == nil {
		r.complete(k, n, path, values, given)
	}
	return values
}

// complete fills in the keys of a list entry that were not given, and reports
// keys that belong to another kind of entry.
func (r *reader) complete(k *key, n *yaml.Node, path string, values map[string]any, given map[string]*yaml.Node) {
	for _, c := range k.keys {
		_, ok := values[c.name]
		name := given[c.name]
		chosen := ""
		if c.when.sibling != "" {
			chosen, _ = values[c.when.sibling].(string)
			if chosen == "" { // the sibling itself is missing or wrong, and was reported
				continue
			}
		}
		switch {
		case name != nil && !c.when.holds(chosen):
			r.complain(name, join(path, c.name), "belongs to %s %s; %s has none", c.when.sibling, either(c.when.values), chosen)
		case name != nil || ok || !c.when.holds(chosen):
		case c.required && c.when.sibling != "":
			r.complain(n, path, "%s %s needs %s (%s)", c.when.sibling, chosen, c.name, firstSentence(c.doc))
		case c.required:
			r.complain(n, path, "needs %s (%s)", c.name, firstSentence(c.doc))
		case c.kind == section && !c.optional:
			values[c.name] = r.section(c, &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}, join(path, c.name), nil)
		case c.def != "":
			values[c.name] = c.defaultValue()
		}
	}
}

// value reads the value of a key.
func (r *reader) value(k *key, n *yaml.Node, path string, offset map[string]int) (any, bool) {
	n = follow(n)
	switch k.kind {
	case section:
		if k.optional && isNull(n) {
			r.complain(n, path, "empty; give it keys or leave it out")
			return nil, false
		}
		got := r.section(k, n, path, offset)
		return got, got != nil
	case sections:
		if isNull(n) {
			return nil, false
		}
		if n.Kind != yaml.SequenceNode {
			r.complain(n, path, "expected a list, found %s; begin each entry with a dash", describe(n))
			return nil, false
		}
		if k.like != "" && k.name != "where" && len(n.Content) == 0 {
			r.complain(n, path, "an empty list; give it conditions or leave the key out")
			return nil, false
		}
		var list []any
		for i, item := range r.atMost(k, n, path) {
			below := fmt.Sprintf("%s[%d]", path, i+offset[path])
			r.places[below] = r.at(item)
			if got := r.entry(k, item, below); got != nil {
				list = append(list, got)
			}
		}
		return list, true
	case texts:
		return r.texts(k, n, path)
	}
	if k.secret != "" {
		r.complain(n, path, "a secret must not be in this file; %s", k.secretRemedy())
		return nil, false
	}
	return r.scalar(k, n, path)
}

// atMost returns the elements of a list, up to the bound of its key. Every list
// has a bound, so that aliases cannot expand a small file without limit.
func (r *reader) atMost(k *key, n *yaml.Node, path string) []*yaml.Node {
	most, err := strconv.Atoi(k.max)
	if err != nil {
		panic("config: list without a bound: " + k.path)
	}
	if len(n.Content) > most {
		r.complain(n, path, "%d entries; at most %d", len(n.Content), most)
		return n.Content[:most]
	}
	return n.Content
}

// entry reads one element of a list of sections, in full or in short form: a text, or a list of
// texts, alone.
func (r *reader) entry(k *key, n *yaml.Node, path string) map[string]any {
	n = follow(n)
	if k.short != "" && (n.Kind == yaml.ScalarNode && !isNull(n) || n.Kind == yaml.SequenceNode && k.child(k.short).kind == texts) {
		pair := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.short, Line: n.Line, Column: n.Column}, n,
		}}
		return r.section(k, pair, path, nil)
	}
	if isNull(n) {
		r.complain(n, path, "empty; fill the entry or remove its dash")
		return nil
	}
	if k.child("preset") != nil {
		n = r.expand(k, n)
	}
	return r.section(k, n, path, nil)
}

// texts reads a list of texts; one text alone is a list of one.
func (r *reader) texts(k *key, n *yaml.Node, path string) (any, bool) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = r.atMost(k, n, path)
	}
	var list []string
	ok := true
	for i, item := range items {
		below := fmt.Sprintf("%s[%d]", path, i)
		if k.alone() && n.Kind != yaml.SequenceNode {
			below = path
		}
		item = follow(item)
		r.places[below] = r.at(item)
		got, good := r.scalar(k, item, below)
		ok = ok && good
		list = append(list, got)
	}
	if len(list) == 0 {
		r.complain(n, path, "an empty list; give it %s or leave the key out", example(k))
		return nil, false
	}
	return list, ok
}

// scalar reads one text, number, boolean, duration or size.
func (r *reader) scalar(k *key, n *yaml.Node, path string) (string, bool) {
	element := *k
	if k.kind == texts {
		element.kind = text
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		r.complain(n, path, "expected %s, found %s", element.kind, describe(n))
		return "", false
	case isNull(n):
		r.complain(n, path, "empty; give it %s or leave the key out", example(k))
		return "", false
	case k.format == "operand":
		got, err := operandText(n.Tag, n.Value, n.Style == 0, func() (i int64, ok bool) { ok = n.Decode(&i) == nil; return i, ok })
		if err != nil {
			r.complain(n, path, "%s", err)
		}
		return got, err == nil
	case k.format == "flag":
		got := strings.ToLower(n.Value)
		if n.Tag != "!!bool" {
			r.complain(n, path, "expected true or false, found %s", describe(n))
		}
		return got, n.Tag == "!!bool"
	case element.kind == text && n.Tag != "!!str" && k.format != "any":
		r.complain(n, path, "expected text, found %s; put it in quotes: %q", describe(n), n.Value)
		return "", false
	case element.kind == text && k.format == "any":
		small := strings.ToLower(n.Value)
		if n.Tag == "!!bool" && n.Value != small {
			r.complain(n, path, "%s is %s in YAML; write that, or put the text in quotes: %q", n.Value, small, n.Value)
			return "", false
		}
		return n.Value, true
	}
	value := n.Value
	if element.kind == integer && n.Tag == "!!int" && octal.MatchString(value) {
		r.complain(n, path, "%s has a zero in front, which is octal in some YAML and decimal in other; leave the zero out", value)
		return "", false
	}
	if element.kind == integer && n.Tag == "!!int" { // 262_144, 0x40000
		var number int64
		if n.Decode(&number) == nil {
			value = strconv.FormatInt(number, 10)
		}
	}
	got, err := element.check(value)
	if err != nil {
		r.complain(n, path, "%s", err)
		return "", false
	}
	if n.Tag == "!!str" && (k.kind == integer || k.kind == fraction || k.kind == boolean) {
		r.complain(n, path, "expected %s, found text; remove the quotes", k.kind)
		return "", false
	}
	return got, true
}

// whichKey returns the tail of the message about an unknown key.
func (k *key) whichKey(name string) string {
	switch {
	case k.child("at_least") != nil:
		if right := otherTests[name]; right != "" && k.child(right) != nil {
			return "; write " + right
		} else if right != "" || name == "any" || name == "all" || name == "not" {
			return "; conditions nest two deep: any of all, or all of any, can say the same"
		}
	case k.child("scale") != nil:
		if right := otherMeasureKeys[name]; right != "" {
			return "; write " + right
		} else if instead := insteadOf[name]; instead != "" {
			return "; " + instead
		}
	}
	if near := spelling.Nearest(name, names(k.keys)); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	if elsewhere := table().find(name); elsewhere != "" {
		return fmt.Sprintf("; it belongs to %s", elsewhere)
	}
	return "; known here: " + strings.Join(names(k.keys), ", ")
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

func (k *key) secretRemedy() string {
	file := strings.TrimSuffix(k.path, k.name) + k.secret
	return fmt.Sprintf("write it to a file and name that in %s, or set %s", file, k.env())
}

func names(keys []*key) []string {
	var all []string
	for _, k := range keys {
		if k.secret == "" {
			all = append(all, k.name)
		}
	}
	return all
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

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
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!int", n.Tag == "!!float":
		return "the number " + n.Value
	case n.Tag == "!!bool":
		return n.Value
	case n.Tag == "!!timestamp":
		return "the date " + n.Value
	}
	return fmt.Sprintf("the text %q", n.Value)
}

// firstSentence of a doc tag, without its full stop.
func firstSentence(doc string) string {
	sentence, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(sentence, ".")
}
