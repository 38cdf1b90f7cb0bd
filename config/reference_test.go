package config

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// frame is the reference page around the tables of keys.
//
//go:embed testdata/reference.tmpl
var frame string

// Reference returns the reference page, docs/config.md.
func Reference() []byte {
	var b strings.Builder
	head, tail, _ := strings.Cut(frame, "<!-- keys -->\n")
	b.WriteString(head + "## General\n\n")
	rows(&b, table(), "")
	for _, k := range table().keys {
		if k.typ == section {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", k.name, k.doc)
			rows(&b, k, "")
		}
	}
	jobs := table().child("jobs")
	fmt.Fprintf(&b, "\n## jobs\n\n%s At most %s.\n\n", jobs.doc, jobs.max)
	rows(&b, jobs, "")
	for _, k := range jobs.keys {
		if k.typ == section || k.typ == sections {
			fmt.Fprintf(&b, "\n### jobs[].%s\n\n%s", k.name, k.doc)
			if k.typ == sections {
				fmt.Fprintf(&b, " At most %s.", k.max)
			}
			b.WriteString("\n\n")
			rows(&b, k, "")
		}
	}
	return []byte(b.String() + tail)
}

// rows writes the table of a section's keys; sections inside it are written
// with dots, those of the root and of a job on their own.
func rows(b *strings.Builder, k *key, prefix string) {
	if prefix == "" {
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	}
	for _, c := range k.keys {
		name := prefix + c.name
		switch {
		case k.path == "" && c.keys != nil: // which has a chapter
		case c.name == "tls" && k.name != "kafka":
			fmt.Fprintf(b, "| `tls.…` | | | As of [kafka](#kafka), but without `enabled`. |\n")
		case c.typ == section && c.like == "" && k.path != "jobs":
			rows(b, c, name+".")
		case c.secret != "":
			fmt.Fprintf(b, "| %s | secret | | %s Only as `%s`. |\n", name, c.doc, c.env())
		default:
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, c.accepts(), c.shownDefault(), strings.ReplaceAll(c.meaning(), "__other__", "`__other__`"))
		}
	}
}

// accepts says which values a key takes.
func (k *key) accepts() string {
	list := ""
	if k.typ == texts {
		list = ", or a list of at most " + k.max
	}
	switch {
	case k.keys != nil && strings.HasPrefix(k.path, "jobs"):
		return fmt.Sprintf("%s, see [%s](#jobs%[2]s)", k.typ, cmp.Or(k.like, k.name))
	case k.typ == sections:
		return "a list, at most " + k.max
	case k.enum != nil:
		return "`" + strings.Join(k.enum, "`, `") + "`" + list
	case shapes[k.format] != "" || list != "":
		return cmp.Or(shapes[k.format], "text") + list
	case k.min != "":
		return fmt.Sprintf("%s, %s to %s", k.typ, k.min, k.max)
	case strings.HasSuffix(k.name, "_file"):
		return "a file name"
	}
	return k.typ.String()
}

// shapes describe the formats of values.go.
var shapes = map[string]string{
	"name": "a name: lower-case letters, digits and _", "path": "a path", "each": "`$` or a path", "topic": "a Kafka name",
	"database": "a ClickHouse name", "cluster": "a cluster's name", "listen": "host:port", "member": "number/members", "url": "a URL", "operand": "text, number, true or false", "any": "text, number, true or false", "flag": "true or false",
}

func (k *key) shownDefault() string {
	if k.required || k.typ == section && !k.optional && slices.ContainsFunc(k.keys, func(c *key) bool { return c.required }) {
		return "required"
	}
	return strings.ReplaceAll("`"+k.def+"`", "``", "")
}

func (k *key) meaning() string {
	if k.when.sibling == "" {
		return k.doc
	}
	return fmt.Sprintf("With %s %s: %s", k.when.sibling, either(k.when.values), k.doc)
}
