package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// quiet is the age below which the audit does not judge rows and ledger lines. A flush
// writes the rows of a chunk before its line, so the two may differ while it runs.
const quiet = 10 * time.Second

// ahead returns an expression for how many seconds a time of writing is ahead of the server's
// clock: 0 if it is no more than two clocks that are looked after may differ.
func ahead(written string) string {
	return fmt.Sprintf("if(%[1]s > now('UTC') + 60, toInt64(toUnixTimestamp(%[1]s)) - toInt64(toUnixTimestamp(now())), toInt64(0))", written)
}

func (auditData) Ahead(written string) string  { return ahead(written) }
func (comparison) Ahead(written string) string { return ahead(written) }
func (verifyData) Ahead(written string) string { return ahead(written) }

// auditViews are the names of weir_audit, over all jobs of the database, and of the views that it reads, which
// come first.
var auditViews = []string{"weir_audit_states", "weir_audit_rows", "weir_audit"}

// audits returns the views of weir_audit: none in a database without a job.
func (c *Client) audits(inv *inventory, layouts []*layout) []view {
	d := auditData{c: c, Quiet: int(quiet.Seconds())}
	for _, r := range inv.audited(layouts) {
		d.Jobs = append(d.Jobs, auditJob{c: c, r: r, levels: inv.lengths(r, layouts), wide: c.wide})
	}
	if d.Jobs == nil {
		return nil
	}
	return d.views()
}

// auditData is what the template of weir_audit sees.
type auditData struct {
	c     *Client
	Quiet int
	Jobs  []auditJob
}

func (d auditData) views() (all []view) {
	for _, name := range auditViews {
		all = append(all, view{name: name, sql: render(strings.TrimPrefix(name, "weir_"), d)})
	}
	return all
}

func (d auditData) Name(table string) string { return d.c.name(table) }
func (d auditData) Read(table string) string { return d.c.read(table, d.c.wide) }
func (d auditData) OnCluster() string        { return d.c.onCluster() }
func (d auditData) Progressed() string       { return progressed }
func (d auditData) Raised() string           { return d.c.raisedAt() }
func (d auditData) Foreign() string          { return foreign() }

// A place is a table of a job: its state rows, with 0 seconds, or a rollup. All places have Keys of one length.
type place struct {
	auditJob
	Place, Last int    // its number from 1, and that of the job's longest rollup
	Table       string // without the database
	Below       string // the rollup that it is made from; empty: state rows
	Seconds     int64
	Age, Whole  int64 // the age of windows that have certainly not expired, 0: any; and level.whole
	Ago         int64 // only windows that begin so many seconds ago or later can still have state rows; 0: all can
	First       bool  // it is the first one of state rows, or of a rollup
	most        int
}

// Tables returns the places.
func (d auditData) Tables() (all []place) {
	most := 0
	for _, j := range d.Jobs {
		most = max(most, len(j.r.groups))
	}
	for _, j := range d.Jobs {
		p := place{auditJob: j, Last: len(all) + 1 + len(j.levels), Table: j.r.base() + "_state", most: most}
		for i, v := range append([]length{{}}, j.levels...) {
			if i > 0 {
				p.Table, p.Seconds, p.Age, p.Whole = v.table, v.seconds, unexpired(v.keep), v.whole
			}
			if i > 1 {
				p.Below, p.Ago = j.levels[i-2].table, int64(j.Horizon())+j.levels[min(i, len(j.levels)-1)].seconds
			}
			p.Place = len(all) + 1
			p.First = !slices.ContainsFunc(all, func(q place) bool { return (q.Seconds > 0) == (p.Seconds > 0) })
			all = append(all, p)
		}
	}
	return all
}

func (p place) From() string { return p.reads(p.Table) }
func (p place) Width() int   { return len(p.r.groups) }

func (p place) Written() string {
	if p.Seconds > 0 {
		return "rolled"
	}
	return "flushed"
}

func (p place) Keys() []string {
	var all []string
	for _, g := range p.r.groups {
		all = append(all, quote(g))
	}
	return slices.Concat(all, slices.Repeat([]string{"''"}, p.most-len(all)))
}

// Others returns the sum of all outcomes but counted.
func (d auditData) Others() string {
	var sum []string
	for f := window.Counted + 1; f < window.Outcomes; f++ {
		sum = append(sum, "max(_l."+quote(f.String())+")")
	}
	return strings.Join(sum, " + ")
}

