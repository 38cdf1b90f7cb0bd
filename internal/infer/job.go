package infer

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// declared returns the fields whose types say that they are times.
func (f *Facts) declared() (times []*Field) {
	for _, field := range f.Fields {
		if field.isTime {
			times = append(times, field)
		}
	}
	return times
}

// share writes a number of records as a percentage, where only all are 100 %.
func share(n, of int) string {
	p := 100 * float64(n) / float64(of)
	if n < of && p > 99.9 {
		p = 99.9
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
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

// about writes a table of the fields.
func (f *Facts) about(b *strings.Builder, topic string) {
	stamp := func(t event.Time) string { return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05Z") }
	fmt.Fprintf(b, "# %d records of the topic %s, written from %s to %s.\n", f.Records, topic, stamp(f.first), stamp(f.last))
	if f.Read > 0 {
		fmt.Fprintf(b, "# %s of them are %s.\n", share(f.Read, f.Records), f.Format)
		if f.Each != "" {
			fmt.Fprintf(b, "# They are arrays of %d events; a field that begins with record: is beside the array.\n", f.Events)
		}
	}
	if f.Schemas != nil {
		why := "schemas of a registry, which weir infer asks with --registry.url"
		if f.decoder.from.File != nil || f.decoder.from.Registry != nil {
			why = "schemas that are not known, or do not fit"
		}
		fmt.Fprintf(b, "# %s of them name %s: %s.\n", share(f.Named, f.Records), why, f.SchemaNames())
	}
	if f.Read == 0 {
		return
	}
	width := len("field")
	for _, field := range f.Fields {
		width = max(width, len(event.PathText(field.Path)))
	}
	width = min(width, 50)
	fmt.Fprintf(b, "#\n# %-*s  present  distinct  values\n", width, "field")
	for _, field := range f.Fields {
		if field.Present+field.Null == 0 && field.overlaps(f.Fields) { // other records have an object there
			continue
		}
		fmt.Fprintf(b, "# %-*s  %7s  %8d  %s\n", width, printable(event.PathText(field.Path)), share(field.Present, f.Events), len(field.Values), field.describe())
	}
	if f.More {
		fmt.Fprintf(b, "# There are more fields than these %d.\n", maxFields)
	}
}

// SchemaNames names the first ten of Schemas.
func (f *Facts) SchemaNames() string {
	const most = 10
	names := slices.Sorted(slices.Values(f.Schemas))
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// describe says what the values are: their types, the most frequent, or the range.
func (f *Field) describe() string {
	var kinds []string
	for _, k := range []struct {
		n    int
		name string
	}{{f.Texts, "text"}, {f.Numbers, "number"}, {f.Bools, "bool"}, {f.Others, "array or map"}, {f.Null, "null"}} {
		if k.n > 0 {
			kinds = append(kinds, k.name)
		}
	}
	if f.isTime {
		kinds = append(kinds, fmt.Sprintf("a time (%v)", f.unit))
	}
	values := slices.Clone(f.order)
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(f.Values[b], f.Values[a]) })
	text := strings.Join(kinds, ", ")
	if f.Present+f.Null == 0 {
		return "in no record"
	}
	if f.Numbers > 0 && f.Numbers == f.Present && len(values) > maxShown {
		return fmt.Sprintf("%s from %s to %s", text, strconv.FormatFloat(f.Min, 'f', -1, 64), strconv.FormatFloat(f.Max, 'f', -1, 64))
	}
	for i, v := range values[:min(len(values), maxShown)] {
		if text += ", "; i == 0 {
			text = strings.TrimSuffix(text, ", ") + ": "
		}
		text += printable(v)
	}
	if len(values) > maxShown {
		text += " and more"
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

// job writes the job.
func (f *Facts) job(b *strings.Builder, name, topic string, isColumn func(string) bool) {
	c := f.choose()
	line := func(text, remark string) {
		if remark != "" {
			text = fmt.Sprintf("%-70s # %s", text, remark)
		}
		b.WriteString(text + "\n")
	}
	words := func(fields []*Field) string {
		var all []string
		for _, field := range fields {
			all = append(all, printable(event.PathText(field.Path)))
		}
		return strings.Join(all, ", ")
	}
	line("#\njobs:", "")
	line("  - name: "+quote(name), "")
	line("    topic: "+quote(topic), "")
	if f.Format != event.JSON {
		line("    format: "+f.Format.String(), "")
	}
	if f.Each != "" {
		remark := ""
		if f.Each != event.Whole {
			remark = fmt.Sprintf("%.1f elements in a record, with times of their own", float64(f.Events)/float64(f.Read))
		}
		line("    each: "+quote(event.PathText(f.Each)), remark)
	}
	if f.decoder.from.File != nil {
		line("    schema_file: "+quote(f.decoder.from.Name), "")
		if f.decoder.from.Message != "" {
			line("    message: "+quote(f.decoder.from.Message), "")
		}
	}
	if c.time == nil {
		remark := "no field is a time within a day of its record's: this is the timestamp of the record"
		if times := f.declared(); times != nil {
			remark += "; times by their type: " + words(times)
		}
		line("    time: {unit: record}", remark)
	} else {
		remark := share(c.time.Present, f.Events) + " have it"
		if c.times != nil {
			remark += "; others: " + strings.Join(c.times, ", ")
		}
		line(fmt.Sprintf("    time: {field: %s, unit: %v}", c.time.path(), c.unit), remark)
	}
	line("    window: 1m", "")
	names := map[string]bool{"users": true, "places": true}
	column := func(field *Field) string {
		name := columnName(field, isColumn)
		for plain, n := name, 2; names[name]; n++ {
			name = plain + "_" + strconv.Itoa(n)
		}
		names[name] = true
		return quote(name)
	}
	if c.by == nil {
		line("    # by: []", "no field has few values, and often")
	} else {
		remark := ""
		if c.otherBy != nil {
			remark = "others with few values: " + words(c.otherBy)
		}
		line("    by:", remark)
	}
	for _, field := range c.by {
		text := fmt.Sprintf("      - {name: %s, field: %s", column(field), field.path())
		if field.Present < f.Events {
			text += ", default: none"
		}
		line(text+"}", fmt.Sprintf("%d values, in %s", len(field.Values), share(field.Present, f.Events)))
	}
	if c.id != nil {
		exact := ""
		if f.Each != "" {
			exact = ", exact: true"
		}
		line(fmt.Sprintf("    dedupe: {field: %s%s}", c.id.path(), exact), "another value in every "+f.one())
	}
	switch {
	case c.users != nil || c.amounts != nil:
		line("    measures:", "")
	case c.lon != nil:
		line("    # measures:", "no field looks like users or amounts; hits are always counted")
	default:
		line("    # measures: []", "no field looks like users, positions or amounts; hits are always counted")
	}
	list := func(fields []*Field) string {
		if len(fields) == 1 {
			return fields[0].path()
		}
		var all []string
		for _, field := range fields {
			all = append(all, field.path())
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	optional := func(fields ...*Field) string {
		for _, field := range fields {
			if field.Present == f.Events {
				return ""
			}
		}
		return ", optional: true"
	}
	if c.users != nil {
		remark := ""
		if len(c.otherCounters) > 0 {
			remark = "others: " + words(c.otherCounters)
		}
		line(fmt.Sprintf("      - {name: users, kind: hll, field: %s%s}", list(c.users), optional(c.users...)), remark)
	}
	if c.lon != nil && c.users == nil {
		line(fmt.Sprintf("      # - {name: places, kind: geo, member: ID, lon: %s, lat: %s, optional: true}", c.lon.path(), c.lat.path()), "positions: for ID, write the field that says whose they are")
	}
	if c.lon != nil && c.users != nil {
		line(fmt.Sprintf("      - {name: places, kind: geo, member: %s, lon: %s, lat: %s, optional: true}", list(c.users), c.lon.path(), c.lat.path()), "")
	}
	for _, field := range c.amounts {
		line(fmt.Sprintf("      - {name: %s, kind: sum, field: %s, scale: %d%s}", column(field), field.path(), field.Scale, optional(field)), "")
	}
}

// one returns what has the fields.
func (f *Facts) one() string {
	if f.Each != "" {
		return "event"
	}
	return "record"
}

var (
	notName = regexp.MustCompile(`[^a-z0-9]+`)
	hump    = regexp.MustCompile(`([a-z0-9])([A-Z])`) // where a word begins in pageUrl
)

// columnName makes a name for a column of a field.
func columnName(f *Field, isColumn func(string) bool) string {
	name := strings.ToLower(hump.ReplaceAllString(f.last(), "${1}_$2"))
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	if name = strings.TrimLeft(name, "0123456789_"); name == "" || len(name) > 50 {
		return "field"
	}
	if !isColumn(name) {
		name += "_value"
	}
	return name
}

// JobName makes a name for a job of a topic.
func JobName(topic string) string {
	name := strings.Trim(notName.ReplaceAllString(strings.ToLower(topic), "_"), "_")
	if name = strings.TrimLeft(name, "0123456789_"); name == "" || len(name) > 50 || strings.HasPrefix(name, "weir_") || regexp.MustCompile(`_v[0-9]+$`).MatchString(name) {
		return "events"
	}
	return name
}
