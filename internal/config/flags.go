package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

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
		if k.kind == boolean {
			flag.NoOptDefVal = "true"
		}
	}
}

// usage returns the flag's line in the help. The word in backquotes becomes the
// name of its value.
func (k *key) usage() string {
	word := map[kind]string{
		text: "text", texts: "list", integer: "number", fraction: "number", boolean: "bool", duration: "duration", size: "size",
	}[k.kind]
	words := ""
	if k.enum != nil {
		words = ": " + either(k.enum)
	}
	return fmt.Sprintf("%s%s (`%s`, %s)", firstSentence(k.doc), words, word, k.env())
}

// outside checks the values that the environment and the flags give, and returns them by path; a flag
// wins. An empty variable counts as not set, because container tools set missing variables to an empty text.
func outside(o Options, origins *Origins, ps *problems) map[string]any {
	values, variables := map[string]any{}, variables(o.Env)
	take := func(k *key, at Origin, text string) {
		value, err := k.checkAll(text)
		if err != nil {
			ps.add(at, k.path, "%s", err)
			return
		}
		values[k.path], origins.places[k.path] = value, at
	}
	var known []string
	for i, k := range table().leaves() {
		known = append(known, k.env())
		if value, ok := variables[k.env()]; ok {
			take(k, Origin{Source: FromEnv, Name: k.env(), order: i}, value)
			delete(variables, k.env())
		}
		if o.Flags == nil || !o.Flags.Changed(k.path) {
			continue
		}
		at := Origin{Source: FromFlag, Name: "--" + k.path, order: i}
		if k.secret != "" {
			ps.add(at, k.path, "every process of this machine can read a command line; %s", k.secretRemedy())
		} else {
			texts, _ := o.Flags.GetStringArray(k.path) // --kafka.brokers a --kafka.brokers b
			take(k, at, strings.Join(texts, ","))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) { // Kubernetes, for example, sets WEIR_SERVICE_HOST by itself
		near := slices.IndexFunc(known, func(k string) bool { return len(name) <= len(k)+2 && spelling.Distance(name, k) <= 2 })
		if near >= 0 {
			ps.add(Origin{Source: FromEnv, Name: name}, "", "no key of this name; did you mean %s?", known[near])
		}
	}
	return values
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

// checkAll is check for a value given as one text: lists have commas, and an empty text takes one of
// the file away.
func (k *key) checkAll(value string) (any, error) {
	if k.kind == text && k.def == "" && value == "" {
		return "", nil
	}
	if k.kind != texts {
		return k.check(value)
	}
	var list []string
	for part := range strings.SplitSeq(value, ",") {
		got, err := k.element().check(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, got)
	}
	return list, nil
}