// Events returns the sum of the events by outcome.
func (d auditData) Events() string {
	var sum []string
	for _, name := range eventColumns()[1:] {
		sum = append(sum, "max(_l."+name+")")
	}
	return strings.Join(sum, " + ")
}

// auditJob is a job of the database, as registered in weir_jobs.
type auditJob struct {
	c      *Client
	r      registered
	levels []length
	layout *layout // says which measures are compared besides the hits; nil: none
	raised string  // an SQL expression for a time; state rows that were written later have not expired by an earlier, shorter keep
	wide   bool    // it reads the tables of all shards: see wide.go
}

func (j auditJob) reads(table string) string { return j.c.read(table, j.wide) }

// A length is one rollup of a job, as far as an audit needs it. Its times are in
// seconds.
type length struct {
	table      string
	seconds    int64 // of a window
	keep       int64 // how long windows are kept; 0: for ever
	keepStates int64 // how long states that expire are kept; 0: as long as their rows
	whole      int64 // see level
}

var spanName = regexp.MustCompile(`^_(\d+)([dhms])_rollup$`)

// lengths returns the rollups of a job, shortest first. It takes those in the layouts
// from there. Those of other configurations are the ones that the recorded view of windows
// that are asked for reads; without that view, all that have a table. A table that no
// configuration has any more is no rollup: it gets nothing new, so a longer rollup is not
// made from it.
func (inv *inventory) lengths(r registered, layouts []*layout) []length {
	found := map[int64]length{}
	for _, l := range layouts {
		if l.Spec.Job != r.job || l.Spec.Version != int(r.version) {
			continue
		}
		for _, v := range l.levels {
			found[v.seconds] = v.length()
		}
	}
	if len(found) == 0 {
		found = inv.read(r)
	}
	var all []length
	for _, seconds := range slices.Sorted(maps.Keys(found)) {
		if found[seconds].seconds >= int64(r.seconds) {
			all = append(all, found[seconds])
		}
	}
	return all
}

// read returns the rollups of a job that no layout has, by their seconds.
func (inv *inventory) read(r registered) map[int64]length {
	found := map[int64]length{}
	over, recorded := inv.recorded[r.job+"_over"]
	for name, t := range inv.tables {
		rest, ours := strings.CutPrefix(name, r.base())
		v := length{table: name, seconds: secondsOf(rest), whole: inv.whole(name)}
		if !ours || v.seconds == 0 || recorded && !strings.Contains(over, name) {
			continue
		}
		if ttl := t.as["TTL"]; ttl != "" {
			v.keep = lives(ttl)
		}
		found[v.seconds] = v
	}
	return found
}

// secondsOf returns the length of a rollup's windows by what follows the job in the name of
// its table; 0: it is no rollup.
func secondsOf(rest string) int64 {
	m := spanName.FindStringSubmatch(rest)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 32)
	return n * map[string]int64{"d": 86400, "h": 3600, "m": 60, "s": 1}[m[2]]
}

func (v *level) length() length {
	return length{v.table, v.seconds, int64(v.Keep / time.Second), int64(v.KeepStates / time.Second), v.whole}
}

func (j auditJob) Name() string    { return j.r.job }
func (j auditJob) Version() uint32 { return j.r.version }
func (j auditJob) State() string   { return j.reads(j.r.base() + "_state") }

// base returns what the names of the job's tables begin with.
func (r registered) base() string {
	if r.version > 1 {
		return r.job + "_v" + strconv.Itoa(int(r.version))
	}
	return r.job
}

func (j auditJob) Groups() string {
	var b strings.Builder
	for _, g := range j.r.groups {
		b.WriteString(quote(g) + ", ")
	}
	return b.String()
}

// GroupText returns an expression for the group as one text.
func (j auditJob) GroupText() string {
	if len(j.r.groups) == 0 {
		return "''"
	}
	quoted := make([]string, len(j.r.groups))
	for i, g := range j.r.groups {
		quoted[i] = quote(g)
	}
	return "arrayStringConcat([" + strings.Join(quoted, ", ") + "], ' ')"
}

// begun returns an SQL expression for the time at which a level began to be made from the one
// below, or the table of that was made or got another keep.
func (j auditJob) begun(at int) string {
	below := j.levels[at-1].table
	return fmt.Sprintf("(SELECT toDateTime(max(applied_at)) FROM %s WHERE object IN (%s, %s, %s))",
		j.c.name("weir_schema"), text(below), text(below+" ttl"), text(j.levels[at].table+progressed))
}

