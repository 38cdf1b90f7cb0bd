package clickhouse

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Migration says what Migrate does besides the tables of the jobs.
type Migration struct {
	DryRun bool     // only return the statements
	Writer *Account // make an account for weir run: SELECT and INSERT on the database
	Reader *Account // make an account for dashboards: SELECT, with bounds on the cost of a query
}

// An Account is a SQL user to create. A user that exists gets the password and
// the rights; it keeps its rights meanwhile, so programs that use it are not disturbed.
type Account struct {
	User, Password string
}

// A Statement is one step of a migration.
type Statement struct {
	Object string // the table, view, function or user that it makes or changes
	Shard  string // the addresses of the shard on which it runs; empty if there is only one
	SQL    string // without digests of passwords and random texts
	run    string // the full text, if it is not SQL
	lacks  string // what a job cannot do without; empty: it runs as before until then
}

// Migrate makes the database what the jobs need, and returns the statements that it ran,
// or with DryRun would run; none means that nothing was to be done. It creates missing
// objects, adds columns of measures, replaces views and functions, and changes TTLs and
// settings. It never drops a column or changes its type. If a table differs in anything
// else, or a job means something else than before, it returns a fatal error.
//
// Every statement may be run again, also by two processes at once, and is recorded in
// weir_schema.
func (c *Client) Migrate(ctx context.Context, jobs []Job, m Migration) ([]Statement, error) {
	layouts, err := plans(jobs)
	if err != nil {
		return nil, err
	}
	ids, err := c.members(ctx)
	if err != nil {
		return nil, err
	}
	var all []Statement
	for i := len(c.shards) - 1; i >= 0; i-- { // the home shard last: see members
		steps, err := c.migrate(ctx, c.shards[i], ids, i, layouts, m)
		all = append(all, steps...)
		if err != nil {
			return all, c.shards[i].named(err)
		}
	}
	return all, nil
}

// migrate is Migrate for one shard. ids are those that the shards have, or are to get.
func (c *Client) migrate(ctx context.Context, on *replicas, ids []string, at int, layouts []*layout, m Migration) ([]Statement, error) {
	inv, err := c.inventory(ctx, on, layouts...)
	if err != nil {
		return nil, err
	}
	inv.member(ids, at)
	steps, err := c.steps(inv, layouts)
	if err != nil {
		return nil, err
	}
	if m.Writer != nil {
		steps = append(steps, c.writer(m.Writer)...)
	}
	if m.Reader != nil {
		steps = append(steps, c.reader(m.Reader)...)
	}
	if c.sharded() {
		for i := range steps {
			steps[i].Shard = on.String()
		}
	}
	if m.DryRun {
		return steps, nil
	}
	for i, s := range steps {
		var err error
		if at > 0 && strings.HasSuffix(s.Object, progressed) { // a rollup of all shards goes by what the home shard has noted, if that is set up
			err = madeYet(c.exec(ctx, "migrate "+s.Object, s.SQL, queryTimeout))
		}
		if err == nil {
			err = c.execOn(ctx, shards{on}, "migrate "+s.Object, cmp.Or(s.run, s.SQL), queryTimeout)
		}
		if err != nil {
			// The steps before are not recorded. The next migration finds what they
			// made, or makes it again.
			return steps[:i], err
		}
	}
	return steps, c.record(ctx, on, steps)
}

// record writes the statements that ran into weir_schema. It does so with one insert,
// which saves a tenth of a second at a first start.
func (c *Client) record(ctx context.Context, on *replicas, steps []Statement) error {
	var rows []string
	for _, s := range steps {
		rows = append(rows, "("+text(s.Object)+", "+text(s.SQL)+")")
	}
	if len(rows) == 0 {
		return nil
	}
	return c.execOn(ctx, shards{on}, "record the migration", "INSERT INTO "+c.name("weir_schema")+" (object, sql) VALUES "+strings.Join(rows, ", "), queryTimeout)
}

