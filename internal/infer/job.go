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
	"unicode"
	"unicode/utf8"

	"weir/event"
)

// Write writes what is known, as comments, and a job of that name for the topic. isColumn says whether
// a configuration can give a name to a column.
func (f *Facts) Write(w io.Writer, name, topic string, isColumn func(string) bool) error {
	j := &jobText{Facts: f, choice: f.choose(), isColumn: isColumn, names: map[string]bool{"users": true, "places": true}}
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
	*Facts
	choice
	isColumn func(string) bool
	names    map[string]bool // those of columns and measures so far
}

// line writes a line. What is behind a tab is a remark, if it is not empty.
func (j *jobText) line(format string, args ...any) {
	text, remark, _ := strings.Cut(fmt.Sprintf(format, args...), "\t")
	if remark = strings.TrimPrefix(remark, "; "); remark != "" {
		text = fmt.Sprintf("%-70s # %s", text, remark)
	}
	j.WriteString(text + "\n")
}

// about says how many records there are, and what they are.
func (j *jobText) about(topic string) {
	stamp := func(t event.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }
	j.line("# %d records of the topic %s, written from %s to %s.", j.Records, topic, stamp(j.first), stamp(j.last))
	if j.Read > 0 {
		j.line("# %s of them are %s.", share(j.Read, j.Records), j.Format)
	}
	if j.Each != "" {
		j.line("# They are arrays of %d events; a field that begins with record: is beside the array.", j.Events)
	}
	if j.Named > 0 {
		why := "schemas of a registry, which weir infer asks with --registry.url"
		if j.from.File != nil || j.from.Registry != nil {
			why = "schemas that are not known, or do not fit"
		}
		j.line("# %s of them name %s, such as %s.", share(j.Named, j.Records), why, j.Schema)
	}
}

// table writes a table of the fields.
func (j *jobText) table() {
	width := len("field")
	for _, x := range j.fields {
		width = max(width, utf8.RuneCountInString(x.name()))
	}
	width = min(width, 50)
	j.line("#\n# %-*s  present  distinct  values", width, "field")
	for _, x := range j.fields {
		about := x.describe()
		if slices.Contains(j.choice[eventTime], x) {
			about = fmt.Sprintf("a time (%v), %s", units[x.unit()], about)
		}
		if x.present > 0 || !x.overlaps(j.fields) { // else null, where others have an object
			j.line("# %-*s  %7s  %8d  %s", width, x.name(), share(x.present, j.Events), len(x.values), about)
		}
	}
	if j.more {
		j.line("# There are more fields than these %d.", maxFields)
	}
	j.line("#")
}