// lacking returns a query for the windows of which the rows that the level is made from may lack
// some themselves: those in the live tail of the level below. done returns the round up to which
// the rollup of that length is done.
func (k comparison) lacking(done func(seconds int64) string) string {
	var tails []string
	for i := range k.at {
		below := k
		below.at = i
		tails = append(tails, fmt.Sprintf("SELECT %s FROM %s WHERE %s AND %s >= %s", k.Start(), below.Source(), k.Within, below.Stamp(), done(below.Seconds())))
	}
	return strings.Join(tails, " UNION ALL ")
}

// A comparison is what the templates see of a rollup that is compared with the rows
// that it is made from, in some windows.
type comparison struct {
	auditJob
	at      int                  // index in levels
	Within  string               // SQL condition that selects the windows
	Settled string               // SQL expression: rows written later are not judged
	Done    string               // SQL expression: the rollup has the rows of all rounds before this one
	Begun   string               // SQL expression: windows that were last made before this were not made from the source as it is, or it may have lost rows by an earlier keep; empty: neither
	Lacking string               // SQL query: windows of which the rows may lack some that the rollup has, if it was made from others; empty: none
	ago     func(s int64) string // SQL expression for the time s seconds ago
}

func (k comparison) First() bool    { return k.at == 0 }
func (k comparison) Seconds() int64 { return k.levels[k.at].seconds }
func (k comparison) Table() string  { return k.reads(k.levels[k.at].table) }
func (k comparison) Label() string  { return k.levels[k.at].table }

// Source returns the table that the rollup is made from. Touched and Stamp return its
// columns that say when, and in which round, a row was written.
func (k comparison) Source() string {
	if k.First() {
		return k.State()
	}
	return k.reads(k.levels[k.at-1].table)
}

func (k comparison) Touched() string {
	if k.First() {
		return "flushed_at"
	}
	return "rolled_at"
}

func (k comparison) Stamp() string {
	if k.First() {
		return "flushed_in"
	}
	return "rolled_in"
}

// Start returns an expression for the rollup's window that a row of the source is in.
func (k comparison) Start() string {
	return fmt.Sprintf("toDateTime(intDiv(toUnixTimestamp(window_start), %d) * %d, 'UTC')", k.Seconds(), k.Seconds())
}

// Horizon returns a time; state rows that were written later have certainly not
// expired, by this keep or an earlier one. Kept and SourceKept return the same for the beginnings of the windows of the
// rollup and of the rollup it is made from.
func (k comparison) Horizon() string {
	return "greatest(" + k.ago(int64(k.auditJob.Horizon())) + ", " + k.raised + ")"
}
func (k comparison) Kept() string       { return k.kept(k.at) }
func (k comparison) SourceKept() string { return k.kept(k.at - 1) }

func (k comparison) kept(at int) string {
	kept := k.since(k.levels[at].keep)
	if whole := k.levels[at].whole; whole > 0 {
		kept = fmt.Sprintf("greatest(%s, toDateTime(%d, 'UTC'))", kept, whole)
	}
	return kept
}

// since returns a time; what is kept for keep seconds and was written later has
// certainly not expired.
func (k comparison) since(keep int64) string {
	if keep == 0 {
		return "toDateTime(0, 'UTC')"
	}
	return k.ago(unexpired(keep))
}

// unexpired returns an age in seconds: what is kept for keep seconds and is younger has certainly not
// expired, and does not soon.
func unexpired(keep int64) int64 { return keep - min(keep/4, 86400) }

// Measures returns the measures that are compared besides the hits. weir_audit compares
// none, because it is one statement, and the sketches of a day can take more memory
// than the server has.
func (k comparison) Measures() []*measure {
	if k.layout == nil {
		return nil
	}
	return slices.Collect(k.layout.counted)
}

// Several reports whether a window of the rollup is made from several windows.
func (k comparison) Several() bool {
	if len(k.Measures()) == 0 {
		return false
	}
	below := int64(k.layout.Spec.Window) / 1000
	if !k.First() {
		below = k.levels[k.at-1].seconds
	}
	return below != k.Seconds()
}

// Below returns the column with the measure's states in the source.
func (k comparison) Below(m *measure) string {
	if k.First() {
		return "_s." + m.Stored()
	}
	return "_s." + m.State()
}

