package schema

import (
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/sinks/clickhouse/wire"
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

	// Keep is how long state rows live after they were last written: the states of the shortest
	// windows. It must be longer than the window of the longest rollup, the lateness and a day
	// together, because until then the rollups may be recomputed from these rows.
	Keep time.Duration

	// Rollups are the tables of finished numbers, shortest window first. Each window
	// is a multiple of the one before; the first is a multiple of the job's window.
	// Each is kept for as long as the state rows, or longer: so where these are, all that is
	// made of them is. Without any, there is one of the job's window, kept for ever.
	Rollups []Rollup
}

// A Rollup is one table of finished numbers.
type Rollup struct {
	Window time.Duration
	Keep   time.Duration // how long its windows are kept; zero: for ever

	// KeepStates is how long a row keeps the states of measures that hold values after
	// it was last made; zero: as long as the row lives. These states tell of each id
	// whether it was counted, which numbers and HLL states do not. They must live long
	// enough for the longer rollups to be made from them. In the first rollup it is the
	// job's Keep: its states are the state rows.
	KeepStates time.Duration
}

// reserved are columns that every table or view of a job has.
var reserved = []string{"window_start", "window_end", "hits", "flushed", "flushed_at", "flushed_in", "rolled_at", "rolled_in", "complete"}

// Layout has what is derived from a Job: the names and columns of its tables.
type Layout struct {
	Job
	Prefix   string   // prefix of the tables' names: job, or job_v2
	By       []Column // group columns
	Measures []Measure
	Levels   []Level
}

// Level is one rollup, with the table it is computed from.
type Level struct {
	Rollup
	Seconds    int64
	Table      string        // clicks_1m_rollup
	View       string        // clicks_1m
	Reach      time.Duration // for how long after their beginning its windows can be put together to others; 0: for ever
	WholeSince int64         // Unix seconds: windows that begin earlier may lack rows, as package migrate has found; 0: none do
}

// States is the name of the view of its states.
func (v *Level) States() string { return v.View + "_states" }

