package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// inventory is what the server has of what we care for.
type inventory struct {
	database  bool
	tables    map[string]found             // tables and views
	columns   map[string]map[string]string // table → column → type
	functions map[string]bool
	recorded  map[string]string // object → the statement last run for it
	jobs      []registered
}

// found is a table or view as it is.
type found struct {
	engine, order, create string
}

// registered is a row of weir_jobs: what a version of a job, or one measure of
// it, was said to mean.
type registered struct {
	job     string
	version uint32
	measure string
	meaning string
	topic   string
	keep    uint32
	groups  []string
	rollup  string // table of the first rollup…
	seconds uint32 // …and its window
	bits    uint64 // of a Bloom measure: third argument of weirBloomHas
}

// inventory reads the system tables and our own books.
func (c *Client) inventory(ctx context.Context) (*inventory, error) {
	inv := &inventory{tables: map[string]found{}, columns: map[string]map[string]string{}, functions: map[string]bool{}, recorded: map[string]string{}}
	database := text(c.cfg.Database)
	err := c.query(ctx, "look for the database", "SELECT name FROM system.databases WHERE name = "+database, func(scan func(...any) error) error {
		inv.database = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.query(ctx, "list functions", "SELECT name FROM system.functions WHERE name LIKE 'weir%'", func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		inv.functions[name] = true
		return err
	})
	if err != nil || !inv.database {
		return inv, err
	}
	err = c.query(ctx, "list tables", "SELECT name, engine, sorting_key, create_table_query FROM system.tables WHERE database = "+database, func(scan func(...any) error) error {
		var name string
		var f found
		err := scan(&name, &f.engine, &f.order, &f.create)
		inv.tables[name] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.query(ctx, "list columns", "SELECT table, name, type FROM system.columns WHERE database = "+database, func(scan func(...any) error) error {
		var table, name, typ string
		if err := scan(&table, &name, &typ); err != nil {
			return err
		}
		if inv.columns[table] == nil {
			inv.columns[table] = map[string]string{}
		}
		inv.columns[table][name] = typ
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, ok := inv.tables["weir_schema"]; ok {
		err = c.query(ctx, "read weir_schema", "SELECT object, argMax(sql, applied_at) FROM "+c.name("weir_schema")+" GROUP BY object", func(scan func(...any) error) error {
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
			" argMin(groups, created_at), argMax(rollup, created_at), argMax(seconds, created_at) FROM " + c.name("weir_jobs") + " GROUP BY job, version, measure ORDER BY job, version, measure"
		err = c.query(ctx, "read weir_jobs", sql, func(scan func(...any) error) error {
			var r registered
			err := scan(&r.job, &r.version, &r.measure, &r.meaning, &r.topic, &r.keep, &r.groups, &r.rollup, &r.seconds)
			inv.jobs = append(inv.jobs, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// check refuses a job whose tables are not there, are not as they should be, or
// mean something else.
func (c *Client) check(ctx context.Context, l *layout) error {
	inv, err := c.inventory(ctx)
	if err != nil {
		return err
	}
	what := "job " + l.Spec.Job
	if !inv.database {
		return refuse(what, "there is no database "+c.cfg.Database, missingAction)
	}
	if err := c.rights(ctx); err != nil {
		return err
	}
	if err := inv.meaning(l); err != nil {
		return err
	}
	for _, t := range append(common(), l.tables()...) {
		missing, err := inv.compare(&t)
		if err != nil {
			return err
		}
		if missing == nil {
			continue
		}
		_, ran := inv.recorded[t.name]
		first := missing[0] // one that was made before, if there is one
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
	for _, f := range functions() {
		if !inv.functions[f.name] {
			return refuse(what, "there is no SQL function "+f.name, missingAction)
		}
	}
	if inv.registered(l, "") == nil {
		return refuse(what, "weir_jobs does not know it", missingAction)
	}
	for i := range l.measures {
		if m := &l.measures[i]; inv.registered(l, m.Name) == nil {
			return refuse(what, "measure "+m.Name+" is new", missingAction)
		}
	}
	if newest := inv.newest(l); newest > l.Spec.Version {
		c.log.Warn("a newer version of the job has its tables already; the views show that one", "job", l.Spec.Job, "version", l.Spec.Version, "newest", newest)
	}
	return nil
}

// rights refuses an account that may not write, before the first flush finds
// out.
func (c *Client) rights(ctx context.Context) error {
	const what = "check the account's rights"
	granted := uint8(1)
	err := c.query(ctx, what, "CHECK GRANT SELECT, INSERT ON "+quote(c.cfg.Database)+".*", func(scan func(...any) error) error { return scan(&granted) })
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code == 62: // servers before 24.11 cannot say
		return nil
	case err == nil && granted == 0:
		return refuse(what, "SELECT or INSERT on "+c.cfg.Database+" is not granted", fatal[497])
	}
	return err
}

// compare looks a table up. It returns the columns that are not there (all, if
// the table is not), and an error if what is there cannot be ours.
func (inv *inventory) compare(t *table) ([]column, error) {
	have, ok := inv.tables[t.name]
	if !ok {
		return t.columns, nil
	}
	what := "table " + t.name
	if !strings.HasSuffix(have.engine, t.engine) {
		return nil, refuse(what, fmt.Sprintf("its engine is %s, weir made it %s", have.engine, t.engine), schemaAction)
	}
	if want := strings.Join(t.order, ", "); plain(have.order) != plain(want) {
		return nil, refuse(what, fmt.Sprintf("it is ordered by (%s), weir ordered it by (%s)", have.order, want), schemaAction)
	}
	var missing []column
	for _, col := range t.columns {
		switch typ, ok := inv.columns[t.name][col.name]; {
		case !ok:
			missing = append(missing, col)
		case plain(typ) != plain(col.typ):
			return nil, refuse(what, fmt.Sprintf("column %s is %s, weir made it %s", col.name, typ, col.typ), schemaAction)
		}
	}
	return missing, nil
}

// plain takes the quoting and spacing out of an expression.
func plain(s string) string { return strings.NewReplacer("`", "", " ", "").Replace(s) }

// meaning refuses a job that means something else than what is registered
// under its version.
func (inv *inventory) meaning(l *layout) error {
	what := fmt.Sprintf("job %s, version %d", l.Spec.Job, l.Spec.Version)
	if r := inv.registered(l, ""); r != nil {
		if have, want := r.meaning, l.Spec.Meaning(); have != want {
			return refuse(what, "its meaning has changed: "+difference(have, want), raiseAction)
		}
		if r.topic != l.Topic {
			return refuse(what, fmt.Sprintf("it was counted from topic %s and is now to be counted from %s", r.topic, l.Topic), raiseAction)
		}
	}
	for i := range l.measures {
		m := &l.measures[i]
		if r := inv.registered(l, m.Name); r != nil && r.meaning != m.Meaning() {
			return refuse(what, fmt.Sprintf("the meaning of measure %s has changed: it was %s, and is now %s", m.Name, r.meaning, m.Meaning()),
				"raise the job's version, or give the measure another name")
		}
	}
	return nil
}

const raiseAction = "raise the job's version: new tables are begun, and the log is counted again from where it starts"

// difference names the lines of two meanings that are not in both.
func difference(was, is string) string {
	before, after := strings.Split(strings.TrimSpace(was), "\n"), strings.Split(strings.TrimSpace(is), "\n")
	only := func(a, b []string) string {
		var lines []string
		for _, line := range a {
			if !slices.Contains(b, line) {
				lines = append(lines, line)
			}
		}
		if lines == nil {
			return "nothing"
		}
		return strings.Join(lines, ", ")
	}
	return "it was " + only(before, after) + ", and is now " + only(after, before)
}

// registered is the row of the job's version and one of its measures ("" for
// the job itself); nil if there is none.
func (inv *inventory) registered(l *layout, measure string) *registered {
	for i := range inv.jobs {
		if r := &inv.jobs[i]; r.job == l.Spec.Job && int(r.version) == l.Spec.Version && r.measure == measure {
			return r
		}
	}
	return nil
}

// newest is the highest version of the job that is registered.
func (inv *inventory) newest(l *layout) int {
	newest := 0
	for i := range inv.jobs {
		if r := &inv.jobs[i]; r.job == l.Spec.Job {
			newest = max(newest, int(r.version))
		}
	}
	return newest
}