// Number, StateNumber and HeldNumber return expressions for a measure's number: the
// rollup's finished number, the number of the rollup's state, and the number of the
// states in the source. Where the states may have expired, the expression repeats the
// finished number, so that no difference shows. Where the finished number may have expired
// with them, all three are 0.
func (k comparison) Number(m *measure) string {
	number := "max(_n." + m.Column() + ")"
	if m.Additive() {
		number = ofRollup(m)
	}
	if m.sql.Raw {
		return k.unless(m, true, true, number, "0")
	}
	return number
}

func (k comparison) StateNumber(m *measure) string {
	return k.unless(m, true, m.sql.Raw, ofRollup(m), k.expired(m))
}

func (k comparison) HeldNumber(m *measure) string {
	return k.unless(m, m.sql.Raw, true, "maxIf(_n."+m.Rolled()+", NOT _n._finished)", k.expired(m))
}

// ofRollup is the number of the rollup's state.
func ofRollup(m *measure) string { return "maxIf(_n." + m.Rolled() + ", _n._finished)" }

// expired is what is compared in place of a number whose states may have expired.
func (k comparison) expired(m *measure) string {
	if m.sql.Raw {
		return "0"
	}
	return k.Number(m)
}

// unless returns a number, or another one if states of the measure may have expired in the
// rollup, if own, or in the rows that it is made from, if source.
func (k comparison) unless(m *measure, own, source bool, number, other string) string {
	if !m.Expires() {
		return number
	}
	var kept []string
	if keep := k.levels[k.at].keepStates; own && keep > 0 {
		kept = append(kept, "max(_n._made) > "+k.since(keep))
	}
	if source && !k.First() && k.levels[k.at-1].keepStates > 0 {
		kept = append(kept, "min(_n._oldest) > "+k.since(k.levels[k.at-1].keepStates))
	}
	if kept == nil {
		return number
	}
	return "if(" + strings.Join(kept, " AND ") + ", " + number + ", " + other + ")"
}

// Spill returns how many bytes of sketches a statement holds in memory before it uses
// the disk.
func (k comparison) Spill() int { return 256 << 20 }

// Step returns how many seconds of windows are compared at a time: the shortest multiple
// of the window's length that is at least a day.
func (k comparison) Step() int64 { return k.Seconds() * ((86400 + k.Seconds() - 1) / k.Seconds()) }

// Horizon returns for how many seconds state rows certainly stay: keep, less a margin of a
// quarter of it, at most a day, because a rollup may be late.
func (j auditJob) Horizon() uint32 { return j.r.keep - min(j.r.keep/4, 86400) }

// raisedAt returns the query for auditJob.raised, of all jobs.
func (c *Client) raisedAt() string {
	return "SELECT job, version, " + raised("_keeps") + " AS _at FROM (SELECT job, version, arraySort(groupArray((created_at, keep))) AS _keeps FROM " + c.name("weir_jobs") + " WHERE measure = '' GROUP BY job, version)"
}

// raised returns an SQL expression for that time in seconds, 0 if there was no other keep. keeps is an array of
// the entries of weir_jobs, in order: each keep holds until the next entry; what is younger then lives on.
func raised(keeps string) string {
	return fmt.Sprintf("greatest(toInt64(0), arrayMax(arrayMap((_was, _is) -> toInt64(toUnixTimestamp(_is.1)) - toInt64(_was.2 - least(intDiv(_was.2, 4), 86400)), arrayPopBack(%[1]s), arrayPopFront(%[1]s))))", keeps)
}

