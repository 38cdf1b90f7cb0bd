package infer

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// path returns the path as a configuration has it.
func (f *Field) path() string { return quote(event.PathText(f.Path)) }

var plainPath = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$.-]*$`)

// quote puts a text in quotes unless it is a plain word of YAML.
func quote(text string) string {
	switch {
	case !plainPath.MatchString(text), slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text)):
		return strconv.Quote(text)
	}
	return text
}

// Write writes what is known, as comments, and a job of that name for the topic. isColumn says whether
// a configuration can give a name to a column.
func (f *Facts) Write(w io.Writer, name, topic string, isColumn func(string) bool) error {
	var b strings.Builder
	f.about(&b, topic)
	if f.Read > 0 {
		f.job(&b, name, topic, isColumn)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A jobText is the job while it is written.
type jobText struct {
	*strings.Builder
	facts    *Facts
	chosen   choice
	isColumn func(string) bool
	names    map[string]bool // those of columns and measures so far
}

// job writes the job.
func (f *Facts) job(b *strings.Builder, name, topic string, isColumn func(string) bool) {
	j := &jobText{b, f, f.choose(), isColumn, map[string]bool{"users": true, "places": true}}
	j.line("#\njobs:", "")
	j.line("  - name: "+quote(name), "")
	j.line("    topic: "+quote(topic), "")
	j.format()
	j.time()
	j.line("    window: 1m", "")
	j.by()
	j.dedupe()
	j.measures()
}

// line writes a line, with a remark behind it unless that is empty.
func (j *jobText) line(text, remark string) {
	if remark != "" {
		text = fmt.Sprintf("%-70s # %s", text, remark)
	}
	j.WriteString(text + "\n")
}

// format writes what the records are.
func (j *jobText) format() {
	f := j.facts
	if f.Format != event.JSON {
		j.line("    format: "+f.Format.String(), "")
	}
	switch {
	case f.Each != "":
		j.line("    each: "+quote(event.PathText(f.Each)), "")
	case f.Arrays != nil:
		j.line("    # each: "+quote(event.PathText(f.Arrays[0])), "would count the elements of an array as the events, with paths inside of them; arrays: "+printable(strings.Join(f.Arrays, " ")))
	}
	if from := f.decoder.from; from.File != nil {
		j.line("    schema_file: "+quote(from.Name), "")
		if from.Message != "" {
			j.line("    message: "+quote(from.Message), "")
		}
	}
}

func (j *jobText) time() {
	c := &j.chosen
	if c.time == nil {
		remark := "no field is a time within a day of its record's: this is the timestamp of the record"
		if times := j.facts.declared(); times != nil {
			remark += "; times by their type: " + words(times)
		}
		j.line("    time: {unit: record}", remark)
		return
	}
	remark := share(c.time.Present, j.facts.Events) + " have it"
	if c.times != nil {
		remark += "; others: " + strings.Join(c.times, ", ")
	}
	j.line(fmt.Sprintf("    time: {field: %s, unit: %v}", c.time.path(), c.unit), remark)
}

func (j *jobText) by() {
	c := &j.chosen
	if c.by == nil {
		j.line("    # by: []", "no field has few values, and often")
		return
	}
	remark := ""
	if c.otherBy != nil {
		remark = "others with few values: " + words(c.otherBy)
	}
	j.line("    by:", remark)
	for _, field := range c.by {
		text := fmt.Sprintf("      - {name: %s, field: %s", j.column(field), field.path())
		if field.Present < j.facts.Events {
			text += ", default: none"
		}
		j.line(text+"}", fmt.Sprintf("%d values, in %s", len(field.Values), share(field.Present, j.facts.Events)))
	}
}

func (j *jobText) dedupe() {
	if j.chosen.id == nil {
		return
	}
	exact := ""
	if j.facts.Each != "" {
		exact = ", exact: true"
	}
	j.line(fmt.Sprintf("    dedupe: {field: %s%s}", j.chosen.id.path(), exact), "another value in every event")
}

func (j *jobText) measures() {
	c := &j.chosen
	key, remark := "    measures:", ""
	if c.users == nil && c.amounts == nil {
		key, remark = "    # measures:", "no field looks like users or amounts; hits are always counted"
	}
	j.line(key, remark)
	if c.users != nil {
		remark := ""
		if len(c.otherCounters) > 0 {
			remark = "others: " + words(c.otherCounters)
		}
		j.line(fmt.Sprintf("      - {name: users, kind: hll, field: %s%s}", firstOf(c.users), j.optional(c.users...)), remark)
	}
	if c.lon != nil {
		comment, member, remark := "# ", "ID", "positions: for ID, write the field that says whose they are"
		if c.users != nil {
			comment, member, remark = "", firstOf(c.users), ""
		}
		j.line(fmt.Sprintf("      %s- {name: places, kind: geo, member: %s, lon: %s, lat: %s, optional: true}", comment, member, c.lon.path(), c.lat.path()), remark)
	}
	for _, field := range c.amounts {
		j.line(fmt.Sprintf("      - {name: %s, kind: sum, field: %s, scale: %d%s}", j.column(field), field.path(), field.Scale, j.optional(field)), "")
	}
}

// column returns a name for the column of a field that no other one has.
func (j *jobText) column(field *Field) string {
	name := columnName(field, j.isColumn)
	for plain, n := name, 2; j.names[name]; n++ {
		name = plain + "_" + strconv.Itoa(n)
	}
	j.names[name] = true
	return quote(name)
}

// optional returns the setting of a measure that events may lack: none of the fields is in
// all of them.
func (j *jobText) optional(fields ...*Field) string {
	if slices.ContainsFunc(fields, func(f *Field) bool { return f.Present == j.facts.Events }) {
		return ""
	}
	return ", optional: true"
}

// firstOf writes fields of which the first that is there counts.
func firstOf(fields []*Field) string {
	var all []string
	for _, field := range fields {
		all = append(all, field.path())
	}
	if len(all) == 1 {
		return all[0]
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// words names fields, for a remark.
func words(fields []*Field) string {
	var all []string
	for _, field := range fields {
		all = append(all, printable(event.PathText(field.Path)))
	}
	return strings.Join(all, ", ")
}

// declared returns the fields whose types say that they are times.
func (f *Facts) declared() (times []*Field) {
	for _, field := range f.Fields {
		if field.isTime {
			times = append(times, field)
		}
	}
	return times
}

var (
	notName = regexp.MustCompile(`[^a-z0-9]+`)
	hump    = regexp.MustCompile(`([a-z0-9])([A-Z])`) // where a word begins in pageUrl
)

// columnName makes a name for a column of a field.
func columnName(f *Field, isColumn func(string) bool) string {
	name := plainName(hump.ReplaceAllString(f.last(), "${1}_$2"))
	switch {
	case name == "":
		return "field"
	case !isColumn(name):
		return name + "_value"
	}
	return name
}

// JobName makes a name for a job of a topic.
func JobName(topic string) string {
	if name := plainName(topic); name != "" && !kept.MatchString(name) {
		return name
	}
	return "events"
}

var kept = regexp.MustCompile(`^weir_|_v[0-9]+$`) // names that weir has for itself

// plainName makes a name of a text; "" if it makes none.
func plainName(text string) string {
	name := strings.Trim(notName.ReplaceAllString(strings.ToLower(text), "_"), "_")
	if name = strings.TrimLeft(name, "0123456789_"); len(name) > 50 {
		return ""
	}
	return name
}
