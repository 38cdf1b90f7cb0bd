package clickhouse

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/window"
)

// A Job is what the sink has to know of a job: what is counted, and for how long
// it is kept.
type Job struct {
	Spec  *window.Spec
	Topic string

	// Place is the job's path in the configuration, such as jobs[0], for messages that
	// name its keys. It may be empty.
	Place string

	// Keep is how long state rows live after they were last written. It must be
	// longer than the window of the longest rollup, the lateness and a day together,
	// because until then the rollups may be recomputed from these rows.
	Keep time.Duration

	// Rollups are the tables of finished numbers, shortest window first. Each window
	// is a multiple of the one before; the first is a multiple of the job's window.
	// Without any, there is one of the job's window, kept for ever.
	Rollups []Rollup
}

// A Rollup is one table of finished numbers.
type Rollup struct {
	Window time.Duration
	Keep   time.Duration // how long its windows are kept; zero: for ever

	// KeepStates is how long a row keeps the states of measures that hold values after
	// it was last made; zero: as long as the row lives. These states tell of each id
	// whether it was counted, which numbers and HLL states do not. They must live long
	// enough for the longer rollups to be made from them.
	KeepStates time.Duration
}

// reserved are columns that every table or view of a job has.
var reserved = []string{"window_start", "window_end", "hits", "flushed_at", "flushed_in", "rolled_at", "rolled_in", "complete"}

// layout has what is derived from a Job: the names and columns of its tables.
type layout struct {
	Job
	base     string   // prefix of the tables' names: job, or job_v2
	by       []column // group columns
	measures []measure
	levels   []level
}

// level is one rollup, with the table it is computed from.
type level struct {
	Rollup
	seconds int64
	table   string // clicks_1m_rollup
	view    string // clicks_1m
	whole   int64  // Unix seconds: windows that begin earlier may lack rows, see inventory.whole; 0: none do
}

// plan derives the layout of a job and refuses what cannot be stored.
func (j Job) plan() (*layout, error) {
	if j.Spec == nil {
		return nil, errors.New("clickhouse: a job without a spec")
	}
	if err := j.Spec.Validate(); err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	l := &layout{Job: j, base: j.Base()}
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("clickhouse: job %s: "+format, append([]any{j.Spec.Job}, args...)...))
		}
	}
	bad(identifier.MatchString(j.Spec.Job) && !strings.HasPrefix(j.Spec.Job, "weir_"), "the name has to be letters, digits and _, and not begin with weir_")
	bad(j.Topic != "", "no topic")
	bad(j.Keep >= time.Second, "keep %v, want at least a second", j.Keep)
	used := map[string]bool{}
	usable := func(name string) {
		bad(identifier.MatchString(name) && name[0] != '_', "column %q: want letters, digits and _, a letter first", name)
		bad(!slices.Contains(reserved, name) && !used[name], "column %q is taken", name)
		used[name] = true
	}
	dimension := "LowCardinality(String)"
	if j.Spec.MaxGroups > 100_000 {
		dimension = "String" // a dictionary of that size costs more than it saves
	}
	for _, c := range j.Spec.By {
		usable(c.Name)
		l.by = append(l.by, column{name: c.Name, typ: dimension})
	}
	for i, m := range j.Spec.Measures {
		usable(m.Name)
		usable(m.Name + "_state")
		of := newMeasure(m, i)
		if of.sql != nil {
			for _, suffix := range of.sql.Parts {
				usable(m.Name + suffix)
			}
			if of.sql.Stored != "" {
				usable(m.Name + of.sql.Stored)
			}
		}
		l.measures = append(l.measures, of)
	}
	before := time.Duration(j.Spec.Window) * time.Millisecond
	for i, r := range j.rollups() {
		bad(r.Window > 0 && r.Window%before == 0 && (i == 0 || r.Window > before), "rollup %v is no multiple of %v", r.Window, before)
		bad(r.Keep >= 0, "rollup %v: negative keep", r.Window)
		before = max(r.Window, before)
		r.Keep, r.KeepStates = reachable(r.Keep), reachable(r.KeepStates)
		name := span(r.Window)
		l.levels = append(l.levels, level{
			Rollup: r, seconds: int64(r.Window / time.Second),
			table: l.base + "_" + name + "_rollup", view: j.Spec.Job + "_" + name,
		})
	}
	return l, errors.Join(errs...)
}

