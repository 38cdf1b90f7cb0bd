package migrate

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// migrating collects the statements that make a database what the layouts of its jobs need.
type migrating struct {
	*wire.DB
	inv     *Inventory
	layouts []*schema.Layout
	rollups map[string]*rollupTable // by the names of their tables
	steps   []Statement
}

// A rollupTable is the table of a rollup. How far it is stands in weir_rollups.
type rollupTable struct {
	job   *schema.Layout
	where string // the condition for its rows in weir_rollups
	anew  bool   // it lacks what the rows that it is made from hold now
	bare  bool   // it was the first rollup, and has no states
}

// Steps returns the statements that make the database what the layouts need.
func Steps(c *wire.DB, inv *Inventory, layouts []*schema.Layout) ([]Statement, error) {
	if !c.Sharded() && inv.recorded[wire.Members] != "" {
		return nil, wire.Refuse("migrate", wire.OneOfSeveral, wire.NamesShards)
	}
	m := &migrating{DB: c, inv: inv, layouts: layouts, rollups: map[string]*rollupTable{}}
	if !inv.Database {
		m.step("database", "CREATE DATABASE IF NOT EXISTS "+wire.Quote(c.Config.Database)+c.OnCluster())
	}
	for _, l := range layouts {
		if err := inv.meaning(l); err != nil {
			return nil, err
		}
		for i, v := range l.Levels {
			other, first := inv.otherSource(l, i)
			m.rollups[v.Table] = &rollupTable{l, fmt.Sprintf("%s AND rollup = %d", l.Where(), v.Seconds), other || inv.comesBack(l, i), first}
		}
	}
	for _, l := range layouts {
		if t, there := inv.tables[l.StateTable()]; there && lives(t.as["TTL"]) < int64(l.Keep/time.Second) {
			m.note(l.StateTable(), &rollupTable{job: l}, 0)
		}
	}
	for _, t := range schema.TablesOf(layouts) {
		if err := m.table(&t); err != nil {
			return nil, err
		}
	}
	if inv.recorded[wire.Identity] == "" {
		m.steps = append(m.steps, Statement{Object: "weir_schema", SQL: newIdentity(c, "…", inv.ids), Full: newIdentity(c, cmp.Or(inv.id, rand.Text()), inv.ids), lacks: "the database has no id"})
	}
	for _, f := range schema.Functions() {
		if ours, there := inv.functions[f.Name]; !there {
			m.need("there is no SQL function "+f.Name, f.Name, schema.CreateFunction(c, f))
		} else if !ours {
			m.step(f.Name, schema.CreateFunction(c, f))
		}
	}
	for _, v := range Views(c, inv, layouts) {
		if inv.tables[v.Name].comment != v.Comment {
			m.step(v.Name, v.SQL)
		}
	}
	for _, l := range layouts { // again: until its view was replaced, a process with the old list may have noted what it had made
		for _, v := range l.Levels {
			if r := m.rollups[v.Table]; r.anew {
				m.forget(v.Table, "done = 0", r)
			}
		}
	}
	if entries := m.entries(); entries != nil { // last: no process counts a measure before the views show it, see Sink.note
		m.step("weir_jobs", enter(c, entries))
	}
	return m.steps, nil
}

func (m *migrating) step(object, sql string) {
	m.steps = append(m.steps, Statement{Object: object, SQL: sql})
}

// need is step for what a job cannot do without, and says what it lacks until then.
func (m *migrating) need(lacks, object, sql string) {
	m.steps = append(m.steps, Statement{Object: object, SQL: sql, lacks: lacks})
}

// forget changes what weir_rollups notes of a rollup.
func (m *migrating) forget(table, to string, r *rollupTable) {
	m.step(table+schema.Progressed, forgetProgress(m.DB, to, r.where))
}