// describe says what the values are: their types, the most frequent, or the range.
func (x *field) describe() string {
	const few = 4
	var kinds []string
	for k, name := range []string{event.Composite: "array", event.Bool: "bool", event.Null: "null", event.Number: "number", event.String: "text"} {
		if x.types[k] > 0 {
			kinds = append(kinds, name)
		}
	}
	text := strings.Join(kinds, ", ")
	if len(x.values) > few && x.of(event.Number) == x.present {
		return fmt.Sprintf("%s from %s to %s", text, strconv.FormatFloat(x.min, 'f', -1, 64), strconv.FormatFloat(x.max, 'f', -1, 64))
	}
	values := slices.SortedFunc(maps.Keys(x.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(x.values[b], x.values[a]), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	for i, v := range values[:min(len(values), few)] {
		text += [...]string{": ", ", "}[min(i, 1)] + printable(v)
	}
	if len(values) > few {
		text += " and more"
	}
	return text
}

// job writes the job.
func (j *jobText) job(name, topic string) {
	j.line("jobs:\n  - name: %s\n    topic: %s", quote(name), quote(topic))
	if j.Presets != nil {
		j.line("    # preset: %s\treads these events too, in place of what follows", strings.Join(j.Presets, " or "))
	}
	if j.Format != event.JSON {
		j.line("    format: %v", j.Format)
	}
	if j.Each != "" {
		other := ""
		if j.Each != event.Whole {
			other = "without each every record is one event, and paths begin in it"
		}
		j.line("    each: %s\t%s", quote(event.PathText(j.Each)), other)
	} else if j.arrays != nil {
		j.line("    # each: %s\twould count the elements of an array as the events, with paths inside of them; arrays: %s", quote(event.PathText(j.arrays[0])), printable(strings.Join(j.arrays, " ")))
	}
	if j.from.File != nil {
		j.line("    schema_file: %s", quote(j.from.Name))
	}
	if j.from.Message != "" {
		j.line("    message: %s", quote(j.from.Message))
	}
	if times := j.choice[eventTime]; times != nil {
		others, fields := "", times[:1:1]
		for i, x := range times[1:] {
			others += fmt.Sprintf("%s%s (%v)", [...]string{"; others: ", ", "}[min(i, 1)], x.name(), units[x.unit()])
			if len(fields) == 1 && times[0].present < j.Events && x.unit() == times[0].unit() { // where the first is missing
				fields = append(fields, x)
			}
		}
		j.line("    time: {field: %s, unit: %v}\t%s have %s%s%s", paths(fields...), units[times[0].unit()], share(times[0].present, j.Events), times[0].name(), outliers(times[0]), others)
	} else {
		j.line("    time: {unit: record}\tno field is a time within a day of its record's: this is the timestamp of the record")
	}
	j.line("    window: 1m")
	by, left := first(2, j.choice[group])
	if by == nil {
		j.line("    # by: []\tno field has few values, and often")
	} else {
		j.line("    by:\t%s", others("others with few values: ", left))
	}
	for _, x := range by {
		lacks := ""
		if x.present < j.Events {
			lacks = ", default: none"
		}
		j.line("      - {name: %s, field: %s%s}\t%d values, in %s%s", j.column(x), paths(x), lacks, len(x.values), share(x.present, j.Events), outliers(x))
	}
	if ids := j.choice[eventID]; ids != nil {
		exact, about := "", "another value in every event"
		if n := len(ids[0].values); n < j.Events {
			about = fmt.Sprintf("%d values in %d events: an event that comes again counts once", n, j.Events)
		}
		if j.Each != "" {
			exact = ", exact: true"
		}
		j.line("    dedupe: {field: %s%s}\t%s%s", paths(ids[0]), exact, about, outliers(ids[0]))
	}
	j.measures()
}

// measures writes users, positions and amounts.
func (j *jobText) measures() {
	// Where a known user is missing, another field stands in.
	n := 2
	if j.choice[user] != nil && j.choice[user][0].present == j.Events {
		n = 1
	}
	users, left := first(n, j.choice[user])
	amounts, _ := first(2, j.choice[amount])
	if users == nil && amounts == nil {
		j.line("    # measures:\tno field looks like users or amounts; hits are always counted")
	} else {
		j.line("    measures:")
	}
	if users != nil {
		j.line("      - {name: users, kind: hll, field: %s%s%s}\t%s%s", paths(users...), j.optional(users...), skip(users...), others("others: ", left), outliers(users...))
	}
	if lon, lat := j.position(); lon != nil {
		bad := skip(lon, lat)
		if lon.present != lat.present {
			bad = ", bad: skip"
		}
		place := fmt.Sprintf("lon: %s, lat: %s, optional: true%s}", paths(lon), paths(lat), bad)
		if users != nil {
			j.line("      - {name: places, kind: geo, member: %s, %s\t%s", paths(users...), place, outliers(lon, lat))
		} else {
			j.line("      # - {name: places, kind: geo, member: ID, %s\tpositions: for ID, write the field that says whose they are", place)
		}
	}
	for _, x := range amounts {
		kind := fmt.Sprintf("kind: sum, field: %s, scale: %d", paths(x), x.scale)
		if levelWords.MatchString(x.last()) {
			kind = "kind: quantile, field: " + paths(x)
		}
		j.line("      - {name: %s, %s%s%s}\t%s", j.column(x), kind, j.optional(x), skip(x), outliers(x))
	}
}

// column returns a name for the column of a field that no other one has.
func (j *jobText) column(x *field) string {
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
func (j *jobText) optional(fields ...*field) string {
	if slices.ContainsFunc(fields, func(x *field) bool { return x.present == j.Events }) {
		return ""
	}
	return ", optional: true"
}

// skip returns the setting of a measure that leaves out values which it cannot take.
func skip(fields ...*field) string {
	if slices.ContainsFunc(fields, func(x *field) bool { return x.bad > 0 }) {
		return ", bad: skip"
	}
	return ""
}

// outliers names values of fields that do not fit.
func outliers(fields ...*field) string {
	text := ""
	for _, x := range fields {
		if x.bad > 0 {
			text += fmt.Sprintf("; %d of %s do not fit", x.bad, x.name())
		}
		for i, odd := range x.odd[:min(len(x.odd), 3)] {
			text += [...]string{": ", ", "}[min(i, 1)] + printable(odd)
		}
	}
	return text
}

// first returns the first n fields, and the others.
func first(n int, fields []*field) (some, left []*field) {
	n = min(n, len(fields))
	return fields[:n:n], fields[n:]
}

// paths writes fields as a configuration has them: of several, the first that is there counts.
func paths(fields ...*field) string {
	var all []string
	for _, x := range fields {
		all = append(all, quote(event.PathText(x.path)))
	}
	if len(all) == 1 {
		return all[0]
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// name writes a field for a remark.
func (x *field) name() string { return printable(event.PathText(x.path)) }

// others names fields behind some words, if there are any.
func others(words string, fields []*field) string {
	text := ""
	for i, x := range fields {
		text += [...]string{words, ", "}[min(i, 1)] + x.name()
	}
	return text
}

var plainPath = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$.-]*$`)

// quote puts a text in quotes unless it is a plain word of YAML.
func quote(text string) string {
	if strings.Contains(text, `"`) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
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
	if plain := quoted[1 : len(quoted)-1]; strings.ReplaceAll(plain, `\"`, `"`) == text && text != "" && !strings.ContainsAny(text, " ,") {
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