// plans returns the layouts of the jobs. It is an error if two of them would share a
// table or a view.
func plans(jobs []Job) ([]*layout, error) {
	owner := map[string]string{}
	for _, t := range common() {
		owner[t.name], owner[t.name+AllShards] = "weir itself", "weir itself"
	}
	for _, name := range auditViews {
		owner[name] = "weir itself"
	}
	var all []*layout
	for _, j := range jobs {
		l, err := j.plan()
		if err != nil {
			return nil, err
		}
		tables, views := l.objects()
		for _, t := range tables {
			views = append(views, t+AllShards)
		}
		for _, name := range append(tables, views...) {
			if other, taken := owner[name]; taken {
				return nil, refuse("job "+j.Spec.Job, fmt.Sprintf("%s belongs to %s already", name, other), "rename the job or the measure")
			}
			owner[name] = "job " + j.Spec.Job
		}
		all = append(all, l)
	}
	return all, nil
}

// progressed follows the name of a rollup's table in the record of a statement that has the
// rollup made anew.
const progressed = " progress"

// forgetProgress returns the statement that changes what is noted in weir_rollups.
func (c *Client) forgetProgress(to, where string) string {
	return "ALTER TABLE " + c.name("weir_rollups") + c.onCluster() + " UPDATE " + to + " WHERE " + where + " SETTINGS mutations_sync = 2"
}

// wholeSince follows the name of a rollup's table in the record of a statement that says since when the
// rollup is whole.
const wholeSince = " whole since"

// whole returns since when a rollup is whole, in Unix seconds: windows that begin earlier may lack rows that
// had expired when the rollup was added or its keep made longer. 0: it has been so from the beginning.
func (inv *inventory) whole(table string) int64 {
	_, since, _ := strings.Cut(inv.recorded[table+wholeSince], "(")
	since, _, _ = strings.Cut(since, ",")
	n, _ := strconv.ParseInt(since, 10, 64)
	return n
}

// mark sets in the layout since when its rollups are whole.
func (inv *inventory) mark(l *layout) {
	for i := range l.levels {
		l.levels[i].whole = inv.whole(l.levels[i].table)
	}
}

// wholeFrom returns since when a rollup will be whole that is made anew now, from the rows that are there:
// state rows or those of the next shorter rollup, and its own rows, which have lived for keep seconds so
// far. Like all that goes by what expires, it has a margin, because the making may be late.
func (inv *inventory) wholeFrom(l *layout, table string, keep, now int64) int64 {
	r := inv.registered(l, "")
	if r == nil {
		return 0
	}
	living := func(keep, whole int64) int64 { return max(now-unexpired(keep), whole, 0) }
	since := living(int64(r.keep), r.raised)
	i := slices.IndexFunc(l.levels, func(v level) bool { return v.table == table })
	if i > 0 {
		since = living(inv.lives(&l.levels[i-1]), inv.whole(l.levels[i-1].table))
	}
	if keep > 0 {
		since = min(since, living(keep, inv.whole(table)))
	}
	if since <= r.created { // nothing of the job had expired yet
		return 0
	}
	return since
}

// lives returns for how many seconds the rows of a rollup live so far, or will, if it is new.
func (inv *inventory) lives(v *level) int64 {
	if t, ok := inv.tables[v.table]; ok {
		return lives(t.as["TTL"])
	}
	return cmp.Or(v.length().keep, math.MaxInt64)
}

// returns reports whether a rollup was left out of the list of before, and has nothing of that time.
func (inv *inventory) returns(l *layout, table string) bool {
	over := inv.recorded[l.Spec.Job+"_over"]
	return over != "" && inv.newest(l) <= l.Spec.Version && !strings.Contains(over, table)
}

// rollupsIn returns a regular expression, for Go and for ClickHouse, that finds the rollups of the
// job's version in the text of a view: what follows l.base in their names.
func (l *layout) rollupsIn() string {
	return `\b` + regexp.QuoteMeta(l.base) + `(_\d+[dhms]_rollup)`
}

