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

// Words that names of fields have.
var (
	timeWords   = regexp.MustCompile(`(?i)(^|[^a-z])(ts|at|time|timestamp|tstamp|date)$|timestamp|_ts$|time$|At$`)
	userWords   = regexp.MustCompile(`(?i)user|visitor|anonymous|customer|member|account|person|distinct_?id|device_?id|client_?id|player|subject|^uid$`)
	eventWords  = regexp.MustCompile(`(?i)^(uuid|id|guid)$|event_?id|message_?id|insert_?id|request_?id|[._]uuid$|ce_id$`)
	groupWords  = regexp.MustCompile(`(?i)^(type|event|action|page|country|platform|app|site|name|status|category|kind|source|op|table|method|lang)$|type$|_type|event_?name|action|country|platform|page`)
	amountWords = regexp.MustCompile(`(?i)amount|price|revenue|total|cost|value|duration|latency|elapsed|bytes|quantity|qty|_ms$|^ms$|score`)
	lonWords    = regexp.MustCompile(`(?i)(^|[._])(lon|lng|long|longitude)$`)
	latWords    = regexp.MustCompile(`(?i)(^|[._])(lat|latitude)$`)
)

// Most that a group column should have, as a share of the records and in all.
const (
	groupValues = 50
	maxBy       = 2
	maxAmounts  = 2
)

// A choice is what the job makes of the fields.
type choice struct {
	time          *Field // nil: that of the record
	unit          event.Unit
	times         []string // other candidates, in words
	by, otherBy   []*Field
	id            *Field
	users         []*Field // the first that is there counts
	lon, lat      *Field
	amounts       []*Field
	otherCounters []*Field
}

// last returns the last key of a path.
func (f *Field) last() string {
	if f.Path == "key:" {
		return "key"
	}
	return f.Path[strings.LastIndexAny(f.Path, ".:")+1:]
}

var idWords = regexp.MustCompile(`(?i)^(uuid|id|guid)$`)

// whose returns the last key of a path, and for an id within an object the name of that too:
// visitor_id for visitor.id.
func (f *Field) whose() string {
	last := f.last()
	above := strings.TrimRight(f.parent(), ".")
	if !idWords.MatchString(last) || above == "" {
		return last
	}
	return above[strings.LastIndexAny(above, ".:")+1:] + "_" + last
}

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

// choose chooses the fields of the job.
func (f *Facts) choose() choice {
	var c choice
	type timed struct {
		field *Field
		unit  event.Unit
		hits  int
	}
	declared := func(t timed) int {
		if t.field.isTime {
			return 0
		}
		return 1
	}
	var times []timed
	for _, field := range f.Fields {
		if field.overlaps(f.Fields) {
			continue
		}
		for i, unit := range units {
			if field.isTime && field.unit != unit {
				continue
			}
			if n := field.times[i]; 10*n >= 9*field.Present && 2*n >= f.Events {
				times = append(times, timed{field, unit, n})
				break
			}
		}
	}
	slices.SortStableFunc(times, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), outside(a.field, b.field), cmp.Compare(declared(a), declared(b)), rank(timeWords, a.field, b.field), cmp.Compare(strings.Count(a.field.Path, "."), strings.Count(b.field.Path, ".")))
	})
	taken := map[*Field]bool{}
	for i, t := range times {
		taken[t.field] = true
		if i == 0 {
			c.time, c.unit = t.field, t.unit
		} else {
			c.times = append(c.times, fmt.Sprintf("%s (%v)", printable(event.PathText(t.field.Path)), t.unit))
		}
	}
	for _, lat := range f.Fields {
		for _, lon := range f.Fields {
			within := lon.Min >= -180 && lon.Max <= 180 && lat.Min >= -85 && lat.Max <= 85
			if c.lon == nil && latWords.MatchString(lat.Path) && lonWords.MatchString(lon.Path) && lon.parent() == lat.parent() && lon.Numbers == lon.Present && lat.Numbers == lat.Present && lon.Present > 0 && lon.Present == lat.Present && within && !lon.overlaps(f.Fields) && !lat.overlaps(f.Fields) {
				c.lon, c.lat = lon, lat
				taken[lon], taken[lat] = true, true
			}
		}
	}
	for _, field := range f.Fields {
		ids := field.Texts + field.Numbers
		distinct := len(field.Values)
		user := userWords.MatchString(field.whose()) // also if each of them came once, as the id of an event does
		switch {
		case taken[field] || field.isTime || field.Present == 0 || field.Others > 0 || field.overlaps(f.Fields):
		case c.id == nil && eventWords.MatchString(field.last()) && !(user && field.whose() != field.last()) && distinct == f.Events && ids == f.Events:
			c.id = field
		case user && ids == field.Present && distinct > 1:
			c.users = append(c.users, field)
		case field.Numbers == field.Present && field.Scale >= 0 && field.Scale <= 9 && amountWords.MatchString(field.last()) && field.Max < 1e9 && field.Min > -1e9:
			c.amounts = append(c.amounts, field)
		case distinct > 1 && distinct <= groupValues && 4*distinct <= f.Events && 2*field.Present >= f.Events && (field.Texts+field.Bools == field.Present || groupWords.MatchString(field.last())):
			c.by = append(c.by, field)
		}
	}
	byName := func(words *regexp.Regexp) func(a, b *Field) int {
		return func(a, b *Field) int {
			return cmp.Or(rank(words, a, b), cmp.Compare(b.Present, a.Present), cmp.Compare(strings.Count(a.Path, "."), strings.Count(b.Path, ".")))
		}
	}
	slices.SortStableFunc(c.by, byName(groupWords))
	if len(c.by) > maxBy {
		c.by, c.otherBy = c.by[:maxBy], c.by[maxBy:]
	}
	// A known user counts as such; the further fields stand in where it is missing.
	slices.SortStableFunc(c.users, func(a, b *Field) int {
		return cmp.Or(rank(regexp.MustCompile(`(?i)^user_?id$|^user$`), a, b), cmp.Compare(b.Present, a.Present))
	})
	if len(c.users) > 0 && c.users[0].Present == f.Events {
		c.users, c.otherCounters = c.users[:1], c.users[1:]
	} else if len(c.users) > 2 {
		c.users, c.otherCounters = c.users[:2], c.users[2:]
	}
	if len(c.amounts) > maxAmounts {
		c.amounts = c.amounts[:maxAmounts]
	}
	return c
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

