package infer

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/event"
)

// Write writes what is known, as comments, and a job of that name for the topic. isColumn says whether
// a configuration can give a name to a column.
func (f *Facts) Write(w io.Writer, name, topic string, isColumn func(string) bool) error {
	j := &jobText{facts: f, isColumn: isColumn, names: map[string]bool{"users": true, "places": true}}
	j.about(topic)
	if f.Read > 0 {
		j.table()
		j.job(name, topic)
	}
	_, err := io.WriteString(w, j.String())
	return err
}

// A jobText is the output while it is written.
type jobText struct {
	strings.Builder
	facts    *Facts
	isColumn func(string) bool
	names    map[string]bool // those of columns and measures so far
}

// line writes a line.
func (j *jobText) line(format string, args ...any) { fmt.Fprintf(j, format+"\n", args...) }

// remark writes a line with a remark behind it.
func (j *jobText) remark(text, remark string) {
	if remark != "" {
		text = fmt.Sprintf("%-70s # %s", text, remark)
	}
	j.line("%s", text)
}

// about says how many records there are, and what they are.
func (j *jobText) about(topic string) {
	f := j.facts
	stamp := func(t event.Time) string { return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05Z") }
	j.line("# %d records of the topic %s, written from %s to %s.", f.Records, topic, stamp(f.first), stamp(f.last))
	if f.Read > 0 {
		j.line("# %s of them are %s.", share(f.Read, f.Records), f.Format)
		if f.Each != "" {
			j.line("# They are arrays of %d events; a field that begins with record: is beside the array.", f.Events)
		}
	}
	if f.Named > 0 {
		why := "schemas of a registry, which weir infer asks with --registry.url"
		if f.decoder.from.File != nil || f.decoder.from.Registry != nil {
			why = "schemas that are not known, or do not fit"
		}
		j.line("# %s of them name %s: %s.", share(f.Named, f.Records), why, f.SchemaNames())
	}
}

// SchemaNames names the first ten of Schemas.
func (f *Facts) SchemaNames() string {
	const most = 10
	text := strings.Join(f.Schemas[:min(len(f.Schemas), most)], ", ")
	if len(f.Schemas) > most {
		text += fmt.Sprintf(" and %d more", len(f.Schemas)-most)
	}
	return text
}

// table writes a table of the fields.
func (j *jobText) table() {
	f := j.facts
	width := len("field")
	for _, x := range f.fields {
		width = max(width, len(event.PathText(x.path)))
	}
	width = min(width, 50)
	j.line("#\n# %-*s  present  distinct  values", width, "field")
	for _, x := range f.fields {
		if x.present+x.kinds[event.Null] > 0 || !x.overlaps(f.fields) { // else other records have an object there
			j.line("# %-*s  %7s  %8d  %s", width, printable(event.PathText(x.path)), share(x.present, f.Events), len(x.values), x.describe())
		}
	}
	if f.more {
		j.line("# There are more fields than these %d.", maxFields)
	}
}

// describe says what the values are: their types, the most frequent, or the range.
func (x *Field) describe() string {
	const most = 4
	var kinds []string
	for k, name := range map[event.Kind]string{event.String: "text", event.Number: "number", event.Bool: "bool", event.Composite: "array or map", event.Null: "null"} {
		if x.kinds[k] > 0 {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	if x.declared {
		kinds = append(kinds, fmt.Sprintf("a time (%v)", x.unit))
	}
	values := slices.SortedFunc(maps.Keys(x.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(x.values[b], x.values[a]), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	text, more := strings.Join(kinds, ", "), len(values) > most
	switch {
	case x.present+x.kinds[event.Null] == 0:
		return "in no record"
	case len(values) == 0:
		return text
	case x.only(event.Number) && more:
		return fmt.Sprintf("%s from %s to %s", text, strconv.FormatFloat(x.min, 'f', -1, 64), strconv.FormatFloat(x.max, 'f', -1, 64))
	case more:
		values = values[:most]
	}
	for i, v := range values {
		values[i] = printable(v)
	}
	if text += ": " + strings.Join(values, ", "); more {
		text += " and more"
	}
	return text
}

// job writes the job.
func (j *jobText) job(name, topic string) {
	f, c := j.facts, j.facts.choose()
	j.line("#\njobs:\n  - name: %s\n    topic: %s", quote(name), quote(topic))
	j.format()
	if times := c[eventTime]; times != nil {
		remark := share(times[0].present, f.Events) + " have it"
		var others []string
		for _, x := range times[1:] {
			others = append(others, fmt.Sprintf("%s (%v)", names(x), x.unit))
		}
		if others != nil {
			remark += "; others: " + strings.Join(others, ", ")
		}
		j.remark(fmt.Sprintf("    time: {field: %s, unit: %v}", paths(times[0]), times[0].unit), remark)
	} else {
		j.remark("    time: {unit: record}", "no field is a time within a day of its record's: this is the timestamp of the record"+others("; times by their type: ", c[anyTime]))
	}
	j.line("    window: 1m")
	if by, left := first(2, c[group]); by == nil {
		j.remark("    # by: []", "no field has few values, and often")
	} else {
		j.remark("    by:", others("others with few values: ", left))
		for _, x := range by {
			lacks := ""
			if x.present < f.Events {
				lacks = ", default: none"
			}
			j.remark(fmt.Sprintf("      - {name: %s, field: %s%s}", j.column(x), paths(x), lacks), fmt.Sprintf("%d values, in %s", len(x.values), share(x.present, f.Events)))
		}
	}
	if ids := c[eventID]; ids != nil {
		exact := ""
		if f.Each != "" {
			exact = ", exact: true"
		}
		j.remark(fmt.Sprintf("    dedupe: {field: %s%s}", paths(ids[0]), exact), "another value in every event")
	}
	j.measures(c)
}

// format writes what the records are.
func (j *jobText) format() {
	f := j.facts
	if f.Format != event.JSON {
		j.line("    format: %v", f.Format)
	}
	switch {
	case f.Each != "":
		j.line("    each: %s", quote(event.PathText(f.Each)))
	case f.arrays != nil:
		j.remark("    # each: "+quote(event.PathText(f.arrays[0])), "would count the elements of an array as the events, with paths inside of them; arrays: "+printable(strings.Join(f.arrays, " ")))
	}
	if from := f.decoder.from; from.File != nil {
		j.line("    schema_file: %s", quote(from.Name))
		if from.Message != "" {
			j.line("    message: %s", quote(from.Message))
		}
	}
}

func (j *jobText) measures(c choice) {
	// Where a known user is missing, another field stands in.
	n := 2
	if c[user] != nil && c[user][0].present == j.facts.Events {
		n = 1
	}
	users, left := first(n, c[user])
	amounts, _ := first(2, c[amount])
	if users == nil && amounts == nil {
		j.remark("    # measures:", "no field looks like users or amounts; hits are always counted")
	} else {
		j.line("    measures:")
	}
	if users != nil {
		j.remark(fmt.Sprintf("      - {name: users, kind: hll, field: %s%s}", paths(users...), j.optional(users...)), others("others: ", left))
	}
	if lon, lat := c.position(); lon != nil {
		comment, member, remark := "# ", "ID", "positions: for ID, write the field that says whose they are"
		if users != nil {
			comment, member, remark = "", paths(users...), ""
		}
		j.remark(fmt.Sprintf("      %s- {name: places, kind: geo, member: %s, lon: %s, lat: %s, optional: true}", comment, member, paths(lon), paths(lat)), remark)
	}
	for _, x := range amounts {
		j.line("      - {name: %s, kind: sum, field: %s, scale: %d%s}", j.column(x), paths(x), x.scale, j.optional(x))
	}
}

// column returns a name for the column of a field that no other one has.
func (j *jobText) column(x *Field) string {
	name := plainName(hump.ReplaceAllString(x.last(), "${1}_$2"))
	if name == "" {
		name = "field"
	} else if !j.isColumn(name) {
		name += "_value"
	}
	for plain, n := name, 2; j.names[name]; n++ {
		name = plain + "_" + strconv.Itoa(n)
	}
	j.names[name] = true
	return quote(name)
}

// optional returns the setting of a measure that events may lack: none of the fields is in
// all of them.
func (j *jobText) optional(fields ...*Field) string {
	if slices.ContainsFunc(fields, func(x *Field) bool { return x.present == j.facts.Events }) {
		return ""
	}
	return ", optional: true"
}

// first returns the first n fields, and the others.
func first(n int, fields []*Field) (some, left []*Field) {
	n = min(n, len(fields))
	return fields[:n:n], fields[n:]
}

// paths writes fields as a configuration has them: of several, the first that is there counts.
func paths(fields ...*Field) string {
	var all []string
	for _, x := range fields {
		all = append(all, quote(event.PathText(x.path)))
	}
	if len(all) == 1 {
		return all[0]
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// names writes fields for a remark.
func names(fields ...*Field) string {
	var all []string
	for _, x := range fields {
		all = append(all, printable(event.PathText(x.path)))
	}
	return strings.Join(all, ", ")
}

// others names fields behind some words, if there are any.
func others(words string, fields []*Field) string {
	if len(fields) == 0 {
		return ""
	}
	return words + names(fields...)
}

var plainPath = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$.-]*$`)

// quote puts a text in quotes unless it is a plain word of YAML.
func quote(text string) string {
	if !plainPath.MatchString(text) || slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text)) {
		return strconv.Quote(text)
	}
	return text
}

// printable shortens a text, and escapes what could steer a terminal or end a comment.
func printable(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	quoted := strconv.Quote(text)
	if plain := quoted[1 : len(quoted)-1]; plain == text && text != "" && !strings.ContainsAny(text, " ,") {
		return text
	}
	return quoted
}

// share writes a number of records as a percentage, where only all are 100 %.
func share(n, of int) string {
	p := 100 * float64(n) / float64(of)
	if n < of && p > 99.9 {
		p = 99.9
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
}

var (
	notName = regexp.MustCompile(`[^a-z0-9]+`)
	hump    = regexp.MustCompile(`([a-z0-9])([A-Z])`) // where a word begins in pageUrl
	kept    = regexp.MustCompile(`^weir_|_v[0-9]+$`)  // names that weir has for itself
)

// JobName makes a name for a job of a topic.
func JobName(topic string) string {
	if name := plainName(topic); name != "" && !kept.MatchString(name) {
		return name
	}
	return "events"
}

// plainName makes a name of a text; "" if it makes none.
func plainName(text string) string {
	name := strings.Trim(notName.ReplaceAllString(strings.ToLower(text), "_"), "_")
	if name = strings.TrimLeft(name, "0123456789_"); len(name) > 50 {
		return ""
	}
	return name
}