// Audit passes what is stored of the job to a: the counts of the state rows by slot,
// each rollup with the rows it is made from, the ledger, and, if a's scope has no bounds, how
// many events the views show in all. It reads day by day, so
// that a server with little memory can answer, and calls progress after each step.
// Without a From in a's scope, a longer rollup is compared with the shorter one only as
// far back as there are state rows.
//
// It marks as not to be judged: chunks of which state rows may have expired, whatever
// was written in the last seconds or is ahead of the server's clock, windows that a rollup
// no longer keeps, and windows in the live tail.
func (s *Sink) Audit(ctx context.Context, a *audit.Audit, progress func(done, total int)) error {
	done, err := s.done(ctx) // read before the rows, so that the rollups have all that done says
	if err != nil {
		return err
	}
	d := verifyData{levelData: s.level(0)}
	now, days, err := s.days(ctx, d)
	if err != nil {
		return err
	}
	job := auditJob{c: s.client, r: s.layout.register()[0], layout: s.layout}
	for i := range s.layout.levels {
		job.levels = append(job.levels, s.layout.levels[i].length())
	}
	at := func(t int64) string { return fmt.Sprintf("toDateTime(%d, 'UTC')", max(t, 0)) }
	raised := int64(0)
	err = s.client.home().queryFor(ctx, "read the job's keep", "SELECT _at FROM ("+s.client.raisedAt()+") WHERE "+s.layout.where(), func(scan func(...any) error) error { return scan(&raised) })
	if err != nil {
		return err
	}
	job.raised = at(raised)
	d.settled = now - int64(s.quiet.Seconds())
	d.horizon = max(now-int64(job.Horizon()), raised)
	rounds := func(seconds int64) string { return fmt.Sprint(done[seconds]) }
	var spans []comparison
	for i := range job.levels {
		k := comparison{auditJob: job, at: i, Settled: at(d.settled), Done: rounds(job.levels[i].seconds), ago: func(s int64) string { return at(now - s) }}
		if i > 0 {
			k.Begun = job.begun(i)
		}
		starts := map[int64]bool{}
		err := s.client.shards.queryFor(ctx, "list what to compare", render("verify_spans", k), func(scan func(...any) error) error {
			var start int64
			err := scan(&start)
			starts[start] = true
			return err
		})
		if err != nil {
			return err
		}
		for _, start := range slices.Sorted(maps.Keys(starts)) {
			k.Within = "window_start >= " + at(start) + " AND window_start < " + at(start+k.Step())
			end := start + k.Step()
			first, last := event.Time(start)*1000, event.Time(end)*1000
			within := i == 0 || a.Scope.From > 0 || len(days) > 0 && start < days[len(days)-1]+86400 && end > days[0]
			if within && (a.Scope.Until == 0 || first < a.Scope.Until) && last > a.Scope.From {
				if i > 0 {
					k.Lacking = k.lacking(rounds)
				}
				if k.layout = job.layout; last <= a.Scope.Measures {
					k.layout = nil
				}
				spans = append(spans, k)
			}
		}
	}
	steps := len(days) + len(spans) + 1
	step := 0
	report := func() {
		if step++; progress != nil {
			progress(step, steps)
		}
	}
	// Rows are read before lines: a line that grows in between is newer than settled,
	// and is not judged.
	for _, day := range days {
		d.day = day
		if err := s.auditRows(ctx, a, d); err != nil {
			return err
		}
		report()
	}
	for _, k := range spans {
		if err := s.auditWindows(ctx, a, k); err != nil {
			return err
		}
		report()
	}
	if err := s.auditLines(ctx, a, d); err != nil {
		return err
	}
	if a.Scope.From == 0 && a.Scope.Until == 0 {
		if err := s.auditShown(ctx, a); err != nil {
			return err
		}
	}
	report()
	return nil
}

// auditShown passes the events that the views show in all, which only a rollup that is kept
// for ever can tell. The longest has the fewest rows.
func (s *Sink) auditShown(ctx context.Context, a *audit.Audit) error {
	for i := len(s.layout.levels) - 1; i >= 0; i-- {
		v := &s.layout.levels[i]
		if v.Keep > 0 {
			continue
		}
		events := uint64(0)
		sql := fmt.Sprintf("SELECT sum(hits) FROM (%s) SETTINGS max_bytes_before_external_group_by = %d", render("shown", s.level(i)), comparison{}.Spill())
		err := s.client.shards.queryFor(ctx, "add up the view "+v.view, sql, func(scan func(...any) error) error {
			var n uint64 // of one shard
			err := scan(&n)
			events += n
			return err
		})
		if err != nil || a.Shown(events) {
			return err
		}
	}
	return nil
}

// done returns the round below which each rollup holds every row, by its seconds.
func (s *Sink) done(ctx context.Context) (map[int64]uint64, error) {
	done := map[int64]uint64{}
	sql := "SELECT toInt64(rollup), max(done) FROM " + s.client.name("weir_rollups") + " WHERE " + s.layout.where() + " GROUP BY job, version, rollup"
	err := s.client.query(ctx, "read the rollups' progress", sql, func(scan func(...any) error) error {
		var seconds int64
		var round uint64
		err := scan(&seconds, &round)
		done[seconds] = round
		return err
	})
	return done, err
}

// verifyData is what the templates of Audit see: one day of a job.
type verifyData struct {
	levelData
	day              int64 // its start, in seconds
	settled, horizon int64
}

