package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"weir/window"
)

// inventory has what the database contains: tables, columns of views, functions, and weir's
// own records.
type inventory struct {
	database  bool
	tables    map[string]found           // tables and views
	wanted    map[string]definition      // tables of the jobs as they should be
	columns   map[string]map[string]bool // view → its columns
	functions map[string]bool            // whether the server has the one of this version
	recorded  map[string]string          // object → the statement last run for it
	jobs      []registered

	// Of a shard that is to be set up: its id, and the ids of all shards.
	id  string
	ids []string
}

// found is a table or view as the server has it.
type found struct {
	engine, comment string
	as              definition // of a table only
}

// A definition is the statement of a table as the server prints it, in lines: each column by
// its quoted name, each index by "INDEX" and its name, and the rest by the first word.
type definition map[string]string

// part finds the lines that begin a part of it. The elements of a tuple have lines of their own.
var part = regexp.MustCompile("^(?:    (`[^`]+`|INDEX [^ ]+)|([A-Z]+)) (.*)")

func define(printed string) definition {
	d := definition{}
	last := ""
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, ",\n")
		if m := part.FindStringSubmatch(line); m != nil {
			last = m[1] + m[2]
			d[last] = m[3]
		} else if line != "(" && line != ")" {
			d[last] += strings.TrimSpace(line) + " "
		}
	}
	return d
}