// reachable returns for how long rows or states are kept: zero, for ever, for more than fifty
// years. A DateTime has moments from 1970 to 2106, and those beyond wrap around: ClickHouse
// would take the end of a century for one that has passed, and remove a row at once.
func reachable(keep time.Duration) time.Duration {
	if keep > 50*365*24*time.Hour {
		return 0
	}
	return keep
}

// rollups returns the rollups of the job; without any, one of its own windows.
func (j Job) rollups() []Rollup {
	if len(j.Rollups) == 0 {
		return []Rollup{{Window: time.Duration(j.Spec.Window) * time.Millisecond}}
	}
	return j.Rollups
}

// Base returns what the names of the job's tables begin with. Names of views begin with the
// job's name, whatever its version is.
func (j Job) Base() string {
	if j.Spec.Version > 1 {
		return j.Spec.Job + "_v" + strconv.Itoa(j.Spec.Version)
	}
	return j.Spec.Job
}

// Windows yields the lengths of the windows of the job's rollups, shortest first, as names
// have them: 1m is that of the view clicks_1m and of the table clicks_1m_rollup.
func (j Job) Windows(yield func(name string, length time.Duration) bool) {
	for _, r := range j.rollups() {
		if !yield(span(r.Window), r.Window) {
			return
		}
	}
}

// key returns the path in the configuration of a key of the job.
func (l *layout) key(name string) string {
	if l.Place == "" {
		return name
	}
	return l.Place + "." + name
}

// counted yields the measures that have columns in the state table.
func (l *layout) counted(yield func(*measure) bool) {
	for i := range l.measures {
		if m := &l.measures[i]; !m.Kind.ByMember && !yield(m) {
			return
		}
	}
}

// located yields the measures ByMember, each of which has a table of its own.
func (l *layout) located(yield func(*measure) bool) {
	for i := range l.measures {
		if m := &l.measures[i]; m.Kind.ByMember && !yield(m) {
			return
		}
	}
}

// state returns the name of the state table, places that of the table of a measure
// ByMember.
func (l *layout) state() string                { return l.base + "_state" }
func (l *layout) places(m *measure) string     { return l.base + "_" + m.Name + "_state" }
func (l *layout) placesView(m *measure) string { return l.Spec.Job + "_" + m.Name }

// objects returns the names of all tables and views of the job.
func (l *layout) objects() (tables, views []string) {
	tables = append(tables, l.state())
	for m := range l.located {
		tables = append(tables, l.places(m))
		views = append(views, l.placesView(m))
	}
	for _, v := range l.levels {
		tables = append(tables, v.table)
		views = append(views, v.view)
	}
	return tables, slices.Concat(views, l.overNames(), l.idsNames())
}

// groups returns the list of the group columns, each followed by a comma.
func (l *layout) groups() string {
	var b strings.Builder
	for _, c := range l.by {
		b.WriteString(quote(c.name) + ", ")
	}
	return b.String()
}

// where returns a condition that selects the job's rows in one of the weir_ tables.
func (j *Job) where() string {
	return "job = " + text(j.Spec.Job) + " AND version = " + strconv.Itoa(j.Spec.Version)
}

// whereAny returns a condition that selects the rows of several jobs.
func whereAny[R any](all []R, job func(R) *Job) string {
	var each []string
	for _, r := range all {
		each = append(each, "("+job(r).where()+")")
	}
	return strings.Join(each, " OR ")
}

// is reports whether a row with this name and version is the job's.
func (j *Job) is(name string, version uint32) bool {
	return j.Spec.Job == name && j.Spec.Version == int(version)
}

// byKey ends a query of a weir_ table whose conditions are where alone. The primary key
// selects these rows. ClickHouse would filter them once more, in a stage of its own for
// each part (PREWHERE).
const byKey = " SETTINGS optimize_move_to_prewhere = 0"

// span writes a duration in the largest unit that divides it: 1m, 90s, 1d.
func span(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return d.String()
}
