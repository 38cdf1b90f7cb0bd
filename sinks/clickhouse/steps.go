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
	for _, l := range layouts {
		if err := inv.meaning(l); err != nil {
			return nil, err
		}
		for i, v := range l.levels {
			m.rollups[v.table] = &rollupTable{l, fmt.Sprintf("%s AND rollup = %d", l.where(), v.seconds), inv.otherSource(l, i) || inv.comesBack(l, i)}
		}
	}
	for _, t := range tablesOf(layouts) {
		if err := m.table(&t); err != nil {
			return nil, err
		}
	}
	if inv.recorded[identity] == "" {
		m.steps = append(m.steps, Statement{Object: "weir_schema", SQL: c.newID("…", inv.ids), run: c.newID(cmp.Or(inv.id, rand.Text()), inv.ids), lacks: "the database has no id"})
	}
	for _, f := range functions() {
		if ours, there := inv.functions[f.name]; !there {
			m.need("there is no SQL function "+f.name, f.name, f.create(c))
		} else if !ours {
			m.step(f.name, f.create(c))
		}
	}
	for _, v := range c.views(inv, layouts) {
		if inv.tables[v.name].comment != v.comment {
			m.step(v.name, v.sql)
		}
	}
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

// need is step for what a job cannot do without, and says what it lacks until then.
func (m *migrating) need(lacks, object, sql string) {
	m.steps = append(m.steps, Statement{Object: object, SQL: sql, lacks: lacks})
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
	have, there := m.inv.tables[t.name]
	rollup := m.rollups[t.name] // nil: it is none
	if !there {
		// A rollup that was dropped is made anew, first of all in what is noted. The rounds go on.
		if rollup != nil && m.inv.recorded[t.name] != "" {
			m.forget(t.name, "done = 0, complete_until = fromUnixTimestamp64Milli(toInt64(0), 'UTC')", rollup)
		}
		m.need("there is no table "+t.name, t.name, t.create(m.Client))
		if rollup != nil {
			m.note(t.name, rollup, 0)
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
		if longer(ttl, t.ttl) {
			rollup.anew = true
			m.note(t.name, rollup, lives(ttl))
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
	alter := "ALTER TABLE " + m.name(t.name) + m.onCluster()
	for _, col := range missing {
		m.need("table "+t.name+" lacks column "+col.name, t.name+" "+col.name, alter+" ADD COLUMN IF NOT EXISTS "+col.String())
	}
	want := m.inv.wanted[t.name]
	switch {
	case ttl == want["TTL"]:
	case t.ttl == "":
		m.step(t.name+" ttl", alter+" REMOVE TTL")
	default:
		// Each part of a table says until when its rows live, so the server computes that anew, in the
		// background. Otherwise it removes the rows at the time of before, also if they are to live longer now.
		m.step(t.name+" ttl", alter+" MODIFY TTL "+t.ttl+" SETTINGS materialize_ttl_after_modify = 1")
	}
	if changes := t.tune(m.Client, have.as["SETTINGS"]); changes != nil {
		m.step(t.name+" settings", alter+" MODIFY SETTING "+strings.Join(changes, ", "))
	}
	// The server applies the TTLs of states to the rows that exist too, in the background, because keep_states holds
	// for these as well.
	var states []string
	for _, col := range t.columns {
		_, is, _ := strings.Cut(have.as[quote(col.name)], columnTTL)
		_, be, wanted := strings.Cut(want[quote(col.name)], columnTTL)
		switch {
		case is == be:
		case wanted:
			states = append(states, "MODIFY COLUMN "+col.String())
		default:
			states = append(states, "MODIFY COLUMN "+quote(col.name)+" REMOVE TTL")
		}
	}
	if states != nil {
		m.step(t.name+" states ttl", alter+" "+strings.Join(states, ", "))
	}
	return nil
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