// note notes since when a rollup, or the state table, is whole whose rows have lived for keep seconds so far, 0 if
// there were none.
func (m *migrating) note(table string, r *rollupTable, keep int64) {
	if since := m.inv.wholeFrom(r.job, table, keep, time.Now().Unix()); since != m.inv.whole(table) {
		sql := fmt.Sprintf("SELECT toDateTime(%d, 'UTC')", since)
		m.step(table+wholeSince, sql)
		m.inv.recorded[table+wholeSince] = sql
	}
}

// table makes a table, or makes one that is there what it should be.
func (m *migrating) table(t *schema.Table) error {
	have, there := m.inv.tables[t.Name]
	rollup := m.rollups[t.Name] // nil: it is none
	if !there {
		// A rollup that was dropped is made anew, first of all in what is noted. The rounds go on.
		if rollup != nil && m.inv.recorded[t.Name] != "" {
			m.forget(t.Name, "done = 0, complete_until = fromUnixTimestamp64Milli(toInt64(0), 'UTC')", rollup)
		}
		m.need("there is no table "+t.Name, t.Name, t.Create(m.DB))
		if rollup != nil {
			m.note(t.Name, rollup, 0)
		}
		return nil
	}
	missing, err := m.inv.compare(t)
	if err != nil {
		return err
	}
	ttl := have.as["TTL"]
	if rollup != nil {
		// Done is a round up to which the rollup has the rows that it is made from. It says nothing about other rows,
		// nor about a measure that was left out, nor about windows that have expired and are to be there again.
		if longer(ttl, t.TTL) {
			rollup.anew = true
			m.note(t.Name, rollup, lives(ttl))
		}
		if rollup.bare || m.inv.returns(rollup.job, t.Name) {
			m.note(t.Name, rollup, 0)
		}
		if rollup.anew {
			m.forget(t.Name, "done = 0", rollup)
		}
	}
	if m.inv.recorded[t.Name] == "" { // a migration was killed before it recorded what it had made
		m.step(t.Name, t.Create(m.DB))
	}
	alter := "ALTER TABLE " + m.Name(t.Name) + m.OnCluster()
	for _, col := range missing {
		m.need("table "+t.Name+" lacks column "+col.Name, t.Name+" "+col.Name, alter+" ADD COLUMN IF NOT EXISTS "+col.String())
	}
	want := m.inv.wanted[t.Name]
	switch {
	case ttl == want["TTL"]:
	case t.TTL == "":
		m.step(t.Name+" ttl", alter+" REMOVE TTL")
	default:
		// Each part of a table says until when its rows live, so the server computes that anew, in the
		// background. Otherwise it removes the rows at the time of before, also if they are to live longer now.
		m.step(t.Name+" ttl", alter+" MODIFY TTL "+t.TTL+" SETTINGS materialize_ttl_after_modify = 1")
	}
	if changes := t.Tune(m.DB, have.as["SETTINGS"]); changes != nil {
		m.step(t.Name+" settings", alter+" MODIFY SETTING "+strings.Join(changes, ", "))
	}
	// The server applies the TTLs of states to the rows that exist too, in the background, because keep_states holds
	// for these as well.
	var states []string
	for _, col := range t.Columns {
		_, is, _ := strings.Cut(have.as[wire.Quote(col.Name)], schema.ColumnTTL)
		_, be, wanted := strings.Cut(want[wire.Quote(col.Name)], schema.ColumnTTL)
		switch {
		case is == be:
		case wanted:
			states = append(states, "MODIFY COLUMN "+col.String())
		default:
			states = append(states, "MODIFY COLUMN "+wire.Quote(col.Name)+" REMOVE TTL")
		}
	}
	if states != nil {
		m.step(t.Name+" states ttl", alter+" "+strings.Join(states, ", "))
	}
	return nil
}

// entries returns what weir_jobs does not have yet.
func (m *migrating) entries() (entries []schema.Entry) {
	for _, l := range m.layouts {
		for _, r := range l.Register() {
			have := m.inv.registered(l, r.Measure)
			if have == nil || have.Keep != r.Keep || have.Rollup != r.Rollup {
				entries = append(entries, r)
			}
		}
	}
	return entries
}
