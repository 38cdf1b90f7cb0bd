package migrate

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// Inventory has what the database contains: tables, columns of views, functions, and weir's
// own records.
type Inventory struct {
	Database  bool
	tables    map[string]found           // tables and views
	wanted    map[string]definition      // tables of the jobs as they should be
	columns   map[string]map[string]bool // view → its columns
	functions map[string]bool            // whether the server has the one of this version
	recorded  map[string]string          // object → the statement last run for it
	jobs      []schema.Entry

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

// heading finds the lines that begin a part of it. The elements of a tuple have lines of their own.
var heading = regexp.MustCompile("^(?:    (`[^`]+`|INDEX [^ ]+)|([A-Z]+)) (.*)")

func define(printed string) definition {
	d := definition{}
	last := ""
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, ",\n")
		if m := heading.FindStringSubmatch(line); m != nil {
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
	for _, word := range []string{" COMMENT ", " CODEC(", " STATISTICS(", schema.ColumnTTL, " SETTINGS "} {
		line, _, _ = strings.Cut(line, word)
	}
	return line
}

// Take reads the system tables and the tables weir_jobs and weir_schema of a shard. The
// server prints the tables of the layouts as they are and as they should be.
func Take(ctx context.Context, c *wire.DB, on *wire.Replicas, layouts ...*schema.Layout) (*Inventory, error) {
	inv := &Inventory{tables: map[string]found{}, wanted: map[string]definition{}, columns: map[string]map[string]bool{}, functions: map[string]bool{}, recorded: map[string]string{}}
	database := wire.Text(c.Config.Database)
	err := on.CheckSame(ctx)
	if err != nil {
		return nil, err
	}
	query := func(what, sql string, row func(scan func(...any) error) error) {
		if err == nil {
			err = wire.Shards{on}.Query(ctx, what, sql, row)
		}
	}
	query("look for the database", "SELECT name FROM system.databases WHERE name = "+database, func(scan func(...any) error) error {
		inv.Database = true
		return nil
	})
	query("list functions", "SELECT name, "+schema.Foreign()+" FROM system.functions WHERE name LIKE 'weir%'", func(scan func(...any) error) error {
		var name string
		var other uint8
		err := scan(&name, &other)
		inv.functions[name] = other == 0
		return err
	})
	if err != nil || !inv.Database {
		return inv, err
	}
	// The statements of views are left out: the server takes milliseconds to print one,
	// and nothing reads them.
	const tables = "engine LIKE '%MergeTree'"
	list := "SELECT name, engine, comment, formatQuery(create_table_query) FROM system.tables WHERE database = " + database + " AND " + tables +
		" UNION ALL SELECT name, engine, comment, '' FROM system.tables WHERE database = " + database + " AND NOT " + tables
	query("list tables", list, func(scan func(...any) error) error {
		var name, printed string
		var f found
		err := scan(&name, &f.engine, &f.comment, &printed)
		f.as = define(printed)
		inv.tables[name] = f
		return err
	})
	var statements []string
	for _, t := range schema.TablesOf(layouts) {
		statements = append(statements, "("+wire.Text(t.Name)+", "+wire.Text(t.Create(c))+")")
	}
	wanted := "SELECT t.1, formatQuery(t.2) FROM (SELECT arrayJoin([" + strings.Join(statements, ", ") + "]) AS t)"
	query("print tables", wanted, func(scan func(...any) error) error {
		var name, printed string
		err := scan(&name, &printed)
		inv.wanted[name] = define(printed)
		return err
	})
	columns := "SELECT table, name FROM system.columns WHERE database = " + database + " AND table IN (SELECT name FROM system.tables WHERE database = " + database + " AND engine = 'View')"
	query("list columns of views", columns, func(scan func(...any) error) error {
		var view, name string
		err := scan(&view, &name)
		if inv.columns[view] == nil {
			inv.columns[view] = map[string]bool{}
		}
		inv.columns[view][name] = true
		return err
	})
	if _, ok := inv.tables["weir_schema"]; ok {
		query("read weir_schema", "SELECT object, argMax(sql, applied_at) FROM "+c.Name("weir_schema")+" GROUP BY object", func(scan func(...any) error) error {
			var object, sql string
			err := scan(&object, &sql)
			inv.recorded[object] = sql
			return err
		})
	}
	if _, ok := inv.tables["weir_jobs"]; ok {
		sql := "SELECT job, version, measure, argMin(meaning, created_at), argMin(topic, created_at), argMax(keep, created_at)," +
			" argMin(groups, created_at), argMax(rollup, created_at), argMax(seconds, created_at), toInt64(toUnixTimestamp(min(created_at))), " + schema.Raised("arraySort(groupArray((created_at, keep)))") + " FROM " + c.Name("weir_jobs") + " GROUP BY job, version, measure ORDER BY job, version, measure"
		query("read weir_jobs", sql, func(scan func(...any) error) error {
			var r schema.Entry
			err := scan(&r.Job, &r.Version, &r.Measure, &r.Meaning, &r.Topic, &r.Keep, &r.Groups, &r.Rollup, &r.Seconds, &r.Created, &r.Raised)
			inv.jobs = append(inv.jobs, r)
			return err
		})
	}
	return inv, err
}

// registered returns the row of the job's version and one of its measures ("" for
// the job itself); nil if there is none.
func (inv *Inventory) registered(l *schema.Layout, measure string) *schema.Entry {
	for i := range inv.jobs {
		if r := &inv.jobs[i]; r.Job == l.Spec.Job && int(r.Version) == l.Spec.Version && r.Measure == measure {
			return r
		}
	}
	return nil
}

// newest returns the highest registered version of the job; 0 if there is none.
func (inv *Inventory) newest(l *schema.Layout) int {
	newest := 0
	for i := range inv.jobs {
		if r := &inv.jobs[i]; r.Job == l.Spec.Job {
			newest = max(newest, int(r.Version))
		}
	}
	return newest
}

var spanName = regexp.MustCompile(`^_(\d+)([dhms])_rollup$`)

// lengths returns the rollups of a job, shortest first. It takes those in the layouts
// from there. The rollups of another configuration are the ones that its recorded view
// clicks_over reads; without that view, all that have a table. A table that no
// configuration has any more is no rollup: it gets nothing new, so a longer rollup is not
// made from it.
func (inv *Inventory) lengths(r schema.Entry, layouts []*schema.Layout) []schema.Level {
	found := map[int64]schema.Level{}
	for _, l := range layouts {
		if l.Spec.Job != r.Job || l.Spec.Version != int(r.Version) {
			continue
		}
		for _, v := range l.Levels {
			found[v.Seconds] = v
		}
	}
	if len(found) == 0 {
		found = inv.read(r)
	}
	var all []schema.Level
	for _, seconds := range slices.Sorted(maps.Keys(found)) {
		if found[seconds].Seconds >= int64(r.Seconds) {
			all = append(all, found[seconds])
		}
	}
	return all
}

// read returns the rollups of a job that no layout has, by their seconds.
func (inv *Inventory) read(r schema.Entry) map[int64]schema.Level {
	found := map[int64]schema.Level{}
	ranges, recorded := inv.recorded[r.Job+"_range"]
	for name, t := range inv.tables {
		rest, ours := strings.CutPrefix(name, r.Base())
		v := schema.Level{Table: name, Seconds: secondsOf(rest), WholeSince: inv.whole(name)}
		if !ours || v.Seconds == 0 || recorded && !strings.Contains(ranges, name) {
			continue
		}
		if ttl := t.as["TTL"]; ttl != "" {
			v.Keep = time.Duration(lives(ttl)) * time.Second
		}
		found[v.Seconds] = v
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

// Member says which shard a database is to be, if it is not set up yet.
func (inv *Inventory) Member(ids []string, at int) {
	if ids != nil {
		inv.id, inv.ids = ids[at], ids
	}
}

// whole returns since when a rollup is whole, in Unix seconds: windows that begin earlier may lack rows that
// had expired when the rollup was added or its keep made longer. 0: it has been so from the beginning.
func (inv *Inventory) whole(table string) int64 {
	_, since, _ := strings.Cut(inv.recorded[table+wholeSince], "(")
	since, _, _ = strings.Cut(since, ",")
	n, _ := strconv.ParseInt(since, 10, 64)
	return n
}
