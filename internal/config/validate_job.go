package config

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/event"
	"weir/limits"
	"weir/sketches/bloom"
)

// job checks one job. Each of its values already has the right form.
func (v *validator) job(path string, j *Job) {
	v.windows(path, j)
	v.columns(path, j)
	v.paths(path, j)
	v.format(path, j)
	v.needs(path, j)
	if j.Schema != nil {
		for _, o := range j.Omissions(func(p string) (event.Value, bool) { return j.Schema.Omitted(event.ParsePathText(j.Each), p) }) {
			v.warn(path+"."+o.At, "%s", o.Text)
		}
	}
	for i := range j.Measures {
		m, at := &j.Measures[i], fmt.Sprintf("%s.measures[%d]", path, i)
		if m.kind().judge != nil {
			m.kind().judge(v, at, m)
		}
		v.defaultOf(at, j, m)
	}
	switch d := j.Dedupe; {
	case d == nil:
	case !d.Exact && j.Each != "":
		v.complain(path+".dedupe", "a filter is sized for one event per record; say exact: true, which keeps the ids of as many events as each record has")
	case !d.Exact:
		v.filter(path+".dedupe", j.Chunk, d.Error, "chunk")
	case d.Error != 0:
		v.complain(path+".dedupe.error", "exact takes no good event for a repeat; leave error out, or exact")
	default:
		if bytes := Size(j.Chunk) * 32; bytes > v.cfg.Memory/4 {
			v.complain(path+".dedupe.exact", "the ids of %d events are %dMiB per chunk, more than a quarter of memory (%s); take a smaller chunk, or error instead of exact", j.Chunk, bytes>>20, v.cfg.Memory)
		}
	}

	v.milliseconds(path+".lateness", j.Lateness)
	v.milliseconds(path+".skew", j.Skew)
	if j.Throttle != nil {
		v.throttle(path+".throttle", j.Throttle)
	}

	if n := j.Chunk; n&(n-1) != 0 {
		below := 1 << (bits.Len(uint(n)) - 1)
		v.complain(path+".chunk", "%d is no power of two; try %d or %d", n, below, 2*below)
	}
	if strings.HasPrefix(j.Name, "weir_") {
		v.complain(path+".name", "names that begin with weir_ are kept for weir's own tables; try %s", strings.TrimPrefix(j.Name, "weir_"))
	}
	if m := versionTail.FindString(j.Name); m != "" {
		v.complain(path+".name", "names that end in %s are kept for versions of a job; try %s and version: %s", m, strings.TrimSuffix(j.Name, m), m[2:])
	}
	v.where(path+".where", j, j.Where)
	for i := range j.Measures {
		m := &j.Measures[i]
		at := fmt.Sprintf("%s.measures[%d]", path, i)
		v.where(at+".where", j, m.Where)
		if m.kind().number && m.Apply != nil {
			v.complain(at+".apply", "functions make texts of texts, and %s measures a number; leave apply out", m.Kind)
		}
	}
}

// milliseconds checks that a span of event time is whole milliseconds, as times of events are.
func (v *validator) milliseconds(path string, d Duration) {
	if d%Duration(time.Millisecond) != 0 {
		v.complain(path, "%s is no whole number of milliseconds, which is how finely times are read", d)
	}
}

// throttle checks that a limiter can keep the limit.
func (v *validator) throttle(path string, t *Throttle) {
	v.milliseconds(path+".per", t.Per)
	if t.Form != "funnel" {
		return
	}
	if _, err := limits.NewFunnel(0, int64(t.Limit), int64(t.Per)); err != nil {
		v.complain(path+".limit", "%d in %s is more than one in a nanosecond; take fewer, or a longer per", t.Limit, t.Per)
	} else if _, err := limits.NewFunnel(int64(t.Burst), int64(t.Limit), int64(t.Per)); err != nil {
		v.complain(path+".burst", "a burst of %d takes more than 36 years to run off at %d in %s; take a smaller one", t.Burst, t.Limit, t.Per)
	}
}

