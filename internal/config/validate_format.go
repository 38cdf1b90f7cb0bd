package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/event"
	"weir/internal/spelling"
	"weir/schemas"
)

// registry checks the connection to the registry.
func (v *validator) registry() {
	r := &v.cfg.Registry
	password := r.PasswordFile != "" || v.origins.Of("registry.password").Source == FromEnv
	switch {
	case v.broken("registry"):
	case r.URL == "" && (r.User != "" || password || r.TLS != (TLS{})):
		v.complain("registry", "needs url (where the registry answers)")
	case r.User == "" && password:
		v.complain("registry", "a password without a user; add user")
	case r.User != "" && !password:
		v.complain("registry.user", "needs a password too; name its file in password_file or set WEIR_REGISTRY_PASSWORD")
	case r.TLS != (TLS{}) && strings.HasPrefix(r.URL, "http://"):
		v.complain("registry.tls", "the URL says http, so nothing would be encrypted; write https:// or remove tls")
	}
	v.local()
}

// local checks the schemas in files, and reads the files.
func (v *validator) local() {
	first := map[string]int{}
	for i := range v.cfg.Registry.Schemas {
		s := &v.cfg.Registry.Schemas[i]
		path := fmt.Sprintf("registry.schemas[%d]", i)
		if !isSchema(s.ID) {
			v.complain(path+".id", "%q is no schema; write its id, such as 17, or its GUID", s.ID)
			continue
		}
		s.ID = lostSchemas([]string{s.ID})[0]
		if at, taken := first[s.ID]; taken {
			v.complain(path+".id", "registry.schemas[%d] has the schema %s already; an id never gets another schema", at, s.ID)
		}
		first[s.ID] = i
		text, err := schemas.ReadText(s.File)
		if err != nil {
			v.complain(path+".file", "%s: %v", s.File, err)
		}
		s.Text = text
	}
}

// isSchema reports whether a text is an id or a GUID.
func isSchema(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil || guidPattern.MatchString(strings.ToLower(text))
}

// lostSchemas returns the schemas of a list in the form of package window.
func lostSchemas(list []string) []string {
	var all []string
	for _, text := range list {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil {
			text = strconv.FormatUint(n, 10)
		}
		all = append(all, strings.ToLower(text))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var guidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// lost checks the list of lost schemas.
func (v *validator) lost(path string, j *Job, framed bool) {
	if j.Lost != nil && !framed {
		v.complain(path+".lost_schemas", "the records of this job name no schemas; leave it out")
		return
	}
	for i, text := range j.Lost {
		if !isSchema(text) {
			v.complain(fmt.Sprintf("%s.lost_schemas[%d]", path, i), "%q is no schema; write its id, such as 17, or its GUID", text)
		}
	}
}

// inColumns checks that no two columns have the same name, and that a job reads only columns
// that there are.
func (v *validator) inColumns(path string, j *Job) {
	first := map[string]int{}
	for i, name := range j.Columns {
		if at, taken := first[name]; taken {
			v.complain(fmt.Sprintf("%s.columns[%d]", path, i), "%s is the name of column %d already; each needs one of its own, such as %s", name, at+1, event.ColumnName(i))
		} else {
			first[name] = i
		}
	}
	for _, u := range j.uses() {
		if event.InEnvelope(u.field) || event.Column(j.Columns, u.field) >= 0 {
			continue
		}
		name, rest, _ := strings.Cut(event.PathText(u.field), "[json]")
		remedy := "write c1 for the first column, c2 for the next, or name them all in columns"
		if j.Columns != nil {
			remedy = "columns does not list it"
			if near := spelling.Nearest(name, j.Columns); near != "" {
				remedy += "; did you mean " + near + rest + "?"
			}
		}
		if outer, inner, ok := strings.Cut(name, "."); ok && event.Column(j.Columns, outer) >= 0 {
			remedy = fmt.Sprintf("a value in a column that is a JSON object is %s[json].%s", outer, inner)
		}
		v.complain(path+"."+u.at, "there is no column %s; %s", name, remedy)
	}
}

// format checks that the records of a job have a schema if their format needs one, and reads
// the file of it.
func (v *validator) format(path string, j *Job) {
	format, err := event.ParseFormat(j.Format)
	if err != nil {
		return // reported already
	}
	v.each(path, j, format)
	v.lost(path, j, format.HasSchema() && j.SchemaFile == "")
	if format.HasColumns() {
		v.inColumns(path, j)
	}
	switch {
	case j.KeyFormat != "" && j.KeyFormat != j.Format:
		v.complain(path+".key_format", "keys of %s beside values of %s are not decoded; leave it out", j.KeyFormat, j.Format)
		return
	case j.KeyFormat != "" && (j.SchemaFile != "" || j.Framing == "glue"):
		v.complain(path+".key_format", "keys are decoded with the schema that they name in a registry, as values are; leave it out")
		return
	case j.Framing != "" && j.SchemaFile != "":
		v.complain(path+".framing", "records with the schema in schema_file name none; leave it out")
		return
	case j.Framing == "glue" && format.HasSchema() && v.cfg.Registry.Schemas == nil && !v.broken("registry"):
		v.complain(path+".framing", "weir does not ask AWS Glue for schemas; list the files of its schema versions in registry.schemas")
		return
	case j.SchemaFile != "" && !format.HasSchema():
		v.complain(path+".schema_file", "records of the format %s need no schema; leave it out, or say format: avro", format)
		return
	case j.Message != "" && (j.SchemaFile == "" || format != event.Protobuf):
		v.complain(path+".message", "belongs to a schema_file of protobuf; with a registry each record says which message it is")
		return
	case j.SchemaFile == "" && format.HasSchema() && v.cfg.Registry.URL == "" && v.cfg.Registry.Schemas == nil && !v.broken("registry"):
		v.complain(path+".format", "records of the format %s need a schema; name the registry that has it in registry.url, or the file of it in schema_file", format)
		return
	case j.SchemaFile == "":
		return
	}
	if j.Schema, err = schemas.Open(format, j.SchemaFile, j.Message); err != nil {
		v.complain(path+".schema_file", "%s: %v", j.SchemaFile, err)
		return
	}
	each := event.ParsePathText(j.Each)
	if each != "" && event.CheckEach(format, each) == nil && !j.Schema.HasEvents(each) {
		v.complain(path+".each", "the schema in %s has no array of records at %s", j.SchemaFile, j.Each)
		return
	}
	seen := map[string]bool{}
	for _, u := range j.uses() {
		if !seen[u.field] && !j.Schema.Leads(each, u.field) {
			v.complain(path+"."+u.at, "the schema in %s has nothing at %s", j.SchemaFile, event.PathText(u.field))
		}
		seen[u.field] = true
	}
}
