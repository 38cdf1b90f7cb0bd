package config

import (
	"fmt"
	"strings"
)

const referenceHead = `<!-- Generated from the structs of internal/config: go test ./internal/config -update -->

# Configuration

weir reads one YAML file. The example [weir.yaml](../weir.yaml) works as it is; this page lists every key.

- **Precedence**: a flag over an environment variable over the file over the default. Every key outside ` + "`jobs`" + ` has a flag,
  its path (` + "`--kafka.brokers`" + `), and an environment variable (` + "`WEIR_KAFKA_BROKERS`" + `); lists are written with commas there, and an empty
  variable counts as not set. ` + "`weir config print`" + ` shows the result and where each value comes from.
- **The file**: given by ` + "`-c`" + `, else named by ` + "`WEIR_CONFIG`" + `, else the first of ` + "`weir.yaml`" + `, ` + "`$XDG_CONFIG_HOME/weir/weir.yaml`" + `
  (` + "`~/.config`" + ` when not set), ` + "`/etc/weir/weir.yaml`" + `. Names of files in it are relative to the working directory.
- **Durations and sizes need a unit**: ` + "`500ms`, `30s`, `1m`, `1h30m`, `24h`, `7d`; `64MiB`, `1GiB`" + `.
- **Secrets** are in files (keys ending in ` + "`_file`" + `) or in the environment, never in this file or on the command line. They are printed as ` + "`***`" + `.
- **A path** names a value of an event by its key: ` + "`page`" + `, or ` + "`geo.country`" + ` for ` + "`{\"geo\": {\"country\": \"DE\"}}`" + `: the keys of nested objects
  with dots between them, from the outermost in, at most 63. It is compared byte by byte, so case matters. Elements of arrays and keys that are empty
  or contain a dot cannot be named, and one path cannot lead through the value of another. Other notations (` + "`$.a.b`, `/a/b`, `a[0]`, `a['b']`" + `) are refused.
- **Mistakes** are reported all at once, each with its place, and exit code 78:
  ` + "`weir.yaml:14:13: jobs[0].window: 45s does not divide 1m; try 30s or 1m`" + `
- **Editors** complete and check the file with ` + "`# yaml-language-server: $schema=docs/weir.schema.json`" + ` in its first line.
`

// Reference returns the reference page, docs/config.md.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)

	b.WriteString("\n## General\n\n")
	rows(&b, table(), "")
	for _, k := range table().keys {
		if k.kind == section {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", k.name, k.doc)
			rows(&b, k, "")
		}
	}
	jobs := table().child("jobs")
	fmt.Fprintf(&b, "\n## jobs\n\n%s At most %s.\n\n", jobs.doc, jobs.max)
	rows(&b, jobs, "")
	for _, k := range jobs.keys {
		if k.kind == section || k.kind == sections {
			fmt.Fprintf(&b, "\n### jobs[].%s\n\n%s", k.name, k.doc)
			if k.kind == sections {
				fmt.Fprintf(&b, " At most %s.", k.max)
			}
			b.WriteString("\n\n")
			rows(&b, k, "")
		}
	}
	return []byte(b.String())
}

// rows writes the table of a section's keys; sections inside it are written
// with dots, those of the root and of a job on their own.
func rows(b *strings.Builder, k *key, prefix string) {
	if prefix == "" {
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	}
	chapter := k.path == "jobs"
	for _, c := range k.keys {
		name := prefix + c.name
		switch {
		case k.path == "" && (c.kind == section || c.kind == sections):
			continue
		case c.kind == section && chapter:
			fmt.Fprintf(b, "| `%s` | section, see [below](#jobs%s) | %s | %s |\n", name, c.name, c.sectionDefault(), c.doc)
			continue
		case c.kind == section:
			rows(b, c, name+".")
			continue
		case c.kind == sections:
			fmt.Fprintf(b, "| `%s` | list, see [below](#jobs%s) | | %s |\n", name, c.name, c.doc)
			continue
		case c.secret != "":
			fmt.Fprintf(b, "| %s | secret | | %s Only as `%s`. |\n", name, c.doc, c.env())
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, c.accepts(), c.shownDefault(), strings.ReplaceAll(c.meaning(), "__other__", "`__other__`"))
	}
}

// accepts says which values a key takes.
func (k *key) accepts() string {
	switch {
	case k.enum != nil:
		var words []string
		for _, word := range k.enum {
			if word != "" {
				words = append(words, "`"+word+"`")
			}
		}
		return either(words)
	case k.kind == texts:
		return fmt.Sprintf("%s, at most %s", k.kind, k.max)
	case k.min != "":
		return fmt.Sprintf("%s, %s to %s", k.kind, k.min, k.max)
	}
	if shape := shapes[k.format]; shape != "" {
		return shape
	}
	if strings.HasSuffix(k.name, "_file") {
		return "a file name"
	}
	return k.kind.String()
}

// shapes describe the formats of values.go.
var shapes = map[string]string{
	"name": "a name: lower-case letters, digits and _", "path": "a [path](#configuration)", "topic": "a Kafka name",
	"identifier": "a ClickHouse name", "cluster": "a cluster's name", "listen": "host:port", "url": "a URL",
}

func (k *key) sectionDefault() string {
	for _, c := range k.keys {
		if c.required && !k.optional {
			return "required"
		}
	}
	return ""
}

func (k *key) shownDefault() string {
	switch {
	case k.required:
		return "required"
	case k.def == "":
		return ""
	}
	return "`" + k.def + "`"
}

func (k *key) meaning() string {
	doc := k.doc
	if k.older != "" {
		doc += fmt.Sprintf(" The older name `%s` of the key is still read.", k.older)
	}
	if k.when.sibling == "" {
		return doc
	}
	return fmt.Sprintf("With %s %s: %s", k.when.sibling, either(k.when.values), doc)
}