// digits matches a key that looks like an index.
var digits = regexp.MustCompile(`\.(0|[1-9][0-9]{0,2})(\.|$)`)

var versionTail = regexp.MustCompile(`_v[0-9]+$`)

// windows checks that every rollup consists of whole shorter ones, and that
// rows live until everything that depends on them is made.
func (v *validator) windows(path string, j *Job) {
	whole := func(at string, d Duration) bool {
		if d%Duration(time.Second) == 0 {
			return true
		}
		v.complain(at, "%s is no whole number of seconds, which is how finely windows are stored", d)
		return false
	}
	if !whole(path+".window", j.Window) {
		return
	}
	longest := j.Window
	for i, r := range j.Rollups {
		at := fmt.Sprintf("%s.rollups[%d]", path, i)
		window := at
		if v.origins.Of(at+".window").Source == FromFile {
			window = at + ".window"
		}
		switch {
		case !whole(window, r.Window):
			return
		case r.Window%j.Window != 0:
			v.complain(path+".window", "%s does not divide %s%s", j.Window, r.Window, tryDivisors(j))
			return
		case i > 0 && r.Window <= j.Rollups[i-1].Window:
			v.complain(window, "%s after %s; list each window once, the shortest first", r.Window, j.Rollups[i-1].Window)
			return
		case i > 0 && r.Window%j.Rollups[i-1].Window != 0:
			v.complain(window, "%s is no multiple of %s, from which it is made; leave one of them out", r.Window, j.Rollups[i-1].Window)
			return
		}
		longest = r.Window
	}
	if least := longest + j.Lateness + day; j.Keep < least {
		v.complain(path+".keep", "%s is too short to make the rollups again; at least %s (the longest rollup %s + lateness %s + 1d)", j.Keep, wholeDays(least), longest, j.Lateness)
	}
	for i := 0; i+1 < len(j.Rollups); i++ {
		r, next := j.Rollups[i], j.Rollups[i+1].Window
		if least := next + j.Lateness + day; r.Keep != 0 && r.Keep < least {
			v.complain(fmt.Sprintf("%s.rollups[%d].keep", path, i), "%s is too short to make %s from these rows; at least %s (%s + lateness %s + 1d)", r.Keep, next, wholeDays(least), next, j.Lateness)
		} else if at := fmt.Sprintf("%s.rollups[%d].keep_states", path, i); r.KeepStates < least && v.origins.Of(at).Source != FromDefault {
			v.complain(at, "%s is too short to make %s from these states; at least %s (%s + lateness %s + 1d)", r.KeepStates, next, wholeDays(least), next, j.Lateness)
		}
	}
}

// wholeDays rounds up to whole days, which is how people write it.
func wholeDays(d Duration) Duration { return (d + day - 1) / day * day }

// tryDivisors suggests the next shorter and longer usual window that divides
// every rollup.
func tryDivisors(j *Job) string {
	const s, m, h = Duration(time.Second), Duration(time.Minute), Duration(time.Hour)
	usual := []Duration{
		s, 2 * s, 5 * s, 10 * s, 15 * s, 20 * s, 30 * s, m, 2 * m, 3 * m, 5 * m, 10 * m, 15 * m, 20 * m, 30 * m,
		h, 2 * h, 3 * h, 4 * h, 6 * h, 8 * h, 12 * h, day,
	}
	var below, above string
	for _, d := range usual {
		fits := !slices.ContainsFunc(j.Rollups, func(r Rollup) bool { return r.Window%d != 0 })
		switch {
		case fits && d < j.Window:
			below = d.String()
		case fits && d > j.Window && above == "":
			above = d.String()
		}
	}
	if tries := either([]string{below, above}); tries != "" {
		return "; try " + tries
	}
	return ""
}

// ours are the columns that weir adds to a job's tables and views.
var ours = []string{"window_start", "window_end", "hits", "flushed_at", "flushed_in", "rolled_at", "rolled_in", "complete"}

