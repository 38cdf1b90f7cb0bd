package migrate

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// Check compares the tables of a job with what the job needs, and changes nothing. Notes are harmless
// differences, one sentence each. lags says that the tables have replicas.
func Check(ctx context.Context, c *wire.DB, j schema.Job) (l *schema.Layout, notes []string, lags bool, err error) {
	if l, err = j.Plan(); err != nil {
		return nil, nil, false, err
	}
	ids, err := c.Members(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	var home *Inventory
	for i, on := range c.Shards {
		inv, err := Take(ctx, c, on, l)
		if err != nil {
			return nil, nil, false, on.Named(err)
		}
		if i == 0 {
			inv.mark(l)
		}
		wanted, _ := j.Plan() // of a migration, which may mark rollups
		of, err := compareShard(ctx, c, on, inv, wanted)
		if err != nil {
			return nil, nil, false, on.Named(err)
		}
		if i == 0 {
			home, notes = inv, of
		}
	}
	notes = append(notes, misread(ctx, c, home, l, ids)...)
	return l, notes, home.tables[l.StateTable()].engine != "AggregatingMergeTree", nil
}

// compareShard compares a shard with what Migrate would make of it for a job. It returns an error if
// the job cannot write or be asked without that, and notes about the rest, one sentence each.
func compareShard(ctx context.Context, c *wire.DB, on *wire.Replicas, inv *Inventory, l *schema.Layout) (notes []string, err error) {
	what := "job " + l.Spec.Job
	if !inv.Database {
		return nil, wire.Refuse(what, "there is no database "+c.Config.Database, wire.MissingAction)
	}
	if err := checkRights(ctx, c, on); err != nil {
		return nil, err
	}
	steps, err := Steps(c, inv, []*schema.Layout{l})
	if err != nil {
		return nil, err
	}
	if news := inv.news(l); news != "" {
		return nil, wire.Refuse(what, news, wire.MissingAction)
	}
	notes = inv.notes(c, l)
	explained := len(notes) > 0 // why the views are others
	var changes []string
	for _, s := range steps {
		switch {
		case s.lacks != "":
			return nil, wire.Refuse(what, s.lacks, wire.MissingAction)
		case !explained || !strings.HasPrefix(s.SQL, schema.CreateView):
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
func (inv *Inventory) news(l *schema.Layout) string {
	if inv.registered(l, "") == nil {
		if newest := inv.newest(l); newest > 0 {
			return fmt.Sprintf("version %d is new: the newest with tables is %d", l.Spec.Version, newest)
		}
		return "it is new"
	}
	for _, m := range l.Measures {
		if inv.registered(l, m.Name) != nil {
			continue
		}
		if gone := inv.dropped(l); gone != nil {
			return fmt.Sprintf("measure %s is new, and %s is gone: a renamed measure begins empty", m.Name, gone[0].Measure)
		}
		return "measure " + m.Name + " is new"
	}
	for _, v := range l.Levels {
		if _, there := inv.tables[v.Table]; !there && inv.recorded[v.Table] == "" {
			return "rollup " + schema.Span(v.Window) + " is new"
		}
	}
	return ""
}

// dropped returns the measures of the job's version that the database has and the
// configuration does not.
func (inv *Inventory) dropped(l *schema.Layout) (gone []*schema.Entry) {
	for i := range inv.jobs {
		r := &inv.jobs[i]
		if r.Job == l.Spec.Job && int(r.Version) == l.Spec.Version && r.Measure != "" &&
			!slices.ContainsFunc(l.Measures, func(m schema.Measure) bool { return m.Name == r.Measure }) {
			gone = append(gone, r)
		}
	}
	return gone
}

var levelTable = regexp.MustCompile(`^([1-9][0-9]*[smhd])_rollup$`)

// notes returns what stays different between the database and the job's configuration,
// one sentence each.
func (inv *Inventory) notes(c *wire.DB, l *schema.Layout) (notes []string) {
	note := func(format string, args ...any) {
		notes = append(notes, "job "+l.Spec.Job+": "+fmt.Sprintf(format, args...))
	}
	if newest := inv.newest(l); newest > l.Spec.Version {
		note("%s is %d, and the database has version %d, which the views show: this process counts into the tables of version %[2]d, which no view shows; set version to %[3]d to go on with that one",
			l.Key("version"), l.Spec.Version, newest)
	}
	for _, gone := range inv.dropped(l) {
		note("measure %s is no longer in %s: its values stay, and new windows lack it; if it comes back, the windows in between will lack it too", gone.Measure, l.Key("measures"))
	}
	first, shown := l.Levels[0].View, l.Level(c, 0).ViewColumns()
	for _, name := range slices.Sorted(maps.Keys(inv.columns[first])) {
		if inv.newest(l) == l.Spec.Version && !slices.ContainsFunc(shown, func(col schema.Column) bool { return col.Name == name }) {
			note("view %s shows %s, which this process does not count: run `weir migrate` if no process counts it; until then the views read rows instead of the rollups that this process makes", first, name)
			break
		}
	}
	var names []string
	for _, v := range l.Levels {
		names = append(names, v.Table)
	}
	for _, name := range slices.Sorted(maps.Keys(inv.tables)) {
		tail, ours := strings.CutPrefix(name, l.Prefix+"_")
		if m := levelTable.FindStringSubmatch(tail); ours && m != nil && !slices.Contains(names, name) {
			note("rollup %s is no longer in %s: the table %s and the view %s_%[1]s stay and get nothing new; drop them when nothing reads them", m[1], l.Key("rollups"), name, l.Spec.Job)
		}
	}
	return notes
}

// checkRights returns an error if the account may not write, so that this is known
// before the first flush.
func checkRights(ctx context.Context, c *wire.DB, on *wire.Replicas) error {
	const what = "check the account's rights"
	granted := uint8(1)
	err := wire.Shards{on}.Query(ctx, what, "CHECK GRANT "+writes(c), func(scan func(...any) error) error { return scan(&granted) })
	if err == nil && granted == 0 {
		return wire.Refuse(what, "SELECT or INSERT on "+c.Config.Database+", or ALTER DELETE on its ledger, is not granted", wire.RightsAction)
	}
	return err
}

// misread compares the shards of remote_servers, in ClickHouse's configuration, with clickhouse.shards, whose databases have
// these ids. It asks one server of each shard through a Distributed table, as the views do: an account that may read
// the database may not use the function cluster.
func misread(ctx context.Context, c *wire.DB, inv *Inventory, l *schema.Layout, ids []string) (notes []string) {
	const all = "weir_schema" + wire.AllShards
	if _, there := inv.tables[all]; !c.Wide || !there { // weir migrate of this version makes it
		return nil
	}
	note := func(format string, args ...any) {
		notes = append(notes, "job "+l.Spec.Job+": "+fmt.Sprintf(format, args...))
	}
	sql := fmt.Sprintf("SELECT shardNum(), argMin(sql, (applied_at, sql)) FROM %s WHERE object = %s GROUP BY 1 ORDER BY 1", c.Name(all), wire.Text(wire.Identity))
	for i, on := range c.Shards {
		var read []string
		err := wire.Shards{on}.Query(ctx, "ask which shards the cluster has", sql, func(scan func(...any) error) error {
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
			note("shard %d of %d cannot ask cluster %s, which the views read: %v; until it can, its views, dashboards and weir_audit fail", i+1, len(ids), c.Config.Cluster, err)
		case !once:
			note("for shard %d, cluster %s is the shards %s, and clickhouse.shards has %d: until its remote_servers list each of these once, its views, dashboards and weir_audit are wrong", i+1, c.Config.Cluster, strings.Join(read, ", "), len(ids))
		}
	}
	return notes
}
