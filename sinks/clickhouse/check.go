package clickhouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/window"
)

// inventory has what the database contains: tables, columns, functions, and weir's own
// records.
type inventory struct {
	database  bool
	tables    map[string]found             // tables and views
	columns   map[string]map[string]string // table → column → column.kind
	defaults  map[string]map[string]string // table → column → expression of its DEFAULT, if it has one
	functions map[string]bool              // whether the server has the one of this version
	recorded  map[string]string            // object → the statement last run for it
	ran       map[string]int64             // object → when, in Unix seconds
	jobs      []registered

	// Of a shard that is to be set up: its id, and the ids of all shards.
	id  string
	ids []string
}

// found is a table or view as the server has it.
type found struct {
	engine, order, create string
	changed               int64 // when its definition was last changed, in Unix seconds
}

// registered is a row of weir_jobs: the meaning of a version of a job, or of one
// measure of it.
type registered struct {
	job     string
	version uint32
	measure string
	meaning string
	topic   string
	keep    uint32
	groups  []string
	created int64  // Unix seconds
	raised  int64  // auditJob.raised, in Unix seconds
	rollup  string // table of the first rollup…
	seconds uint32 // …and its window
	bits    uint64 // for a Bloom measure: the third argument of weirBloomHas
}

// inventory reads the system tables and the tables weir_jobs and weir_schema of a shard.
func (c *Client) inventory(ctx context.Context, on *replicas) (*inventory, error) {
	inv := &inventory{tables: map[string]found{}, columns: map[string]map[string]string{}, defaults: map[string]map[string]string{}, functions: map[string]bool{}, recorded: map[string]string{}, ran: map[string]int64{}}
	database := text(c.cfg.Database)
	err := on.checkSame(ctx)
	if err != nil {
		return nil, err
	}
	query := shards{on}.query
	err = query(ctx, "look for the database", "SELECT name FROM system.databases WHERE name = "+database, func(scan func(...any) error) error {
		inv.database = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = query(ctx, "list functions", "SELECT name, "+foreign()+" FROM system.functions WHERE name LIKE 'weir%'", func(scan func(...any) error) error {
		var name string
		var other uint8
		err := scan(&name, &other)
		inv.functions[name] = other == 0
		return err
	})
	if err != nil || !inv.database {
		return inv, err
	}
	// The statements of views are left out: the server takes milliseconds to print one,
	// and nothing reads them.
	const changed = "toInt64(toUnixTimestamp(metadata_modification_time))"
	list := "SELECT name, engine, sorting_key, create_table_query, " + changed + " FROM system.tables WHERE database = " + database + " AND engine != 'View'" +
		" UNION ALL SELECT name, engine, '', '', " + changed + " FROM system.tables WHERE database = " + database + " AND engine = 'View'"
	err = query(ctx, "list tables", list, func(scan func(...any) error) error {
		var name string
		var f found
		err := scan(&name, &f.engine, &f.order, &f.create, &f.changed)
		inv.tables[name] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	columns := "SELECT table, name, concat(if(default_kind IN ('', 'DEFAULT'), '', concat(default_kind, ' ')), type), default_expression FROM system.columns WHERE database = " + database
	err = query(ctx, "list columns", columns, func(scan func(...any) error) error {
		var table, name, typ, expression string
		if err := scan(&table, &name, &typ, &expression); err != nil {
			return err
		}
		if inv.columns[table] == nil {
			inv.columns[table], inv.defaults[table] = map[string]string{}, map[string]string{}
		}
		inv.columns[table][name], inv.defaults[table][name] = typ, expression
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, ok := inv.tables["weir_schema"]; ok {
		err = query(ctx, "read weir_schema", "SELECT object, argMax(sql, applied_at), toInt64(toUnixTimestamp(max(applied_at))) FROM "+c.name("weir_schema")+" GROUP BY object", func(scan func(...any) error) error {
			var object, sql string
			var at int64
			err := scan(&object, &sql, &at)
			inv.recorded[object], inv.ran[object] = sql, at
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if _, ok := inv.tables["weir_jobs"]; ok {
		sql := "SELECT job, version, measure, argMin(meaning, created_at), argMin(topic, created_at), argMax(keep, created_at)," +
			" argMin(groups, created_at), argMax(rollup, created_at), argMax(seconds, created_at), toInt64(toUnixTimestamp(min(created_at))), " + raised("arraySort(groupArray((created_at, keep)))") + " FROM " + c.name("weir_jobs") + " GROUP BY job, version, measure ORDER BY job, version, measure"
		err = query(ctx, "read weir_jobs", sql, func(scan func(...any) error) error {
			var r registered
			err := scan(&r.job, &r.version, &r.measure, &r.meaning, &r.topic, &r.keep, &r.groups, &r.rollup, &r.seconds, &r.created, &r.raised)
			inv.jobs = append(inv.jobs, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// check returns an error if the job's tables on a shard are missing, differ from what the job
// needs, or belong to a job with another meaning.
func (c *Client) check(ctx context.Context, on *replicas, inv *inventory, l *layout) error {
	what := "job " + l.Spec.Job
	if !inv.database {
		return refuse(what, "there is no database "+c.cfg.Database, missingAction)
	}
	if err := c.rights(ctx, on); err != nil {
		return err
	}
	if !c.sharded() && inv.recorded[members] != "" {
		return refuse(what, oneOfSeveral, namesShards)
	}
	if err := inv.meaning(l); err != nil {
		return err
	}
	for _, t := range common() {
		if err := inv.complete(what, &t); err != nil {
			return err
		}
	}
	if err := inv.news(l); err != nil {
		return err
	}
	for _, t := range l.tables() {
		if err := inv.complete(what, &t); err != nil {
			return err
		}
	}
	for _, f := range functions() {
		if _, there := inv.functions[f.name]; !there {
			return refuse(what, "there is no SQL function "+f.name, missingAction)
		}
	}
	return nil
}

// complete returns an error if a table is missing, lacks a column, or has another DEFAULT.
func (inv *inventory) complete(what string, t *table) error {
	missing, err := inv.compare(t)
	if err != nil {
		return err
	}
	if missing == nil {
		for _, col := range inv.undefaulted(t) {
			return refuse(what, fmt.Sprintf("table %s: column %s is no longer %s, as weir migrate had made it: it was changed by hand", t.name, col.name, col.extra), missingAction)
		}
		return nil
	}
	_, ran := inv.recorded[t.name]
	first := missing[0] // name a column that existed before, if there is one
	if i := slices.IndexFunc(missing, func(col column) bool { return inv.made(t.name, col) }); i >= 0 {
		first = missing[i]
	}
	switch lacks := "table " + t.name + " lacks column " + first.name; {
	case len(missing) == len(t.columns) && ran:
		return refuse(what, "there is no table "+t.name+", which weir migrate had made: it was dropped", missingAction)
	case len(missing) == len(t.columns):
		return refuse(what, "there is no table "+t.name+" yet", missingAction)
	case inv.made(t.name, first):
		return refuse(what, lacks+", which weir migrate had made: it was changed by hand", missingAction)
	default:
		return refuse(what, lacks+", which is new", missingAction)
	}
}

// news returns an error if the job, one of its measures or one of its rollups is new to
// the database.
func (inv *inventory) news(l *layout) error {
	what := "job " + l.Spec.Job
	if inv.registered(l, "") == nil {
		problem := "it is new"
		if newest := inv.newest(l); newest > 0 {
			problem = fmt.Sprintf("version %d is new: the newest with tables is %d", l.Spec.Version, newest)
		}
		return refuse(what, problem, missingAction)
	}
	for i := range l.measures {
		m := &l.measures[i]
		if inv.registered(l, m.Name) != nil {
			continue
		}
		for _, gone := range inv.dropped(l) {
			if gone.meaning == m.Meaning() {
				return refuse(what, fmt.Sprintf("measure %s is new, and %s is gone, which meant the same", m.Name, gone.measure), fmt.Sprintf(
					"a measure cannot be renamed: call it %s again, or run `weir migrate`, after which %s begins empty (older windows lack it) and %s stays as it is", gone.measure, m.Name, gone.measure))
			}
		}
		return refuse(what, "measure "+m.Name+" is new", missingAction)
	}
	for _, v := range l.levels {
		_, there := inv.tables[v.table]
		if _, ran := inv.recorded[v.table]; !there && !ran {
			return refuse(what, "rollup "+span(v.Window)+" is new", missingAction)
		}
	}
	return nil
}

// dropped returns the measures of the job's version that the database has and the
// configuration does not.
func (inv *inventory) dropped(l *layout) (gone []*registered) {
	for i := range inv.jobs {
		r := &inv.jobs[i]
		if r.job == l.Spec.Job && int(r.version) == l.Spec.Version && r.measure != "" &&
			!slices.ContainsFunc(l.measures, func(m measure) bool { return m.Name == r.measure }) {
			gone = append(gone, r)
		}
	}
	return gone
}

var levelTable = regexp.MustCompile(`^([1-9][0-9]*[smhd])_rollup$`)

// notes returns harmless differences between the database and the job's
// configuration, one sentence each.
func (inv *inventory) notes(c *Client, l *layout) (notes []string) {
	note := func(format string, args ...any) {
		notes = append(notes, "job "+l.Spec.Job+": "+fmt.Sprintf(format, args...))
	}
	if newest := inv.newest(l); newest > l.Spec.Version {
		note("%s is %d, and the database has version %d, which the views show: this process counts into the tables of version %[2]d, which no view shows; set version to %[3]d to go on with that one",
			l.key("version"), l.Spec.Version, newest)
	}
	for _, gone := range inv.dropped(l) {
		note("measure %s is no longer in %s: its values stay, and new windows lack it; if it comes back, the windows in between will lack it too", gone.measure, l.key("measures"))
	}
	first, shown := l.levels[0].view, l.level(c, 0).shown()
	for _, name := range slices.Sorted(maps.Keys(inv.columns[first])) {
		if inv.newest(l) == l.Spec.Version && !slices.ContainsFunc(shown, func(col column) bool { return col.name == name }) {
			note("view %s shows %s, which this process does not count: run `weir migrate` if no process counts it; until then the views read rows instead of the rollups that this process makes", first, name)
			break
		}
	}
	if _, views := l.objects(); inv.newest(l) == l.Spec.Version {
		for _, v := range c.spread([]*layout{l}) {
			views = append(views, v.name)
		}
		for _, name := range append(views, auditViews...) {
			switch _, there := inv.tables[name]; {
			case !there && inv.recorded[name] != "":
				note("there is no view %s, which weir migrate had made: it was dropped, and what reads it fails: run `weir migrate`", name)
			case inv.replaced(name):
				note("view %s was made again or altered, by hand or by a tool, after weir migrate had made it: it may show other numbers: run `weir migrate`", name)
			}
		}
	}
	var names []string
	for _, v := range l.levels {
		names = append(names, v.table)
	}
	for _, name := range slices.Sorted(maps.Keys(inv.tables)) {
		tail, ours := strings.CutPrefix(name, l.base+"_")
		if m := levelTable.FindStringSubmatch(tail); ours && m != nil && !slices.Contains(names, name) {
			note("rollup %s is no longer in %s: the table %s and the view %s_%[1]s stay and get nothing new; drop them when nothing reads them", m[1], l.key("rollups"), name, l.Spec.Job)
		}
	}
	for _, t := range common() {
		if have := ttlOf(inv.tables[t.name].create); have != t.ttl {
			note("table %s: its rows live by the TTL %s, and were made to live by %s: it was changed by hand: run `weir migrate`; until then rows may expire too early", t.name, cmp.Or(have, "none"), cmp.Or(t.ttl, "none"))
		}
	}
	for _, t := range append(common(), l.tables()...) {
		if changes := c.unsynced(inv.tables[t.name].create); changes != nil {
			note("table %s lacks %s, which clickhouse.fsync = %v asks for: run `weir migrate`", t.name, strings.Join(changes, ", "), c.cfg.Fsync)
			break
		}
	}
	for _, t := range l.tables() {
		create := inv.tables[t.name].create
		switch was, is := lifetime(ttlOf(create)), lifetime(t.ttl); {
		case t.retain(c, create) == "":
		case was == is:
			note("table %s: rows of windows that are older than %s are not stored, and longer rollups lack them: run `weir migrate`", t.name, is)
		default:
			note("table %s: %s was %s, is %s: run `weir migrate`; until then rows live as before", t.name, l.keepOf(&t), was, is)
		}
		if sql, columns := t.forget(c, create); sql != "" {
			note("table %s: the values of %s live by another TTL than keep_states in %s says: run `weir migrate`; until then they live longer, or become 0 or empty too early", t.name, strings.Join(columns, ", "), l.key("rollups"))
		}
	}
	if others := inv.otherFunctions(c); others != nil {
		var names []string
		for _, f := range others {
			names = append(names, f.name)
		}
		note("the SQL functions %s are not those of this version, as after weir migrate of another version for any database of the server, or a change by hand: rollups and queries may have wrong numbers: run `weir migrate`", strings.Join(names, ", "))
	}
	if len(notes) == 0 && inv.newest(l) == l.Spec.Version { // each of the others explains such views
		for _, v := range slices.Concat(c.spread([]*layout{l}), l.views(c)) {
			if have := inv.recorded[v.name]; have != "" && have != v.sql {
				note("view %s is not the one of this version and configuration, as after a change of either, or where the database was renamed or copied: run `weir migrate`", v.name)
				break
			}
		}
	}
	return notes
}

// replaced reports whether a view is not the one that weir migrate has made. The record is written last,
// so a view that changed later was changed by something else.
func (inv *inventory) replaced(view string) bool {
	const slack = 60 // the two times may be of different replicas
	return inv.recorded[view] != "" && inv.tables[view].changed > inv.ran[view]+slack
}

// keepOf returns the configuration key that says how long the rows of a table are
// kept.
func (l *layout) keepOf(t *table) string {
	for i, v := range l.levels {
		if v.table == t.name {
			return l.key(fmt.Sprintf("rollups[%d].keep", i))
		}
	}
	return l.key("keep")
}

var ttlSeconds = regexp.MustCompile(`toIntervalSecond\(([0-9]+)\)$`)

// lifetime returns a TTL in words.
func lifetime(ttl string) string {
	if ttl == "" {
		return "for ever"
	}
	if m := ttlSeconds.FindStringSubmatch(ttl); m != nil {
		if d, err := time.ParseDuration(m[1] + "s"); err == nil {
			return span(d)
		}
	}
	return ttl
}

// rights returns an error if the account may not write, so that this is known
// before the first flush.
func (c *Client) rights(ctx context.Context, on *replicas) error {
	const what = "check the account's rights"
	granted := uint8(1)
	err := shards{on}.query(ctx, what, "CHECK GRANT SELECT, INSERT ON "+quote(c.cfg.Database)+".*", func(scan func(...any) error) error { return scan(&granted) })
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code == 62: // servers before 24.11 do not have CHECK GRANT
		return nil
	case err == nil && granted == 0:
		return refuse(what, "SELECT or INSERT on "+c.cfg.Database+" is not granted", fatal[497])
	}
	return err
}

// compare looks up a table. It returns the missing columns (all, if the table is
// missing), and an error if a table of that name has another engine, order or type.
func (inv *inventory) compare(t *table) ([]column, error) {
	have, ok := inv.tables[t.name]
	if !ok {
		return t.columns, nil
	}
	what := "table " + t.name
	if !strings.HasSuffix(have.engine, t.engine) {
		return nil, refuse(what, fmt.Sprintf("its engine is %s, weir made it %s", have.engine, t.engine), schemaAction)
	}
	if _, comment, found := strings.Cut(have.create, "COMMENT '"+levelComment); found && strings.HasPrefix(t.comment, levelComment) {
		if of, _, _ := strings.Cut(comment, "."); levelComment+of+"." != t.comment {
			return nil, refuse(what, "it is the table of windows of "+of+": it was exchanged with that one, or renamed", "exchange the two tables again (EXCHANGE TABLES), or rename them back, then run `weir verify`")
		}
	}
	if want := strings.Join(t.order, ", "); plain(have.order) != plain(want) {
		return nil, refuse(what, fmt.Sprintf("it is ordered by (%s), weir ordered it by (%s)", have.order, want), schemaAction)
	}
	var missing []column
	for _, col := range t.columns {
		switch typ, ok := inv.columns[t.name][col.name]; {
		case !ok:
			missing = append(missing, col)
		case plain(typ) != plain(col.kind()):
			made, by := quote(col.name)+" "+typ, inv.recorded[t.name]+inv.recorded[t.name+" "+col.name]
			if strings.Contains(by, made) && !strings.Contains(by, made+" "+aliased) {
				return nil, refuse(what, fmt.Sprintf("an earlier weir made column %s as %s, and this one stores the measure as %s", col.name, typ, col.kind()),
					"raise the job's version, or give the measure another name; do not change the column, whose values this weir cannot read")
			}
			return nil, refuse(what, fmt.Sprintf("column %s is %s, weir made it %s", col.name, typ, col.kind()), schemaAction)
		}
	}
	return missing, nil
}

// undefaulted returns the columns of a table whose DEFAULT is not weir's. Without it the columns of times
// have 1970, so that ClickHouse takes new rows for expired ones and does not store them. What an ALIAS
// is shown as may differ between versions of ClickHouse, so that is not compared.
func (inv *inventory) undefaulted(t *table) (changed []column) {
	for _, col := range t.columns {
		want, ok := strings.CutPrefix(col.extra, defaulted)
		if have, there := inv.defaults[t.name][col.name]; ok && there && have != want {
			changed = append(changed, col)
		}
	}
	return changed
}

// plain removes the quotes and spaces of an expression.
func plain(s string) string { return strings.NewReplacer("`", "", " ", "").Replace(s) }

// meaning returns an error if the job's meaning is not the one registered under its
// version.
func (inv *inventory) meaning(l *layout) error {
	what := fmt.Sprintf("job %s, version %d", l.Spec.Job, l.Spec.Version)
	if r := inv.registered(l, ""); r != nil {
		if changes := window.Difference(r.meaning, l.Spec.Meaning()); changes != nil {
			return refuse(what, l.changed("", changes), l.again())
		}
		if r.topic != l.Topic {
			return refuse(what, l.changed("", []window.Change{{Key: "topic", Was: r.topic, Is: l.Topic}}), l.again())
		}
	}
	for i := range l.measures {
		m := &l.measures[i]
		r := inv.registered(l, m.Name)
		if r == nil {
			continue
		}
		if changes := window.Difference(r.meaning, m.Meaning()); changes != nil {
			return refuse(what, l.changed(fmt.Sprintf("measures[%d] (%s).", i, m.Name), changes), l.again()+"; or give the measure another name, which then begins empty")
		}
	}
	return nil
}

// misread compares the shards of the cluster as ClickHouse knows them, by remote_servers in its own
// configuration, with those of clickhouse.shards, which have these ids. It asks one server of each shard, by a Distributed
// table as the views do: an account that may read the database may not use the function cluster.
func (c *Client) misread(ctx context.Context, inv *inventory, l *layout, ids []string) (notes []string) {
	const all = "weir_schema" + AllShards
	if _, there := inv.tables[all]; !c.wide || !there { // weir migrate of this version makes it
		return nil
	}
	note := func(format string, args ...any) {
		notes = append(notes, "job "+l.Spec.Job+": "+fmt.Sprintf(format, args...))
	}
	sql := fmt.Sprintf("SELECT shardNum(), argMin(sql, (applied_at, sql)) FROM %s WHERE object = %s GROUP BY 1 ORDER BY 1", c.name(all), text(identity))
	for i, on := range c.shards {
		var read []string
		err := shards{on}.query(ctx, "ask which shards the cluster has", sql, func(scan func(...any) error) error {
			var number uint32
			var id string
			err := scan(&number, &id)
			name := "another one"
			if at := slices.Index(ids, id); at >= 0 {
				name = fmt.Sprint(at + 1)
			}
			read = append(read, name)
			return err
		})
		once := len(read) == len(ids)
		for n := range ids {
			once = once && slices.Contains(read, fmt.Sprint(n+1))
		}
		switch {
		case err != nil:
			note("shard %d of %d cannot ask cluster %s, which the views read: %v; until it can, its views, dashboards and weir_audit fail", i+1, len(ids), c.cfg.Cluster, err)
		case !once:
			note("for shard %d, cluster %s is the shards %s, and clickhouse.shards has %d: until its remote_servers list each of these once, its views, dashboards and weir_audit are wrong", i+1, c.cfg.Cluster, strings.Join(read, ", "), len(ids))
		}
	}
	return notes
}

// changed names the keys of the job's configuration that have changed.
func (l *layout) changed(at string, changes []window.Change) string {
	var texts []string
	for _, c := range changes {
		c.Key = l.key(at + c.Key)
		texts = append(texts, c.String())
	}
	return strings.Join(texts, "; ")
}

// again returns the remedy for a job with another meaning, and what it costs.
func (l *layout) again() string {
	return fmt.Sprintf("put it back, or raise %s to %d, which begins new tables and counts the log again as far as Kafka keeps it; the tables of version %d stay", l.key("version"), l.Spec.Version+1, l.Spec.Version)
}

// Others returns the jobs that are in the database and not in the list, with their
// newest version, sorted. They may belong to another configuration.
func (c *Client) Others(ctx context.Context, jobs []Job) (others []string, err error) {
	inv, err := c.inventory(ctx, c.shards[0])
	if err != nil {
		return nil, err
	}
	for _, r := range inv.audited(nil) {
		if !slices.ContainsFunc(jobs, func(j Job) bool { return j.Spec.Job == r.job }) {
			others = append(others, fmt.Sprintf("%s (version %d)", r.job, r.version))
		}
	}
	return others, nil
}

// registered returns the row of the job's version and one of its measures ("" for
// the job itself); nil if there is none.
func (inv *inventory) registered(l *layout, measure string) *registered {
	for i := range inv.jobs {
		if r := &inv.jobs[i]; r.job == l.Spec.Job && int(r.version) == l.Spec.Version && r.measure == measure {
			return r
		}
	}
	return nil
}

// newest returns the highest registered version of the job; 0 if there is none.
func (inv *inventory) newest(l *layout) int {
	newest := 0
	for i := range inv.jobs {
		if r := &inv.jobs[i]; r.job == l.Spec.Job {
			newest = max(newest, int(r.version))
		}
	}
	return newest
}