// unreadable are the names of group columns that ClickHouse (26.7) writes into the definition of a table
// or a view without quotes. At its next start it takes them for something else and cannot read the
// definition: see TestNamesAfterRestart of sinks/clickhouse.
var unreadable = []string{"cube", "false", "inf", "infinity", "nan", "not", "rollup", "top", "true"}

// unreadableMeasures are those that are unreadable as names of measures, too.
var unreadableMeasures = []string{"not"}

// partial is the measure that no job has: GET w:<job>:partial:now says why live answers are partial.
const partial = "partial"

// reserved says why no column can have a name; "" if one can. unreadable are the names that ClickHouse
// cannot read again.
func reserved(name string, unreadable []string) string {
	switch {
	case slices.Contains(unreadable, name):
		return fmt.Sprintf("ClickHouse cannot read a table with a column %s again when it restarts", name)
	case slices.Contains(ours, name):
		return name + " is a column of weir's own"
	case strings.HasSuffix(name, "_state"):
		return "names that end in _state are kept for the measures' states"
	}
	return ""
}

// IsColumn reports whether a group column and a measure can have a name that no other has.
func IsColumn(name string) bool {
	return checkName(name) == nil && reserved(name, unreadable) == "" && name != partial
}

// columns checks the names of group columns and measures, which share a table.
func (v *validator) columns(path string, j *Job) {
	taken := map[string]string{}
	claim := func(at, place, name string, unreadable []string) {
		why := reserved(name, unreadable)
		if why == "" && taken[name] != "" {
			why = name + " names " + taken[name] + " already"
		}
		if why != "" {
			v.complain(at, "%s; choose another name", why)
			return
		}
		taken[name] = place
	}
	for i, c := range j.By {
		place := fmt.Sprintf("by[%d]", i)
		at := path + "." + place
		switch {
		case c.Field == nil && c.Geohash == nil:
			v.complain(at, "needs field or geohash")
			continue
		case c.Field != nil && c.Geohash != nil:
			v.complain(at, "has field and geohash; keep one")
			continue
		case c.Geohash != nil && c.Apply != nil:
			v.complain(at+".apply", "a geohash has no functions; leave apply out")
			continue
		case c.Name == "" && c.Field != nil:
			v.complain(at, "needs name (what to call the column of %s)", fieldName(c.Field, c.Apply))
			continue
		case c.Name == "":
			v.complain(at, "needs name (what to call the column of cells)")
			continue
		}
		name := at + ".name"
		if v.origins.Of(name).Source == FromDefault {
			name = at
		}
		if err := checkName(c.Name); err != nil { // made from the path
			v.complain(at, "the path cannot become a column name; give it one: {name: %s, field: %s}", cmpOr(nameLike(strings.ReplaceAll(c.Name, "]", "")), "column"), quoteIndexed(c.Field[0]))
			continue
		}
		claim(name, place, c.Name, unreadable)
	}
	for i, m := range j.Measures {
		place := fmt.Sprintf("measures[%d]", i)
		at := path + "." + place + ".name"
		if m.Name == partial {
			v.complain(at, "partial is the measure that says why live answers are partial; choose another name")
			continue
		}
		claim(at, place, m.Name, unreadableMeasures)
		if k := m.kind(); k != nil {
			for _, suffix := range k.parts {
				claim(at, place+", for its column "+m.Name+suffix+",", m.Name+suffix, nil)
			}
		}
	}
}

// fieldName names a field in a message.
func fieldName(paths, apply []string) string {
	name := strings.Join(paths, " or ")
	for _, fn := range apply {
		name = fn + " of " + name
	}
	return name
}

