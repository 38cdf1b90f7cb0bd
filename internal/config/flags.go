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
		if k.secret != "" {
			fs.Var(new(refused), k.path, "not on the command line; "+k.secretRemedy())
			_ = fs.MarkHidden(k.path)
			continue
		}
		fs.Var(&flagText{shown: k.def}, k.path, k.usage())
		if k.kind == boolean {
			fs.Lookup(k.path).NoOptDefVal = "true"
		}
		if older := k.olderPath(); older != "" {
			fs.Var(&flagText{}, older, "the older name of --"+k.path)
			_ = fs.MarkHidden(older)
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

// A flagText holds a text that Load will check. One type serves all kinds, because
// pflag's own types would refuse a bad value with another message and another exit
// code.
type flagText struct {
	text  string
	given bool
	shown string // the default, for the help
}

func (f *flagText) Set(text string) error {
	if f.given { // --kafka.brokers a --kafka.brokers b
		text = f.text + "," + text
	}
	f.text, f.given = text, true
	return nil
}

func (f *flagText) String() string {
	if f.given {
		return f.text
	}
	return f.shown
}

func (f *flagText) Type() string { return "string" }

// refused is the flag of a secret. It takes any value and keeps none; an
// error from Set would make pflag print the value.
type refused struct{}

func (*refused) Set(string) error { return nil }
func (*refused) String() string   { return "" }
func (*refused) Type() string     { return "string" }

// flagTexts checks the flags that were given and returns their values by path.
func flagTexts(fs *pflag.FlagSet, places map[string]Origin, ps *problems) map[string]*pflag.Flag {
	changed := map[string]*pflag.Flag{}
	if fs == nil {
		return changed
	}
	for i, k := range table().leaves() {
		f, name := fs.Lookup(k.path), k.path
		if older := k.olderPath(); older != "" && fs.Lookup(older) != nil && fs.Lookup(older).Changed {
			if f.Changed {
				ps.add(Origin{Source: FromFlag, Name: "--" + older, order: i}, k.path, "--%s is given too, of which this is the older name; keep one", k.path)
				continue
			}
			f, name = fs.Lookup(older), older
		}
		if f == nil || !f.Changed {
			continue
		}
		at := Origin{Source: FromFlag, Name: "--" + name, order: i}
		if k.secret != "" {
			ps.add(at, k.path, "every process of this machine can read a command line; %s", k.secretRemedy())
			continue
		}
		if _, err := k.checkAll(f.Value.String()); err != nil {
			ps.add(at, k.path, "%s", err)
			continue
		}
		changed[k.path] = f
		places[k.path] = at
	}
	return changed
}

// envTexts checks the environment and returns its values by path. An empty
// variable counts as not set, because container tools set missing variables to an
// empty text.
func envTexts(env []string, origins *Origins, ps *problems) (values map[string]any, secrets map[string]Secret) {
	values, secrets = map[string]any{}, map[string]Secret{}
	given := map[string]string{}
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" && strings.HasPrefix(name, "WEIR_") {
			given[name] = value
		}
	}
	for i, k := range table().leaves() {
		name := k.env()
		value, ok := given[name]
		if older := variable(k.olderPath()); k.older != "" && given[older] != "" {
			if ok {
				ps.add(Origin{Source: FromEnv, Name: older, order: i}, k.path, "%s is set too, of which this is the older name; keep one", name)
			}
			name, value, ok = older, given[older], true
			delete(given, k.env())
		}
		if !ok {
			continue
		}
		delete(given, name)
		at := Origin{Source: FromEnv, Name: name, order: i}
		if k.secret != "" {
			secrets[k.path] = NewSecret(value)
			origins.places[k.path] = at
			continue
		}
		got, err := k.checkAll(value)
		if err != nil {
			ps.add(at, k.path, "%s", err)
			continue
		}
		values[k.path] = got
		origins.places[k.path] = at
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if meant := misspelt(name); meant != "" {
			(*problems)(&origins.Warnings).add(Origin{Source: FromEnv, Name: name}, "", "no key of this name; did you mean %s?", meant)
		}
	}
	return values, secrets
}

// misspelt returns the variable that differs from name by two letters at most.
// Such a variable gives a warning only, and one that differs more gives none:
// Kubernetes, for example, sets WEIR_SERVICE_HOST by itself.
func misspelt(name string) string {
	for _, k := range table().leaves() {
		if len(name) <= len(k.env())+2 && spelling.Distance(name, k.env()) <= 2 {
			return k.env()
		}
	}
	return ""
}

// checkAll is check for a value given as one text: lists have commas.
func (k *key) checkAll(value string) (any, error) {
	if k.kind != texts {
		return k.check(value)
	}
	element := *k
	element.kind = text
	var list []string
	for part := range strings.SplitSeq(value, ",") {
		got, err := element.check(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, got)
	}
	return list, nil
}
