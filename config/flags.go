package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"weir/internal/spelling"
)

// AddFlags defines one flag per value outside jobs, named by its path:
// --kafka.brokers, --flush.interval. [Load] checks their values, with the same
// messages as for the file.
//
// Secrets have hidden flags that are always refused, so that a user who tries one
// reads what to do instead of "unknown flag".
func AddFlags(fs *pflag.FlagSet) {
	for _, k := range table().leaves() {
		fs.StringArray(k.path, nil, k.usage()) // a text: the types of pflag would refuse a bad value with another message and exit code
		flag := fs.Lookup(k.path)
		flag.Hidden = k.secret != ""
		if k.def != "" {
			flag.DefValue = k.def // for the help
		}
		if k.typ == boolean {
			flag.NoOptDefVal = "true"
		}
	}
}

// usage returns the flag's line in the help. The word in backquotes becomes the
// name of its value.
func (k *key) usage() string {
	word := map[valueType]string{
		text: "text", texts: "list", integer: "number", fraction: "number", boolean: "bool", duration: "duration", size: "size",
	}[k.typ]
	words := ""
	if k.enum != nil {
		words = ": " + either(k.enum)
	}
	return fmt.Sprintf("%s%s (`%s`, %s)", firstSentence(k.doc), words, word, k.env())
}

// outside reads the values that the environment and the flags give, and returns them by path; a flag
// wins. An empty variable counts as not set, because container tools set missing variables to an empty text.
func (r *reader) outside(o Options) map[string]any {
	values, variables := map[string]any{}, variables(o.Env)
	take := func(k *key, text string, from Origin) {
		r.from = from
		if got := r.value(k, k.node(text), k.path); got != nil {
			values[k.path] = got
		}
	}
	var known []string
	for i, k := range table().leaves() {
		known = append(known, k.env())
		if value, ok := variables[k.env()]; ok {
			take(k, value, Origin{Source: FromEnv, Name: k.env(), order: i})
			delete(variables, k.env())
		}
		if o.Flags != nil && o.Flags.Changed(k.path) {
			texts, _ := o.Flags.GetStringArray(k.path) // --kafka.brokers a --kafka.brokers b
			take(k, strings.Join(texts, ","), Origin{Source: FromFlag, Name: "--" + k.path, order: i})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) { // Kubernetes, for example, sets WEIR_SERVICE_HOST by itself
		near := slices.IndexFunc(known, func(k string) bool { return len(name) <= len(k)+2 && spelling.Distance(name, k) <= 2 })
		if near >= 0 {
			r.problems.add(Origin{Source: FromEnv, Name: name}, "", "no key of this name; did you mean %s?", known[near])
		}
	}
	return values
}

// node returns a value that is given as one text as it would stand in a file: lists have commas.
func (k *key) node(value string) *yaml.Node {
	if k.typ == texts {
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for part := range strings.SplitSeq(value, ",") {
			n.Content = append(n.Content, k.element().node(strings.TrimSpace(part)))
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if k.typ == text {
		n.Tag = "!!str"
	}
	return n
}

// variables returns the variables of an environment that are not empty.
func variables(env []string) map[string]string {
	all := map[string]string{}
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" {
			all[name] = value
		}
	}
	return all
}