// otherSource reports whether a level is made from other rows than when its view was made:
// from a rollup that is new to the list, or from a shorter one because one was removed.
func (inv *inventory) otherSource(l *layout, i int) bool {
	v := l.levels[i]
	view := inv.recorded[v.view]
	if inv.newest(l) > l.Spec.Version || !strings.Contains(view, v.table) { // it shows another version
		return false
	}
	var was, now string
	if i > 0 {
		now = l.levels[i-1].table
	}
	longest := int64(0)
	for _, m := range regexp.MustCompile(l.rollupsIn()+`(?:`+AllShards+`)?\b`).FindAllStringSubmatch(view, -1) {
		if seconds := secondsOf(m[1]); seconds < v.seconds && seconds > longest {
			was, longest = l.base+m[1], seconds
		}
	}
	return was != now
}

// comesBack reports whether a measure of the job was counted before and is not in the view of a level.
// While it was away, windows were made without what the rows hold of it.
func (inv *inventory) comesBack(l *layout, i int) bool {
	shown := inv.columns[l.levels[i].view]
	if len(shown) == 0 || inv.newest(l) > l.Spec.Version {
		return false
	}
	for m := range l.counted {
		if inv.registered(l, m.Name) != nil && !slices.ContainsFunc(m.viewed(), func(c column) bool { _, there := shown[c.name]; return there }) {
			return true
		}
	}
	return false
}

// views returns the views as they should be. It leaves out the views of a job whose
// database has a newer version: they show that one.
func (c *Client) views(inv *inventory, layouts []*layout) []view {
	all := c.spread(layouts)
	for _, l := range layouts {
		inv.mark(l)
		if inv.newest(l) <= l.Spec.Version {
			all = append(all, l.views(c)...)
		}
	}
	if !c.sharded() || c.wide { // a shard alone has a part of the rows, and the ledger of all or none
		all = append(all, c.audits(inv, layouts)...)
	}
	for i := range all {
		all[i].sign()
	}
	return all
}

// addable reports whether a migration adds the column. That is so for the columns of
// measures, which are then empty in older windows.
func (t *table) addable(col column) bool {
	return t.appends && !slices.Contains(reserved, col.name) && !slices.Contains(t.order, col.name) && !slices.Contains(t.order, quote(col.name))
}

// tune returns what the table has no setting of. A setting that the table has stays, because
// an administrator may have changed it, but for those of Config.Fsync.
func (t *table) tune(c *Client, settings string) (changes []string) {
	for _, m := range t.merging() {
		if !strings.Contains(settings, m.name+" = ") {
			changes = append(changes, m.String())
		}
	}
	return append(changes, c.unsynced(settings)...)
}

// unsynced returns what a table has to set for it to be as Config.Fsync says, given its settings.
func (c *Client) unsynced(settings string) (changes []string) {
	for _, name := range synced {
		switch on := strings.Contains(settings, name+" = 1"); {
		case c.cfg.Fsync && !on:
			changes = append(changes, name+" = 1")
		case on && !c.cfg.Fsync:
			changes = append(changes, name+" = 0")
		}
	}
	return changes
}

// longer reports whether rows live longer with a TTL than with the one of before.
func longer(before, ttl string) bool { return lives(ttl) > lives(before) }

// lives returns for how many seconds rows live by a TTL.
func lives(ttl string) int64 {
	_, n, _ := strings.Cut(ttl, "toIntervalSecond(")
	n, _, _ = strings.Cut(n, ")")
	s, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return math.MaxInt64 // for ever
	}
	return s
}

