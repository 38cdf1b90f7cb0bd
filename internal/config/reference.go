package config

import (
	_ "embed"
	"fmt"
	"strings"
)

// frame is the reference page around the tables of keys.
//
//go:embed reference.md
var frame string

// Reference returns the reference page, docs/config.md.
func Reference() []byte {
	var b strings.Builder
	head, tail, _ := strings.Cut(frame, "<!-- keys -->\n")
	b.WriteString(head + "## General\n\n")
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
	return []byte(b.String() + tail)
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
		words := "`" + strings.ReplaceAll(either(k.enum), ", ", "`, `") + "`"
		words = strings.ReplaceAll(words, " or ", "` or `")
		if k.kind == texts {
			return fmt.Sprintf("%s, or a list of at most %s", words, k.max)
		}
		return words
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
	if k.when.sibling == "" {
		return doc
	}
	return fmt.Sprintf("With %s %s: %s", k.when.sibling, either(k.when.values), doc)
}
