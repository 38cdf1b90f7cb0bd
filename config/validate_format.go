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
	"weir/window"
)

// local checks the schemas in files, and reads the files.
func (v *validator) local() {
	first := map[string]int{}
	for i := range v.cfg.Registry.Schemas {
		s := &v.cfg.Registry.Schemas[i]
		path := fmt.Sprintf("registry.schemas[%d]", i)
		if !v.schemaID(path+".id", s.ID) {
			continue
		}
		s.ID = lostSchemas([]string{s.ID})[0]
		at, taken := first[s.ID]
		v.must(!taken, path+".id", "registry.schemas[%d] has the schema %s already; an id never gets another schema", at, s.ID)
		first[s.ID] = i
		var err error
		s.Text, err = schemas.ReadText(s.File)
		v.must(err == nil, path+".file", "%s: %v", s.File, err)
	}
}

var schemaID = regexp.MustCompile(`^([0-9]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)

// schemaID checks that a text is the id or the GUID of a schema.
func (v *validator) schemaID(path, text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return v.must(schemaID.MatchString(text) && (err == nil || strings.Contains(text, "-")), path, "%q is no schema; write its id, such as 17, or its GUID", text)
}

// lostSchemas returns the schemas of a list in the form of package window.
func lostSchemas(list []string) (all []string) {
	for _, text := range list {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil {
			text = strconv.FormatUint(n, 10)
		}
		all = append(all, strings.ToLower(text))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// format checks that the records of a job have a schema if their format needs one, and reads
// the file of it.
func (v *validator) format(path string, j *Job) {
	format, _ := event.ParseFormat(j.Format) // which is one of the known
	v.each(path, j, format)
	if format.HasColumns() {
		v.inColumns(path, j)
	}
	for _, f := range j.fields() {
		v.must(format != event.None || event.InEnvelope(f.path), path+"."+f.at, "nothing is read of a value of the format none; name the key or a header, or another format")
	}
	named := format.HasSchema() && j.SchemaFile == "" // records name their schemas
	for i, id := range j.Lost {
		v.schemaID(fmt.Sprintf("%s.lost_schemas[%d]", path, i), id)
	}
	for _, rule := range []struct {
		holds     bool
		key, text string
	}{
		{j.Lost == nil || named, "lost_schemas", "the records of this job name no schemas; leave it out"},
		{j.KeyFormat == "" || j.KeyFormat == j.Format, "key_format", "keys are decoded as values are; write " + j.Format + ", or leave it out"},
		{j.KeyFormat == "" || named && j.Framing != "glue", "key_format", "keys are decoded with the schema that they name in a registry, as values are; leave it out"},
		{j.Framing == "" || j.SchemaFile == "", "framing", "records with the schema in schema_file name none; leave it out"},
		{j.Framing != "glue" || !named || v.cfg.Registry.Schemas != nil, "framing", "weir does not ask AWS Glue for schemas; list the files of its schema versions in registry.schemas"},
		{j.SchemaFile == "" || format.HasSchema(), "schema_file", "records of the format " + j.Format + " need no schema; leave it out, or say format: avro"},
		{j.Message == "" || j.SchemaFile != "" && format == event.Protobuf, "message", "belongs to a schema_file of protobuf; with a registry each record says which message it is"},
		{!named || v.cfg.Registry.URL != "" || v.cfg.Registry.Schemas != nil, "format", "records of the format " + j.Format + " need a schema; name the registry that has it in registry.url, or the file of it in schema_file"},
	} {
		if !v.must(rule.holds, path+"."+rule.key, "%s", rule.text) {
			return
		}
	}
	if j.SchemaFile == "" {
		return
	}
	var err error
	each := event.ParsePathText(j.Each)
	j.Schema, err = schemas.Open(format, j.SchemaFile, j.Message)
	if !v.must(err == nil, path+".schema_file", "%s: %v", j.SchemaFile, err) ||
		!v.must(each == "" || event.CheckEach(format, each) != nil || j.Schema.HasEvents(each), path+".each", "the schema in %s has no array of records at %s", j.SchemaFile, j.Each) {
		return
	}
	for _, f := range j.fields() {
		v.must(j.Schema.Leads(each, f.path), path+"."+f.at, "the schema in %s has nothing at %s", j.SchemaFile, event.PathText(f.path))
	}
}

// inColumns checks that a job reads only columns that there are.
func (v *validator) inColumns(path string, j *Job) {
	for _, f := range j.fields() {
		if event.InEnvelope(f.path) || event.Column(j.Columns, f.path) >= 0 {
			continue
		}
		name, remedy := event.PathText(f.path), "list it in columns, or write c1 for the first, c2 for the next (and column[json].name for a value in a JSON object)"
		if near := spelling.Nearest(name, j.Columns); near != "" {
			remedy = "did you mean " + near + "?"
		}
		v.complain(path+"."+f.at, "there is no column %s; %s", name, remedy)
	}
}

// each checks a job whose records are arrays of events.
func (v *validator) each(path string, j *Job, format event.Format) {
	if j.Each == "" || !v.must(format.HasEach(), path+".each", "a record of the format %s is one event; arrays of events can be read of %s", format, either(event.EachFormats())) {
		return
	}
	v.must(format != event.Protobuf || j.Each != event.Whole, path+".each", "a message of protobuf is no array; name the repeated field that has the events")
	v.must(j.Chunk <= window.MaxEachChunk, path+".chunk", "%d is too many for records that are arrays of events; at most %d", j.Chunk, window.MaxEachChunk)
	for _, f := range j.fields() {
		if beside, ok := strings.CutPrefix(f.path, event.OfRecord); ok {
			text, _, _ := strings.Cut(beside, "[json]")
			v.must(j.Each != event.Whole && beside != event.ParsePathText(j.Each) && IsPath(text) && !event.InEnvelope(event.ParsePathText(text)),
				path+"."+f.at, "%q names no field beside the array of the events; write record:sentAt for the field sentAt there, and key or header:name without record:", f.path)
		}
	}
}
