package config

import (
	"io"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Print writes the effective configuration as YAML, each value with the place
// it comes from as a comment. Secrets appear as ***. Without secrets, the
// printed text loads to the same configuration.
func Print(w io.Writer, c *Config, o *Origins) error {
	p := printer{origins: o}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(p.section(table(), reflect.ValueOf(c).Elem(), "")); err != nil {
		return err
	}
	return encoder.Close()
}

// PrintSection writes one section of the configuration, without its secrets, as Print does;
// nothing if none of its keys is set.
func PrintSection(w io.Writer, c *Config, o *Origins, name string) error {
	for _, k := range table().keys {
		if k.name != name {
			continue
		}
		printed := printer{origins: o, open: true}.section(k, reflect.ValueOf(c).Elem().FieldByIndex(k.index), name)
		if printed == nil {
			return nil
		}
		encoder := yaml.NewEncoder(w)
		encoder.SetIndent(2)
		node := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: name}, printed}}
		if err := encoder.Encode(node); err != nil {
			return err
		}
		return encoder.Close()
	}
	return nil
}

type printer struct {
	origins *Origins
	open    bool // leaves out secrets
}

// section prints the keys that are set, and leaves out keys without value and
// without default.
func (p printer) section(k *key, v reflect.Value, path string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	chosen := func(w when) bool {
		if w.sibling == "" {
			return true
		}
		return w.holds(v.FieldByIndex(k.child(w.sibling).index).String())
	}
	for _, c := range k.keys {
		value := v.FieldByIndex(c.index)
		if p.open && c.secret != "" || !chosen(c.when) || value.IsZero() && (c.def == "" || c.optional || c.kind == texts) {
			continue
		}
		if printed := p.value(c, value, join(path, c.name)); printed != nil {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: c.name}, printed)
		}
	}
	if len(node.Content) == 0 && path != "" {
		return nil
	}
	return node
}

func (p printer) value(k *key, v reflect.Value, path string) *yaml.Node {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch k.kind {
	case section:
		return p.section(k, v, path)
	case sections:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			list.Content = append(list.Content, p.section(k, v.Index(i), path+"["+strconv.Itoa(i)+"]"))
		}
		return list
	}
	comment := p.origins.Of(path).String()
	if k.kind != texts {
		node := scalarNode(k, v)
		node.LineComment = comment
		return node
	}
	if k.alone() && v.Len() == 1 {
		node := scalarNode(k, v.Index(0))
		node.LineComment = comment
		return node
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, LineComment: comment}
	for i := range v.Len() {
		list.Content = append(list.Content, scalarNode(k, v.Index(i)))
	}
	return list
}

func scalarNode(k *key, v reflect.Value) *yaml.Node {
	node := new(yaml.Node)
	switch k.kind {
	case text, texts:
		if secret, ok := v.Interface().(Secret); ok {
			node.SetString(secret.String())
			return node
		}
		if k.format == "operand" || k.format == "flag" {
			if text, err := strconv.Unquote(v.String()); err == nil {
				_ = node.Encode(text)
			} else {
				node.Kind, node.Value = yaml.ScalarNode, v.String()
			}
			return node
		}
		node.SetString(v.String())
		_ = node.Encode(v.String()) // adds quotes where the text would read as another type
	default:
		_ = node.Encode(v.Interface())
	}
	return node
}
