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
  with dots between them, from the outermost in. An element of an array has its index in brackets, 0 to 999: ` + "`items[0].sku`, `grid[1][0]`" + `; inside
  ` + "`{ }` and `[ ]`" + ` of YAML such a path needs quotes. At most 63 keys and indexes. A path is compared byte by byte, so case matters. Keys that are empty
  or contain a dot or a bracket cannot be named, and one path cannot lead through the value of another. ` + "`items.0`" + ` names the key ` + "`0`" + ` of an object, not
  an element. Other notations (` + "`$.a.b`, `/a/b`, `a['b']`" + `) are refused.
- **A JSON object in a text**, as in ` + "`{\"properties\": \"{\\\"plan\\\": \\\"pro\\\"}\"}`" + `, has its values at ` + "`properties[json].plan`" + `. An empty text has none; one that is
  no JSON object makes the event malformed.
- **The record's key and headers** are paths too: ` + "`key`" + ` is the key as a text, ` + "`key.user`" + ` a value in a key that is a JSON object, ` + "`header:ce_type`" + ` the last
  header of that name, whose case matters. A key that is null, and a header that is not there or has no value, are missing; what is not UTF-8 makes the event malformed. A field of the event that is itself
  called key is ` + "`value.key`" + `. Where a record is an [array of events](inputs.md#arrays-of-events), ` + "`record:sentAt`" + ` is the field sentAt beside the array.
- **Several paths**: ` + "`field: [userId, anonymousId]`" + ` is the first that is there and not null, in the order of the list.
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
	b.WriteString(functionsTail)
	return []byte(b.String())
}

const functionsTail = `
## conditions

All conditions of a list must hold, and all tests of a condition. This job counts views and purchases of at least 10, except those of robots and of
test sites, and knows buyers apart:

` + "```yaml" + `
jobs:
  - name: shop
    topic: shop
    time: {field: [ts, meta.ts]}
    window: 1m
    where:
      - any:
          - {field: action, is: view}
          - all: [{field: action, is: buy}, {field: amount, at_least: 10}]
      - {field: robot, is_not: true}
      - not: {field: url, apply: host, suffix: [.test, .invalid]}
    by:
      - {name: site, field: [url, referrer], apply: host, default: none}
    measures:
      - {name: people, kind: hll, field: [userId, anonymousId], apply: [trim, lower]}
      - {name: buyers, kind: hll, field: userId, where: [{field: action, is: buy}]}
      - {name: first_items, kind: hll, field: "items[0].sku", optional: true}
` + "```" + `

## functions

The functions of ` + "`apply`" + ` are pure functions of the bytes. Their definition never changes, because stored groups depend on it. They apply to
strings, after the choice among several paths; ` + "`lower` and `trim`" + ` leave numbers, true and false as they are, and ` + "`host` and `path`" + ` of these are missing.

| function | result |
|---|---|
| ` + "`lower`" + ` | A to Z in lower case; all other bytes stay, also letters beyond ASCII |
| ` + "`trim`" + ` | without blanks, tabs, line feeds, vertical tabs, form feeds and carriage returns at both ends; no other white space |
| ` + "`host`" + ` | the host of a URL ` + "`scheme://host…` or `//host…`" + `: up to the next /, ? or #, without user and password (up to the last @) and port (from the first colon), an IPv6 address without brackets, A to Z in lower case, nothing decoded. A text without ` + "`//`" + ` in front of a host has none: the value is missing |
| ` + "`path`" + ` | the path of a URL up to the first ? or #, nothing decoded or shortened. It begins behind the host, which may be empty, as in ` + "`file:///a`" + `; an empty path there is /. A text without ` + "`//`" + ` in front is all path; if it is empty, the value is missing |
`

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
		case c.like != "" && c.kind == section:
			fmt.Fprintf(b, "| `%s` | like an entry of [%s](#jobs%s) | | %s |\n", name, c.like, c.like, c.doc)
			continue
		case c.like != "":
			fmt.Fprintf(b, "| `%s` | list like [%s](#jobs%s), at most %s | | %s |\n", name, c.like, c.like, c.max, c.doc)
			continue
		case c.kind == section && chapter:
			fmt.Fprintf(b, "| `%s` | section, see [below](#jobs%s) | %s | %s |\n", name, c.name, c.sectionDefault(), c.doc)
			continue
		case c.kind == section:
			rows(b, c, name+".")
			continue
		case c.kind == sections && !strings.HasPrefix(c.path, "jobs"):
			fmt.Fprintf(b, "| `%s` | a list, at most %s | | %s |\n", name, c.max, c.doc)
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
		if k.kind == texts {
			return fmt.Sprintf("%s, or a list of at most %s", either(words), k.max)
		}
		return either(words)
	case k.kind == texts && k.format == "path":
		return fmt.Sprintf("%s, or a list of at most %s", shapes[k.format], k.max)
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
	"name": "a name: lower-case letters, digits and _", "path": "a [path](#configuration)", "each": "`$` or a [path](#configuration)", "topic": "a Kafka name",
	"database": "a ClickHouse name", "cluster": "a cluster's name", "listen": "host:port", "member": "number/members", "url": "a URL", "operand": "text, number, true or false", "flag": "true or false",
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
