package config

import (
	"cmp"
	"io"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Print writes the effective configuration as YAML, each value with the place
// it comes from as a comment. Secrets appear as ***. Without secrets, the
// printed text loads to the same configuration.
func Print(w io.Writer, c *Config, o *Origins) error {
	return encode(w, o.section(table(), reflect.ValueOf(c).Elem(), ""))
}

// PrintRegistry writes the section of the registry as Print does, without its secret;
// nothing if none of its keys is set.
func PrintRegistry(w io.Writer, c *Config, o *Origins) error {
	only := &Config{Registry: c.Registry}
	only.Registry.Password = Secret{}
	if reflect.ValueOf(only).Elem().IsZero() {
		return nil
	}
	registry := &key{keys: []*key{table().child("registry")}}
	return encode(w, o.section(registry, reflect.ValueOf(only).Elem(), ""))
}

func encode(w io.Writer, n *yaml.Node) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return err
	}
	return encoder.Close()
}

// section prints the keys that are set, and leaves out keys without value and
// without default.
func (o *Origins) section(k *key, v reflect.Value, path string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, c := range k.keys {
		value := v.FieldByIndex(c.index)
		other := c.when.sibling != "" && !c.when.holds(v.FieldByIndex(k.child(c.when.sibling).index).String())
		if other || value.IsZero() && (c.def == "" || c.optional || c.typ == texts) {
			continue
		}
		printed := o.value(c, reflect.Indirect(value), join(path, c.name))
		if c.typ != section || c.optional || len(printed.Content) > 0 {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: c.name}, printed)
		}
	}
	return node
}

func (o *Origins) value(k *key, v reflect.Value, path string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode}
	switch {
	case k.typ == section:
		return o.section(k, v, path)
	case k.typ == sections:
		for i := range v.Len() {
			node.Content = append(node.Content, o.section(k, v.Index(i), path+"["+strconv.Itoa(i)+"]"))
		}
		return node
	case k.typ == texts && v.Len() > 1:
		node.Style = yaml.FlowStyle
		for i := range v.Len() {
			node.Content = append(node.Content, scalarNode(k, v.Index(i)))
		}
	case k.typ == texts:
		node = scalarNode(k, v.Index(0))
	default:
		node = scalarNode(k, v)
	}
	node.LineComment = cmp.Or(o.Of(path).Where(), "default")
	return node
}

func scalarNode(k *key, v reflect.Value) *yaml.Node {
	node, value := new(yaml.Node), v.Interface()
	if k.format == "operand" || k.format == "flag" {
		quoted, err := strconv.Unquote(v.String())
		if err != nil { // a number, true or false
			return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
		}
		value = quoted
	}
	_ = node.Encode(value) // adds quotes where a text would read as another type
	return node
}
