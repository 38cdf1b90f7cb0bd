package clickhouse

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// migrating collects the statements that make a database what the layouts of its jobs need.
type migrating struct {
	*Client
	inv     *inventory
	layouts []*layout
	rollups map[string]*rollupTable // by the names of their tables
	steps   []Statement
}

// A rollupTable is the table of a rollup. How far it is stands in weir_rollups.
type rollupTable struct {
	job   *layout
	where string // the condition for its rows in weir_rollups
	anew  bool   // it lacks what the rows that it is made from hold now
}

// steps returns the statements that make the database what the layouts need.
func (c *Client) steps(inv *inventory, layouts []*layout) ([]Statement, error) {
	if !c.sharded() && inv.recorded[members] != "" {
		return nil, refuse("migrate", oneOfSeveral, namesShards)
	}
	m := &migrating{Client: c, inv: inv, layouts: layouts, rollups: map[string]*rollupTable{}}
	if !inv.database {
		m.step("database", "CREATE DATABASE IF NOT EXISTS "+quote(c.cfg.Database)+c.onCluster())
	}
	tables := common()
	for _, l := range layouts {
		if err := inv.meaning(l); err != nil {
			return nil, err
		}
		tables = append(tables, l.tables()...)
		for i, v := range l.levels {
			m.rollups[v.table] = &rollupTable{l, fmt.Sprintf("%s AND rollup = %d", l.where(), v.seconds), inv.otherSource(l, i) || inv.comesBack(l, i)}
		}
	}
	for i := range tables {
		if err := m.table(&tables[i]); err != nil {
			return nil, err
		}
	}
	if inv.recorded[identity] == "" {
		m.steps = append(m.steps, Statement{Object: "weir_schema", SQL: c.newID("…", inv.ids), run: c.newID(cmp.Or(inv.id, rand.Text()), inv.ids)})
	}
	m.views(m.functions())
	for _, l := range layouts { // again: until its view was replaced, a process with the old list may have noted what it had made
		for _, v := range l.levels {
			if r := m.rollups[v.table]; r.anew {
				m.forget(v.table, "done = 0", r)
			}
		}
	}
	if entries := m.entries(); entries != nil { // last: no process counts a measure before the views show it, see Sink.note
		m.step("weir_jobs", c.enter(entries))
	}
	return m.steps, nil
}

func (m *migrating) step(object, sql string) {
	m.steps = append(m.steps, Statement{Object: object, SQL: sql})
}

// forget changes what weir_rollups notes of a rollup.
func (m *migrating) forget(table, to string, r *rollupTable) {
	m.step(table+progressed, m.forgetProgress(to, r.where))
}

// note notes since when a rollup is whole whose rows have lived for keep seconds so far, 0 if
// there were none.
func (m *migrating) note(table string, r *rollupTable, keep int64) {
	if since := m.inv.wholeFrom(r.job, table, keep, time.Now().Unix()); since != m.inv.whole(table) {
		sql := fmt.Sprintf("SELECT toDateTime(%d, 'UTC')", since)
		m.step(table+wholeSince, sql)
		m.inv.recorded[table+wholeSince] = sql
	}
}

// table makes a table, or makes one that is there what it should be.
func (m *migrating) table(t *table) error {
	missing, err := m.inv.compare(t)
	if err != nil {
		return err
	}
	rollup := m.rollups[t.name] // nil: it is none
	if len(missing) == len(t.columns) {
		// A rollup that was dropped is made anew, first of all in what is noted. The rounds go on.
		if rollup != nil && m.inv.recorded[t.name] != "" {
			m.forget(t.name, "done = 0, complete_until = fromUnixTimestamp64Milli(toInt64(0), 'UTC')", rollup)
		}
		m.step(t.name, t.create(m.Client))
		if rollup != nil {
			m.note(t.name, rollup, 0)
		}
		return nil
	}
	create := m.inv.tables[t.name].create
	if rollup != nil {
		// Done is a round up to which the rollup has the rows that it is made from. It says nothing about other rows,
		// nor about a measure that was left out, nor about windows that have expired and are to be there again.
		if longer(ttlOf(create), t.ttl) {
			rollup.anew = true
			m.note(t.name, rollup, lives(ttlOf(create)))
		}
		if m.inv.returns(rollup.job, t.name) {
			m.note(t.name, rollup, 0)
		}
		if rollup.anew {
			m.forget(t.name, "done = 0", rollup)
		}
	}
	if m.inv.recorded[t.name] == "" { // a migration was killed before it recorded what it had made
		m.step(t.name, t.create(m.Client))
	}
	if err := m.columns(t, missing); err != nil {
		return err
	}
	if sql := t.retain(m.Client, create); sql != "" {
		m.step(t.name+" ttl", sql)
	}
	if sql := t.tune(m.Client, create); sql != "" {
		m.step(t.name+" settings", sql)
	}
	if sql, _ := t.forget(m.Client, create); sql != "" {
		m.step(t.name+" states ttl", sql)
	}
	return nil
}

// columns adds the columns that a table lacks, and gives those their defaults that have others.
func (m *migrating) columns(t *table, missing []column) error {
	alter := "ALTER TABLE " + m.name(t.name) + m.onCluster()
	for _, col := range missing {
		// If weir has made the column before, it was dropped, with its values. If
		// not, the column is new to this version of weir or to the job.
		if m.inv.made(t.name, col) && !t.addable(col) {
			return refuse("table "+t.name, "column "+col.name+" is gone", schemaAction)
		}
		sql := alter + " ADD COLUMN IF NOT EXISTS " + col.String()
		if col.index != "" {
			sql += ", ADD " + strings.Replace(col.index, "INDEX ", "INDEX IF NOT EXISTS ", 1)
		}
		m.step(t.name+" "+col.name, sql)
		if col.index != "" { // also for the rows that exist, in the background
			m.step(t.name+" "+col.name+" index", alter+" MATERIALIZE INDEX "+indexName(col.name))
		}
	}
	for _, col := range m.inv.undefaulted(t) { // changed by hand; the statement changes no row
		m.step(t.name+" "+col.name+" default", alter+" MODIFY COLUMN "+col.definition())
	}
	return nil
}

// functions replaces the functions of SQL that differ, and reports whether the views were made with others.
func (m *migrating) functions() (older bool) {
	for _, f := range m.inv.otherFunctions(m.Client) {
		sql := f.create(m.Client)
		m.step(f.name, sql)
		older = older || m.inv.recorded[f.name] != sql
	}
	return older
}

// views replaces the views that differ, or all of them.
func (m *migrating) views(all bool) {
	for _, v := range m.wanted(m.inv, m.layouts) {
		if _, ok := m.inv.tables[v.name]; !ok || all || m.inv.recorded[v.name] != v.sql || m.inv.replaced(v.name) {
			m.step(v.name, v.sql)
		}
	}
}

// entries returns what weir_jobs does not have yet.
func (m *migrating) entries() (entries []registered) {
	for _, l := range m.layouts {
		for _, r := range l.register() {
			have := m.inv.registered(l, r.measure)
			if have == nil || have.keep != r.keep || have.rollup != r.rollup {
				entries = append(entries, r)
			}
		}
	}
	return entries
}