// register returns the rows of the job in weir_jobs: one for the job, then one for each
// measure.
func (l *layout) register() []registered {
	job := registered{
		job: l.Spec.Job, version: uint32(l.Spec.Version), meaning: l.Spec.Meaning(), topic: l.Topic,
		keep: uint32(l.Keep.Seconds()), rollup: l.levels[0].table, seconds: uint32(l.levels[0].seconds),
	}
	for _, c := range l.by {
		job.groups = append(job.groups, c.name)
	}
	rows := []registered{job}
	for i := range l.measures {
		m := &l.measures[i]
		r := job
		r.measure, r.meaning = m.Name, m.Meaning()
		if m.sql != nil {
			r.bits = m.sql.Bits
		}
		rows = append(rows, r)
	}
	return rows
}

// enter returns the statement that inserts rows into weir_jobs.
func (c *Client) enter(rows []registered) string {
	var values []string
	for _, r := range rows {
		groups := make([]string, len(r.groups))
		for i, g := range r.groups {
			groups[i] = text(g)
		}
		values = append(values, fmt.Sprintf("\n(%s, %d, %s, %s, %s, %d, [%s], %s, %d, %d)",
			text(r.job), r.version, text(r.measure), text(r.meaning), text(r.topic), r.keep, strings.Join(groups, ", "), text(r.rollup), r.seconds, r.bits))
	}
	return "INSERT INTO " + c.name("weir_jobs") + " (job, version, measure, meaning, topic, keep, groups, rollup, seconds, bits) VALUES" + strings.Join(values, ",")
}

// audited returns the jobs that the audit view covers: the newest version of every job
// that is registered, which may belong to another configuration, or that the layouts
// are about to register.
func (inv *inventory) audited(layouts []*layout) []registered {
	newest := map[string]registered{}
	add := func(r registered) {
		if old, ok := newest[r.job]; r.measure == "" && (!ok || old.version <= r.version) {
			newest[r.job] = r
		}
	}
	for _, r := range inv.jobs {
		add(r)
	}
	for _, l := range layouts {
		for _, r := range l.register() {
			add(r)
		}
	}
	var all []registered
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		all = append(all, newest[name])
	}
	return all
}

// writer returns the statements that make the account for weir run.
func (c *Client) writer(a *Account) []Statement {
	return c.account(a, "", "SELECT, INSERT")
}

// reader returns the statements that make the account for dashboards.
func (c *Client) reader(a *Account) []Statement {
	// readonly = 2 forbids writing but not settings, because Grafana sets
	// max_execution_time. A client may lower these bounds and not raise them. A question that
	// reaches one is an error, also where the server's default profile says otherwise.
	settings := " SETTINGS readonly = 2, max_execution_time = 60 MAX 60, max_memory_usage = 4294967296 MAX 4294967296, max_result_rows = 1000000 MAX 1000000, skip_unavailable_shards = 0"
	for _, mode := range overflowModes {
		settings += ", " + mode + " = 'throw'"
	}
	return c.account(a, settings, "SELECT")
}

// account returns the statements that make an account or bring it up to date. They do
// not use CREATE OR REPLACE, which would take the rights away until the grant. The
// server gets a salted digest of the password, never the password.
func (c *Client) account(a *Account, settings, rights string) []Statement {
	salt := rand.Text()
	digest := sha256.Sum256([]byte(a.Password + salt))
	user := quote(a.User)
	step := func(object, verb string) Statement {
		sql := func(digest, salt string) string {
			return verb + " " + user + c.onCluster() + " IDENTIFIED WITH sha256_hash BY " + text(digest) + " SALT " + text(salt) + settings
		}
		return Statement{Object: object + " " + a.User, SQL: sql("…", "…"), run: sql(hex.EncodeToString(digest[:]), salt)}
	}
	return []Statement{
		step("user", "CREATE USER IF NOT EXISTS"),
		step("password of user", "ALTER USER"),
		{Object: "grant " + a.User, SQL: "GRANT" + c.onCluster() + " " + rights + " ON " + quote(c.cfg.Database) + ".* TO " + user},
	}
}