// essence returns what a line of a column says of its values: the type, and how ClickHouse
// computes them. An administrator may change the rest: a comment, a codec. Migrate changes
// the TTL.
func essence(line string) string {
	for _, word := range []string{" COMMENT ", " CODEC(", " STATISTICS(", columnTTL, " SETTINGS "} {
		line, _, _ = strings.Cut(line, word)
	}
	return line
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

// inventory reads the system tables and the tables weir_jobs and weir_schema of a shard. The
// server prints the tables of the layouts as they are and as they should be.
func (c *Client) inventory(ctx context.Context, on *replicas, layouts ...*layout) (*inventory, error) {
	inv := &inventory{tables: map[string]found{}, wanted: map[string]definition{}, columns: map[string]map[string]bool{}, functions: map[string]bool{}, recorded: map[string]string{}}
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
	const tables = "engine LIKE '%MergeTree'"
	list := "SELECT name, engine, comment, formatQuery(create_table_query) FROM system.tables WHERE database = " + database + " AND " + tables +
		" UNION ALL SELECT name, engine, comment, '' FROM system.tables WHERE database = " + database + " AND NOT " + tables
	err = query(ctx, "list tables", list, func(scan func(...any) error) error {
		var name, printed string
		var f found
		err := scan(&name, &f.engine, &f.comment, &printed)
		f.as = define(printed)
		inv.tables[name] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	var statements []string
	for _, t := range tablesOf(layouts) {
		statements = append(statements, "("+text(t.name)+", "+text(t.create(c))+")")
	}
	wanted := "SELECT t.1, formatQuery(t.2) FROM (SELECT arrayJoin([" + strings.Join(statements, ", ") + "]) AS t)"
	err = query(ctx, "print tables", wanted, func(scan func(...any) error) error {
		var name, printed string
		err := scan(&name, &printed)
		inv.wanted[name] = define(printed)
		return err
	})
	if err != nil {
		return nil, err
	}
	columns := "SELECT table, name FROM system.columns WHERE database = " + database + " AND table IN (SELECT name FROM system.tables WHERE database = " + database + " AND engine = 'View')"
	err = query(ctx, "list columns of views", columns, func(scan func(...any) error) error {
		var view, name string
		err := scan(&view, &name)
		if inv.columns[view] == nil {
			inv.columns[view] = map[string]bool{}
		}
		inv.columns[view][name] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, ok := inv.tables["weir_schema"]; ok {
		err = query(ctx, "read weir_schema", "SELECT object, argMax(sql, applied_at) FROM "+c.name("weir_schema")+" GROUP BY object", func(scan func(...any) error) error {
			var object, sql string
			err := scan(&object, &sql)
			inv.recorded[object] = sql
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

// check compares a shard with what Migrate would make of it for a job. It returns an error if
// the job cannot write or be asked without that, and notes about the rest, one sentence each.
func (c *Client) check(ctx context.Context, on *replicas, inv *inventory, l *layout) (notes []string, err error) {
	what := "job " + l.Spec.Job
	if !inv.database {
		return nil, refuse(what, "there is no database "+c.cfg.Database, missingAction)
	}
	if err := c.rights(ctx, on); err != nil {
		return nil, err
	}
	steps, err := c.steps(inv, []*layout{l})
	if err != nil {
		return nil, err
	}
	if news := inv.news(l); news != "" {
		return nil, refuse(what, news, missingAction)
	}
	notes = inv.notes(c, l)
	explained := len(notes) > 0 // why the views are others
	var changes []string
	for _, s := range steps {
		switch {
		case s.lacks != "":
			return nil, refuse(what, s.lacks, missingAction)
		case !explained || !strings.HasPrefix(s.SQL, createView):
			changes = append(changes, s.Object)
		}
	}
	if changes != nil {
		notes = append(notes, what+": "+fmt.Sprintf("these are not as this version and configuration want them: %s: run `weir migrate`; until then rows live, and views show, as before", strings.Join(changes, ", ")))
	}
	return notes, nil
}

// news says whether the job, one of its measures or one of its rollups is new to the
// database; empty if none is.
func (inv *inventory) news(l *layout) string {
	if inv.registered(l, "") == nil {
		if newest := inv.newest(l); newest > 0 {
			return fmt.Sprintf("version %d is new: the newest with tables is %d", l.Spec.Version, newest)
		}
		return "it is new"
	}
	for _, m := range l.measures {
		if inv.registered(l, m.Name) != nil {
			continue
		}
		if gone := inv.dropped(l); gone != nil {
			return fmt.Sprintf("measure %s is new, and %s is gone: a renamed measure begins empty", m.Name, gone[0].measure)
		}
		return "measure " + m.Name + " is new"
	}
	for _, v := range l.levels {
		if _, there := inv.tables[v.table]; !there && inv.recorded[v.table] == "" {
			return "rollup " + span(v.Window) + " is new"
		}
	}
	return ""
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

// notes returns what stays different between the database and the job's configuration,
// one sentence each.
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
	return notes
}

// rights returns an error if the account may not write, so that this is known
// before the first flush.
func (c *Client) rights(ctx context.Context, on *replicas) error {
	const what = "check the account's rights"
	granted := uint8(1)
	err := shards{on}.query(ctx, what, "CHECK GRANT SELECT, INSERT ON "+quote(c.cfg.Database)+".*", func(scan func(...any) error) error { return scan(&granted) })
	if err == nil && granted == 0 {
		return refuse(what, "SELECT or INSERT on "+c.cfg.Database+" is not granted", fatal[497])
	}
	return err
}

// compare returns the columns of measures that a table lacks. It is an error if the table
// differs from what Migrate made in anything that Migrate does not change.
func (inv *inventory) compare(t *table) (missing []column, err error) {
	have, want := inv.tables[t.name], inv.wanted[t.name]
	differs := func(format string, args ...any) error {
		return refuse("table "+t.name, fmt.Sprintf(format, args...), schemaAction)
	}
	if !strings.HasSuffix(have.engine, t.engine) {
		return nil, differs("its engine is %s, weir made it %s", have.engine, t.engine)
	}
	for _, col := range t.columns {
		if _, there := have.as[quote(col.name)]; !there && t.addable(col) {
			missing = append(missing, col)
			delete(want, quote(col.name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if key == "CREATE" || key == "ENGINE" || key == "TTL" || key == "SETTINGS" {
			continue
		}
		switch is, there := have.as[key]; {
		case !there:
			return nil, differs("%s is gone", key)
		case essence(is) != essence(want[key]):
			return nil, differs("%s is %s, weir made it %s", key, essence(is), essence(want[key]))
		}
	}
	return missing, nil
}

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