// Plan derives the layout of a job and refuses what cannot be stored.
func (j Job) Plan() (*Layout, error) {
	if j.Spec == nil {
		return nil, errors.New("clickhouse: a job without a spec")
	}
	if err := j.Spec.Validate(); err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	l := &Layout{Job: j, Prefix: j.Base()}
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("clickhouse: job %s: "+format, append([]any{j.Spec.Job}, args...)...))
		}
	}
	bad(wire.Identifier.MatchString(j.Spec.Job) && !strings.HasPrefix(j.Spec.Job, "weir_"), "the name has to be letters, digits and _, and not begin with weir_")
	bad(j.Topic != "", "no topic")
	bad(j.Keep >= time.Second, "keep %v, want at least a second", j.Keep)
	used := map[string]bool{}
	usable := func(name string) {
		bad(wire.Identifier.MatchString(name) && name[0] != '_', "column %q: want letters, digits and _, a letter first", name)
		bad(!slices.Contains(reserved, name) && !used[name], "column %q is taken", name)
		used[name] = true
	}
	dimension := "LowCardinality(String)"
	if j.Spec.MaxGroups > 100_000 {
		dimension = "String" // a dictionary of that size costs more than it saves
	}
	for _, c := range j.Spec.By {
		usable(c.Name)
		l.By = append(l.By, Column{Name: c.Name, Type: dimension, About: grouped})
	}
	for i, m := range j.Spec.Measures {
		usable(m.Name)
		usable(m.Name + "_state")
		of := newMeasure(m, i)
		for _, suffix := range of.SQL.Suffixes() {
			usable(m.Name + suffix)
		}
		l.Measures = append(l.Measures, of)
	}
	before := time.Duration(j.Spec.Window) * time.Millisecond
	for i, r := range j.rollups() {
		bad(r.Window > 0 && r.Window%before == 0 && (i == 0 || r.Window > before), "rollup %v is no multiple of %v", r.Window, before)
		bad(r.Keep >= 0, "rollup %v: negative keep", r.Window)
		before = max(r.Window, before)
		r.Keep, r.KeepStates = reachable(r.Keep), reachable(r.KeepStates)
		reach := r.Keep
		if i == 0 {
			r.KeepStates = j.Keep
			// The first rows of a window may have been written before it began.
			if states := j.Keep - time.Duration(j.Spec.Skew)*time.Millisecond; slices.ContainsFunc(l.Measures, (Measure).needsStates) && (reach == 0 || states < reach) {
				reach = states
			}
		}
		name := Span(r.Window)
		l.Levels = append(l.Levels, Level{
			Rollup: r, Reach: reach, Seconds: int64(r.Window / time.Second),
			Table: l.Prefix + "_" + name + "_rollup", View: j.Spec.Job + "_" + name,
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
func (j Job) Base() string { return base(j.Spec.Job, j.Spec.Version) }

func base(job string, version int) string {
	if version > 1 {
		return job + "_v" + strconv.Itoa(version)
	}
	return job
}

// Windows yields the lengths of the windows of the job's rollups, shortest first, as names
// have them: 1m in the view clicks_1m and the table clicks_1m_rollup.
func (j Job) Windows(yield func(name string, length time.Duration) bool) {
	for _, r := range j.rollups() {
		if !yield(Span(r.Window), r.Window) {
			return
		}
	}
}

// Key returns the path in the configuration of a key of the job.
func (l *Layout) Key(name string) string {
	if l.Place == "" {
		return name
	}
	return l.Place + "." + name
}

// Counted yields the measures that have columns in the state table.
func (l *Layout) Counted(yield func(*Measure) bool) {
	for i := range l.Measures {
		if m := &l.Measures[i]; !m.Kind.ByMember && !yield(m) {
			return
		}
	}
}

// Located yields the measures ByMember, each of which has a table of its own.
func (l *Layout) Located(yield func(*Measure) bool) {
	for i := range l.Measures {
		if m := &l.Measures[i]; m.Kind.ByMember && !yield(m) {
			return
		}
	}
}

// Numbers reports whether whole rows give the first rollup their numbers: whether it has the job's windows, and only
// measures whose numbers Go has.
func (l *Layout) Numbers() bool {
	return l.Levels[0].Seconds*1000 == int64(l.Spec.Window) && !slices.ContainsFunc(l.Measures, func(m Measure) bool { return m.Additive() })
}

// Measured tells the measures of the job from those that another process may count.
func (l *Layout) Measured() uint64 {
	h := fnv.New64a()
	for m := range l.Counted {
		fmt.Fprint(h, m.Name, ",")
	}
	return h.Sum64()
}

// StateTable returns the name of the state table.
func (l *Layout) StateTable() string { return l.Prefix + "_state" }

// PlacesTable returns the name of the table of a measure ByMember.
func (l *Layout) PlacesTable(m *Measure) string { return l.Prefix + "_" + m.Name + "_state" }

// PlacesView returns the name of its view.
func (l *Layout) PlacesView(m *Measure) string { return l.Spec.Job + "_" + m.Name }

// Groups returns the list of the group columns, each followed by a comma.
func (l *Layout) Groups() string {
	var b strings.Builder
	for _, c := range l.By {
		b.WriteString(wire.Quote(c.Name) + ", ")
	}
	return b.String()
}

// Where returns a condition that selects the job's rows in one of the weir_ tables.
func (j *Job) Where() string {
	return "job = " + wire.Text(j.Spec.Job) + " AND version = " + strconv.Itoa(j.Spec.Version)
}

// WhereAny returns a condition that selects the rows of several jobs.
func WhereAny[R any](all []R, job func(R) *Job) string {
	var each []string
	for _, r := range all {
		each = append(each, "("+job(r).Where()+")")
	}
	return strings.Join(each, " OR ")
}

// Is reports whether a row with this name and version is the job's.
func (j *Job) Is(name string, version uint32) bool {
	return j.Spec.Job == name && j.Spec.Version == int(version)
}

// ByKey ends a query of a weir_ table whose conditions are where alone. The primary key
// selects these rows. ClickHouse would filter them once more, in a stage of its own for
// each part (PREWHERE).
const ByKey = " SETTINGS optimize_move_to_prewhere = 0"

// Span writes a duration in the largest unit that divides it: 1m, 90s, 1d.
func Span(d time.Duration) string {
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

// RollupsIn returns a regular expression, for Go and for ClickHouse, that finds the rollups of the
// job's version in the text of a view: what follows Prefix in their names.
func (l *Layout) RollupsIn() string {
	return `\b` + regexp.QuoteMeta(l.Prefix) + `(_\d+[dhms]_rollup)`
}
