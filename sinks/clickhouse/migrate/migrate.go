package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
)

// Options say what Run does besides the tables of the jobs.
type Options struct {
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
	Full   string // the full text, if it is not SQL
	lacks  string // what a job cannot do without; empty: it runs as before until then
}

// Run makes the database what the jobs need, and returns the statements that it ran,
// or with DryRun would run; none means that nothing was to be done. It creates missing
// objects, adds columns of measures, replaces views and functions, and changes TTLs and
// settings. It never drops a column or changes its type. If a table differs in anything
// else, or a job means something else than before, it returns a fatal error.
//
// Every statement may be run again, also by two processes at once, and is recorded in
// weir_schema.
func Run(ctx context.Context, c *wire.DB, jobs []schema.Job, m Options) ([]Statement, error) {
	layouts, err := Plans(jobs)
	if err != nil {
		return nil, err
	}
	ids, err := c.Members(ctx)
	if err != nil {
		return nil, err
	}
	var all []Statement
	for i := len(c.Shards) - 1; i >= 0; i-- { // the home shard last: see wire.DB.Members
		steps, err := migrateShard(ctx, c, c.Shards[i], ids, i, layouts, m)
		all = append(all, steps...)
		if err != nil {
			return all, c.Shards[i].Named(err)
		}
	}
	return all, nil
}

// migrateShard is Run for one shard. ids are the ids that the shards have, or are to get.
func migrateShard(ctx context.Context, c *wire.DB, on *wire.Replicas, ids []string, at int, layouts []*schema.Layout, m Options) ([]Statement, error) {
	inv, err := Take(ctx, c, on, layouts...)
	if err != nil {
		return nil, err
	}
	inv.Member(ids, at)
	steps, err := Steps(c, inv, layouts)
	if err != nil {
		return nil, err
	}
	if m.Writer != nil {
		steps = append(steps, WriterAccount(c, m.Writer)...)
	}
	if m.Reader != nil {
		steps = append(steps, ReaderAccount(c, m.Reader)...)
	}
	if c.Sharded() {
		for i := range steps {
			steps[i].Shard = on.String()
		}
	}
	if m.DryRun {
		return steps, nil
	}
	for i, s := range steps {
		var err error
		if at > 0 && strings.HasSuffix(s.Object, schema.Progressed) { // a rollup of all shards goes by what the home shard has noted, if that is set up
			err = wire.MadeYet(c.Exec(ctx, "migrate "+s.Object, s.SQL, wire.QueryTimeout))
		}
		if err == nil {
			err = c.ExecOn(ctx, wire.Shards{on}, "migrate "+s.Object, cmp.Or(s.Full, s.SQL), wire.QueryTimeout)
		}
		if err != nil {
			// The steps before are not recorded. The next migration finds what they
			// made, or makes it again.
			return steps[:i], err
		}
	}
	return steps, Record(ctx, c, on, steps)
}

// Record writes the statements that ran into weir_schema. It does so with one insert,
// which saves a tenth of a second at a first start.
func Record(ctx context.Context, c *wire.DB, on *wire.Replicas, steps []Statement) error {
	var rows []string
	for _, s := range steps {
		rows = append(rows, "("+wire.Text(s.Object)+", "+wire.Text(s.SQL)+")")
	}
	if len(rows) == 0 {
		return nil
	}
	return c.ExecOn(ctx, wire.Shards{on}, "record the migration", "INSERT INTO "+c.Name("weir_schema")+" (object, sql) VALUES "+strings.Join(rows, ", "), wire.QueryTimeout)
}

// Plans returns the layouts of the jobs. It is an error if two of them would share a
// table or a view.
func Plans(jobs []schema.Job) ([]*schema.Layout, error) {
	owners := OwnNames()
	var all []*schema.Layout
	for _, j := range jobs {
		l, err := j.Plan()
		if err != nil {
			return nil, err
		}
		if name, other := owners.Claim(l, "job "+j.Spec.Job); name != "" {
			return nil, wire.Refuse("job "+j.Spec.Job, fmt.Sprintf("%s belongs to %s already", name, other), "rename the job or the measure")
		}
		all = append(all, l)
	}
	return all, nil
}

// Owners says to whom each table and view of a database belongs.
type Owners map[string]string

// OwnNames has the tables and views of weir itself.
func OwnNames() Owners {
	owners := Owners{}
	for _, t := range schema.Common() {
		owners[t.Name], owners[t.Name+wire.AllShards] = "weir itself", "weir itself"
	}
	for _, name := range verify.AuditViews {
		owners[name] = "weir itself"
	}
	return owners
}

// Claim notes the owner of all names of a job. It stops at a name that has an owner, and returns both.
func (o Owners) Claim(l *schema.Layout, owner string) (name, other string) {
	tables, views := Objects(l)
	for _, t := range tables {
		views = append(views, t+wire.AllShards)
	}
	for _, name := range append(tables, views...) {
		if other, taken := o[name]; taken {
			return name, other
		}
		o[name] = owner
	}
	return "", ""
}

// Objects returns the names of all tables and views of the job.
func Objects(l *schema.Layout) (tables, views []string) {
	tables = append(tables, l.StateTable())
	for m := range l.Located {
		tables = append(tables, l.PlacesTable(m))
		views = append(views, l.PlacesView(m))
	}
	for _, v := range l.Levels {
		tables = append(tables, v.Table)
		views = append(views, v.View)
		if (schema.LevelData{Layout: l}).Finished() != nil {
			views = append(views, v.States())
		}
	}
	return tables, slices.Concat(views, questions.Names(l))
}