// quoteIndexed puts a path in quotes where YAML needs them.
func quoteIndexed(path string) string {
	if strings.ContainsAny(path, "[]") {
		return strconv.Quote(path)
	}
	return path
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// A use is a path that a job reads, in the form of package event, and the key that names it.
type use struct {
	at, field string
	again     bool // the same list names it before
}

// uses returns every path that the job reads.
func (j *Job) uses() (all []use) {
	add := func(at string, paths []string) {
		for i, p := range paths {
			place := at
			if len(paths) > 1 {
				place = fmt.Sprintf("%s[%d]", at, i)
			}
			all = append(all, use{place, event.ParsePathText(p), slices.Contains(paths[:i], p)})
		}
	}
	inWhere := func(at string, list []Where) {
		for i := range list {
			fields(fmt.Sprintf("%s[%d]", at, i), &list[i], func(at string, paths []string) { add(at+".field", paths) })
		}
	}
	add("time.field", j.Time.Field)
	inWhere("where", j.Where)
	for i, c := range j.By {
		at := fmt.Sprintf("by[%d]", i)
		if len(c.Field) == 1 {
			add(at, c.Field)
		} else {
			add(at+".field", c.Field)
		}
		if c.Geohash != nil {
			add(at+".geohash.lon", c.Geohash.Lon)
			add(at+".geohash.lat", c.Geohash.Lat)
		}
	}
	if j.Dedupe != nil {
		add("dedupe.field", j.Dedupe.Field)
	}
	if j.Throttle != nil {
		add("throttle.field", j.Throttle.Field)
	}
	for i, m := range j.Measures {
		at := fmt.Sprintf("measures[%d].", i)
		for _, r := range m.reads() {
			add(at+r.key, r.paths)
		}
		inWhere(at+"where", m.Where)
	}
	return all
}

// paths checks that no field is both a value and an object with other fields.
func (v *validator) paths(path string, j *Job) {
	uses := j.uses()
	format, err := event.ParseFormat(j.Format)
	inColumns := err == nil && format.HasColumns() // whose names may have dots in them
	for _, u := range uses {
		if u.again {
			v.complain(path+"."+u.at, "%s is listed twice; keep one", event.PathText(u.field))
		}
	}
	distinct := map[string]bool{}
	if j.Each != "" && j.Each != event.Whole { // beside the events there is their array
		uses = append(uses, use{at: "each", field: event.OfRecord + event.ParsePathText(j.Each)})
	}
	for _, u := range uses {
		for i := range u.field { // the texts on the way are values too
			if strings.HasPrefix(u.field[i:], "[json]") {
				distinct[u.field[:i]] = true
			}
		}
		distinct[u.field] = true
	}
	if len(distinct) > event.MaxPaths {
		v.complain(path, "reads %d different fields; at most %d", len(distinct), event.MaxPaths)
	}
	warned := map[string]bool{}
	for _, u := range uses {
		if strings.HasPrefix(u.field, "header:") { // a name, not steps
			continue
		}
		if rest, ok := strings.CutPrefix(u.field, event.OfRecord); ok && j.Each == "" && !inColumns && !warned[u.field] {
			warned[u.field] = true
			v.warn(path+"."+u.at, "%s names a key of that spelling, because each is not given; the field of the event is %s", u.field, rest)
		}
		if strings.Contains(u.field, ", ") && !warned[u.field] {
			warned[u.field] = true
			v.warn(path+"."+u.at, "%s names one field, with a comma in its name; several fields are a list: [%[1]s]", u.field)
		}
		if m := digits.FindStringSubmatchIndex(u.field); m != nil && !warned[u.field] {
			warned[u.field] = true
			v.warn(path+"."+u.at, "%s names the key %s of an object; the element of an array is %q", u.field,
				u.field[m[2]:m[3]], u.field[:m[0]]+"["+u.field[m[2]:m[3]]+"]"+u.field[m[3]:])
		}
		for i := range len(u.field) {
			if outer := u.field[:i]; (u.field[i] == '.' || u.field[i] == '[') && distinct[outer] && !strings.HasPrefix(u.field[i:], "[json]") && !inColumns {
				v.complain(path+"."+u.at, "%s leads through %s, which this job reads as a value; one of them cannot be right", u.field, outer)
				break
			}
		}
	}
}

// defaultOf checks the value that a measure takes where the field is missing.
func (v *validator) defaultOf(path string, j *Job, m *Measure) {
	if m.Default == nil {
		return
	}
	if m.Optional {
		v.complain(path+".default", "an event without the field counts with the default, so optional has no use; keep one of the two")
		return
	}
	w, err := m.spec(j.Name)
	if err != nil {
		return // reported with the kind
	}
	number := event.Value{Kind: event.Number, Bytes: []byte(*m.Default)}
	if _, ok := number.Float(); !ok && m.kind().number {
		v.complain(path+".default", "%q is no number of JSON, or beyond 1.7e308; write it like 10, -0.5 or 1e6", *m.Default)
	} else if wrong := w.CheckDefault(); wrong != "" {
		v.complain(path+".default", "%s", wrong)
	}
}

// needs checks that no number, text or id is read of what is never one, because every event that has it would
// be malformed; and that a key with a schema is not read as a value and by its fields too.
func (v *validator) needs(path string, j *Job) {
	const ids, plain = event.Numbers | event.Strings, event.Numbers | event.Strings | event.Bools
	check := func(at string, paths, apply []string, need event.Kinds, needs string) {
		has := j.kinds(paths, apply)
		if has == 0 || has&need != 0 {
			return
		}
		if has == event.Composites { // a schema says it
			inside := "a field of it, such as " + quoteIndexed(paths[0]+".value")
			if element := paths[0] + "[0]"; j.Schema.Leads(event.ParsePathText(j.Each), event.ParsePathText(element)) {
				inside = "an element of it, such as " + quoteIndexed(element)
			}
			needs += "; name " + inside
		}
		v.complain(path+"."+at, "%s is %s, %s", fieldName(paths, apply), kindWords(has), needs)
	}
	switch unit, err := event.ParseUnit(j.Time.Unit); {
	case err != nil:
	case unit == event.RFC3339, unit == event.ISO8601:
		check("time.field", j.Time.Field, nil, event.Strings, "and unit "+j.Time.Unit+" needs a text"+otherUnit(j.kinds(j.Time.Field, nil)))
	default:
		check("time.field", j.Time.Field, nil, event.Numbers, "and unit "+j.Time.Unit+" needs a number"+otherUnit(j.kinds(j.Time.Field, nil)))
	}
	for i, c := range j.By {
		check(fmt.Sprintf("by[%d]", i), c.Field, c.Apply, plain, "and a column needs a text, number or bool")
		if g := c.Geohash; g != nil {
			at := fmt.Sprintf("by[%d].geohash.", i)
			check(at+"lon", g.Lon, nil, event.Numbers, "and a longitude is a number")
			check(at+"lat", g.Lat, nil, event.Numbers, "and a latitude is a number")
		}
	}
	if j.Dedupe != nil {
		check("dedupe.field", j.Dedupe.Field, j.Dedupe.Apply, ids, "and an id is a text or a number")
	}
	if j.Throttle != nil {
		check("throttle.field", j.Throttle.Field, j.Throttle.Apply, ids, "and a key is a text or a number")
	}
	for i := range j.Measures {
		m := &j.Measures[i]
		for _, r := range m.reads() {
			at := fmt.Sprintf("measures[%d].%s", i, r.key)
			switch k := m.kind(); {
			case k.number, r.key == "lon", r.key == "lat":
				check(at, r.paths, nil, event.Numbers, "and "+m.Kind+" needs a number")
			case k.plain:
				check(at, r.paths, m.Apply, plain, "and "+m.Kind+" needs a text, number or bool")
			default:
				check(at, r.paths, m.Apply, ids, "and "+m.Kind+" needs a text or a number")
			}
		}
	}
	var whole string
	for _, u := range j.uses() {
		if j.KeyFormat == event.Protobuf.String() && u.field == "key:" && !strings.Contains(u.at, "where") { // a condition can ask whether it exists
			v.warn(path+"."+u.at, "a key of protobuf is a message, which is no text and no number, so that every record that has one is malformed; name a field of it, such as key.id")
		}
		switch key, of := strings.CutPrefix(u.field, "key:"); {
		case !of || j.KeyFormat == "":
		case whole == "":
			whole = u.field
		case (key == "") != (whole == "key:"):
			v.complain(path+"."+u.at, "a key that has a schema is read as a value, key, or by its fields, such as key.id, and not both")
			return
		}
	}
}

// otherUnit returns the tail of the message about a time of kinds that its unit does not read.
func otherUnit(has event.Kinds) string {
	switch {
	case has == event.Composites: // has no unit
		return ""
	case has&event.Numbers != 0:
		return "; say what the number counts, s, ms, us or ns"
	case has&event.Strings != 0:
		return "; say unit: rfc3339 or unit: iso8601 if it is such a time, or unit: record for the timestamp of the record"
	}
	return "; say unit: record for the timestamp of the record, or name another field"
}

// filter checks that a Bloom filter has at most 2^32 bits, and that a few of them
// fit into memory. what completes "per" in the message: there is one filter per what.
func (v *validator) filter(at string, capacity int, rate float64, what string) {
	bits, err := bloom.Bits(capacity, rate)
	switch bytes := Size(bits / 8); {
	case err != nil:
		v.complain(at, "%d ids at an error of %v need more than 2^32 bits; take fewer or a larger error", capacity, rate)
	case bytes > v.cfg.Memory/4:
		v.complain(at, "%d ids at an error of %v are %dMiB per %s, more than a quarter of memory (%s); take fewer or a larger error", capacity, rate, bytes>>20, what, v.cfg.Memory)
	}
}

// OurTables are the tables and views that weir has of its own.
var OurTables = []string{"weir_schema", "weir_jobs", "weir_ledger", "weir_dead_letters", "weir_rollups", "weir_audit", "weir_audit_rows", "weir_audit_states"}

// tables checks that no two jobs, and no two parts of a job, have a table or
// view of the same name.
func (v *validator) tables() {
	const itself = -1
	owner := map[string]int{} // of a table: its job
	for _, table := range OurTables {
		owner[table], owner[table+allShards] = itself, itself
	}
	for i := range v.cfg.Jobs {
		j := &v.cfg.Jobs[i]
		path := fmt.Sprintf("jobs[%d]", i)
		if v.broken(path) {
			continue
		}
		for _, table := range j.Tables() {
			first, taken := owner[table]
			switch {
			case !taken:
				owner[table] = i
				continue
			case first == itself: // a job weir with a measure by member called ledger
				v.complain(path+".measures", "a measure's view would have the name %s, which a table of weir's own has; rename the measure", table)
			case first == i: // a measure by member called state or over
				v.complain(path+".measures", "a measure's view would have the name %s, which another table or view of the job has; rename the measure", table)
			case v.cfg.Jobs[first].Name == j.Name:
				v.complain(path+".name", "%s is the name of jobs[%d] already; choose another name", j.Name, first)
			default:
				v.complain(path+".name", "%s needs the table or view %s, which jobs[%d] has; choose another name", j.Name, table, first)
			}
			break // one message is enough
		}
	}
}

// allShards ends the name of what reads a table on all shards.
const allShards = "_all"

// Tables lists the tables and views that a job gets, and the names that the tables have
// on shards.
func (j *Job) Tables() (all []string) {
	base := j.Name
	if j.Version > 1 {
		base += "_v" + strconv.Itoa(j.Version)
	}
	table := func(name string) { all = append(all, base+"_"+name, base+"_"+name+allShards) }
	view := func(name string) { all = append(all, j.Name+"_"+name) }
	totals := func(name string) {
		view(name)
		if len(j.By) > 0 {
			view(name + "_total")
		}
	}
	table("state")
	for _, r := range j.Rollups {
		table(r.Window.String() + "_rollup")
		view(r.Window.String())
	}
	ids := false
	for _, m := range j.Measures {
		k := m.kind()
		if k.ByMember() {
			table(m.Name + "_state")
			view(m.Name)
		}
		ids = ids || k == &setMeasure || k == &bitmapMeasure
	}
	for _, name := range []string{"over", "calendar", "cumulative"} {
		totals(name)
	}
	if ids {
		for _, name := range []string{"retention", "retention_over", "sessions"} {
			totals(name)
		}
		view("funnel")
	}
	return all
}