// parent returns the path without its last key.
func (f *Field) parent() string { return strings.TrimSuffix(f.Path, f.last()) }

// overlaps reports whether the path is also that of an object, which one job cannot read as
// both.
func (f *Field) overlaps(all []*Field) bool {
	return slices.ContainsFunc(all, func(o *Field) bool {
		return o.Present+o.Null > 0 && (strings.HasPrefix(o.Path, f.Path+".") || strings.HasPrefix(o.Path, f.Path+"[") || strings.HasPrefix(f.Path, o.Path+".") || strings.HasPrefix(f.Path, o.Path+"["))
	})
}

// outside puts fields of the event before those of its record.
func outside(a, b *Field) int {
	is := func(f *Field) int {
		if f.inEvent() {
			return 0
		}
		return 1
	}
	return cmp.Compare(is(a), is(b))
}

// rank puts fields first whose name has one of the words.
func rank(words *regexp.Regexp, a, b *Field) int {
	is := func(f *Field) int {
		if words.MatchString(f.last()) {
			return 0
		}
		return 1
	}
	return cmp.Compare(is(a), is(b))
}

// share writes a number of records as a percentage, where only all are 100 %.
func share(n, of int) string {
	p := 100 * float64(n) / float64(of)
	if n < of && p > 99.9 {
		p = 99.9
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
}

// Write writes what is known, as comments, and a job of that name for the topic.
func (f *Facts) Write(w io.Writer, name, topic string) error {
	var b strings.Builder
	f.about(&b, topic)
	if f.Read > 0 {
		f.job(&b, name, topic)
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
func (f *Facts) job(b *strings.Builder, name, topic string) {
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
	line("  - name: "+name, "")
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
	names := map[string]bool{"hits": true, "window_start": true, "users": true, "places": true}
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
		text := fmt.Sprintf("      - {name: %s, field: %s", columnName(field, names), field.path())
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
		line(fmt.Sprintf("      - {name: %s, kind: sum, field: %s, scale: %d%s}", columnName(field, names), field.path(), field.Scale, optional(field)), "")
	}
}

// one returns what has the fields.
func (f *Facts) one() string {
	if f.Each != "" {
		return "event"
	}
	return "record"
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// columnName makes a name for a column of a field, and takes it.
func columnName(f *Field, taken map[string]bool) string {
	var b strings.Builder
	for i, r := range f.last() {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	name := strings.Trim(notName.ReplaceAllString(strings.ToLower(b.String()), "_"), "_")
	if name = strings.TrimLeft(name, "0123456789_"); name == "" || strings.HasSuffix(name, "_state") || len(name) > 50 {
		name = "field"
	}
	for plain, n := name, 2; taken[name]; n++ {
		name = plain + "_" + strconv.Itoa(n)
	}
	taken[name] = true
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
