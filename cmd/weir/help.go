package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/config"
	"weir/event"
	"weir/window"
)

// groups are what weir --help lists the commands under, in this order.
var groups = []struct {
	title    string
	commands []string
}{
	{"Try it:", []string{"up", "gen", "produce", "broker", "engine"}},
	{"Write a configuration:", []string{"infer", "check", "config", "dashboard"}},
	{"Run it:", []string{"migrate", "run", "serve", "healthcheck"}},
	{"Look into it:", []string{"top", "tap", "verify", "repair"}},
}

// examples are those of commands whose own text has none.
var examples = map[string]string{
	"broker":      "  weir broker --data /tmp/broker --topics clicks",
	"check":       "  weir check -c weir.yaml\n  weir check -c weir.yaml --sample 500\n  weir check -c weir.yaml --offline",
	"engine":      "  weir engine --data /tmp/engine",
	"healthcheck": "  weir healthcheck -c weir.yaml --ready",
	"migrate":     "  weir migrate -c weir.yaml --dry-run\n  weir migrate -c weir.yaml",
	"up":          "  weir up\n  weir up --history 7d --rate 500\n  weir up -c weir.yaml --no-gen",
	"version":     "  weir version -o json",
}

// arrange puts the commands into groups, gives each an example, and makes the help of two levels: the flags for keys of
// the configuration are in that of --help-all.
func arrange(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range g.commands {
			c, _, _ := root.Find([]string{name})
			c.GroupID = g.title
		}
	}
	for _, c := range root.Commands() {
		if c.Example == "" {
			c.Example = examples[c.Name()]
		}
		complete(c)
	}
	shown := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			_, key := f.Annotations[ofKey]
			f.Hidden = f.Hidden || key && !c.Flags().Changed(helpAll)
		})
		shown(c, args)
	})
}

// ofKey marks the flags for keys of the configuration, and helpAll is the flag that shows them.
const (
	ofKey   = "key"
	helpAll = "help-all"
)

// configFlags gives a command -c and a flag for every key.
func configFlags(c *cobra.Command) {
	c.Flags().StringP("config", "c", "", "configuration file (default: $WEIR_CONFIG, then weir.yaml here and in the usual places)")
	keys := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(keys)
	keys.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{ofKey: nil} })
	c.Flags().AddFlagSet(keys)
	c.Flags().Var(allFlags{c}, helpAll, "help for "+c.Name()+", with a flag for every key of the configuration")
	c.Flags().Lookup(helpAll).NoOptDefVal = "true"
}

// allFlags is the value of --help-all, which asks for the help, too.
type allFlags struct{ c *cobra.Command }

func (a allFlags) Set(text string) error { return a.c.Flags().Set("help", text) }
func (allFlags) String() string          { return "false" }
func (allFlags) Type() string            { return "bool" }

// outputFlag is the flag -o, text or json.
type outputFlag struct{ json bool }

func (o *outputFlag) add(c *cobra.Command) { c.Flags().VarP(o, "output", "o", "text or json") }

func (o *outputFlag) Set(text string) error {
	if o.json = text == "json"; !o.json && text != "text" {
		return errors.New("want text or json")
	}
	return nil
}

func (o *outputFlag) String() string {
	if o.json {
		return "json"
	}
	return "text"
}

func (*outputFlag) Type() string { return "form" }

// printJSON prints a value for programs.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// complete gives a shell the values of a command's flags.
func complete(c *cobra.Command) {
	for name, values := range map[string]func() []string{
		"job":       func() []string { return jobNames(c) },
		"outcome":   outcomes,
		"time-unit": event.Units,
		"until":     func() []string { return []string{"end"} },
		"output":    func() []string { return []string{"text", "json"} },
	} {
		if c.Flags().Lookup(name) == nil {
			continue
		}
		_ = c.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// jobNames returns the names of the configured jobs; none if there is no configuration that can be read.
func jobNames(c *cobra.Command) (names []string) {
	given, _ := c.Flags().GetString("config")
	file, _ := config.Find(given, os.Environ())
	cfg, _, err := config.Load(config.Options{File: file, Env: os.Environ(), NoSecrets: true})
	if err != nil {
		return nil
	}
	for i := range cfg.Jobs {
		names = append(names, cfg.Jobs[i].Name)
	}
	return names
}

func outcomes() (names []string) {
	for o := range window.Outcomes {
		names = append(names, o.String())
	}
	return names
}