// Day returns a condition that selects the windows of the day. Settled and Horizon
// return the latest and the earliest time of writing that is judged.
func (d verifyData) Day() string {
	return fmt.Sprintf("window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", d.day, d.day+86400)
}

func (d verifyData) Settled() string { return fmt.Sprintf("toDateTime(%d, 'UTC')", max(d.settled, 0)) }
func (d verifyData) Horizon() string { return fmt.Sprintf("toDateTime(%d, 'UTC')", max(d.horizon, 0)) }

// Outcomes returns the ledger's columns of outcomes, then those of events, each as its greatest
// value.
func (d verifyData) Outcomes() string {
	var list []string
	for f := range window.Outcomes {
		list = append(list, "max(_l."+quote(f.String())+")")
	}
	for _, name := range eventColumns() {
		list = append(list, "max(_l."+name+")")
	}
	return strings.Join(list, ", ")
}

// days returns the servers' time and the days that have state rows, in order.
func (s *Sink) days(ctx context.Context, d verifyData) (now int64, days []int64, err error) {
	found := map[int64]bool{}
	err = s.client.shards.query(ctx, "list the days", render("verify_days", d), func(scan func(...any) error) error {
		var at, day int64
		err := scan(&at, &day)
		if now == 0 || at < now { // of several servers, the earliest clock
			now = at
		}
		found[day] = true
		return err
	})
	days = slices.Sorted(maps.Keys(found))
	if err == nil && len(days) == 0 {
		err = s.client.query(ctx, "ask the time", "SELECT toInt64(toUnixTimestamp(now()))", func(scan func(...any) error) error { return scan(&now) })
	}
	return now, days, err
}

func (s *Sink) auditRows(ctx context.Context, a *audit.Audit, d verifyData) error {
	return s.client.shards.queryFor(ctx, "sum the state rows", render("verify_rows", d), func(scan func(...any) error) error {
		var slot, hits uint64
		var settled uint8
		var ahead int64
		err := scan(&slot, &hits, &settled, &ahead)
		a.Hits(window.Slot(slot), hits, settled == 1 || ahead > 0)
		if ahead > 0 {
			a.Ahead(window.Slot(slot), event.Time(ahead)*1000)
		}
		return err
	})
}

func (s *Sink) auditWindows(ctx context.Context, a *audit.Audit, k comparison) error {
	measures := k.Measures()
	return s.client.shards.queryFor(ctx, "compare the rollup "+k.Label(), render("verify_windows", k), func(scan func(...any) error) error {
		var start int64
		var group string
		var rolled, held uint64
		var whole, due uint8
		var at []uint8
		var finished, ofState, made []uint64
		var ahead int64
		to := []any{&start, &group, &rolled, &held, &whole, &due, &ahead}
		if len(measures) > 0 {
			to = append(to, &at, &finished, &ofState, &made)
		}
		if err := scan(to...); err != nil {
			return err
		}
		w := audit.Compared{Length: event.Time(k.Seconds()) * 1000, Start: event.Time(start) * 1000, Group: group, Whole: whole == 1, Due: due == 1, Ahead: event.Time(ahead) * 1000}
		if !a.Window(w, rolled, held) {
			return nil
		}
		for i, m := range at {
			a.Measure(w, &measures[m].Measure, min(finished[i], ofState[i]), max(finished[i], ofState[i]), made[i])
		}
		return nil
	})
}

func (s *Sink) auditLines(ctx context.Context, a *audit.Audit, d verifyData) error {
	return s.client.home().queryFor(ctx, "read the ledger", render("verify_lines", d), func(scan func(...any) error) error {
		var l window.Line
		var partition uint16
		var chunk, first, next uint64
		var comparable, fresh uint8
		var ahead int64
		var id string
		to := []any{&l.Epoch, &partition, &chunk, &first, &next, &id, &comparable, &fresh, &ahead}
		for f := range l.Outcomes {
			to = append(to, &l.Outcomes[f])
		}
		for _, n := range eventNumbers(&l) {
			to = append(to, n)
		}
		err := scan(to...)
		if err == nil {
			l.TopicID, err = topicID(id)
		}
		l.Partition, l.Chunk, l.First, l.Next = int32(partition), int64(chunk), int64(first), int64(next)
		a.Line(&l, comparable == 1 || ahead > 0)
		switch {
		case ahead > 0:
			a.Ahead(l.Slot(), event.Time(ahead)*1000)
		case fresh == 1:
			a.Fresh(l.Slot())
		}
		return err
	})
}
