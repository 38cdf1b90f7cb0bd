package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
)

// forgetProgress returns the statement that changes what is noted in weir_rollups.
func forgetProgress(c *wire.DB, to, where string) string {
	return "ALTER TABLE " + c.Name("weir_rollups") + c.OnCluster() + " UPDATE " + to + " WHERE " + where + " SETTINGS mutations_sync = 2"
}

// wholeSince follows the name of a rollup's table in the record of a statement that says since when the
// rollup is whole.
const wholeSince = " whole since"

// mark sets in the layout since when its rollups are whole.
func (inv *Inventory) mark(l *schema.Layout) {
	for i := range l.Levels {
		l.Levels[i].WholeSince = inv.whole(l.Levels[i].Table)
	}
	l.Levels[0].WholeSince = max(l.Levels[0].WholeSince, inv.whole(l.StateTable())) // which has its states
}

// wholeFrom returns since when a rollup will be whole if it is made anew now. It is made from state rows or rows of the
// next shorter rollup, the second rollup from both, and from its own rows, which have lived for keep seconds so far. The
// state table, whose rows live longer from now on, is whole since the same time. There is a margin, because the making
// may be late.
func (inv *Inventory) wholeFrom(l *schema.Layout, table string, keep, now int64) int64 {
	r := inv.registered(l, "")
	if r == nil {
		return 0
	}
	living := func(keep, whole int64) int64 { return max(now-schema.Unexpired(keep), whole, 0) }
	since := living(int64(r.Keep), r.Raised)
	i := slices.IndexFunc(l.Levels, func(v schema.Level) bool { return v.Table == table })
	if i > 1 {
		since = 0
	}
	if i > 0 {
		since = max(since, living(inv.lives(&l.Levels[i-1]), inv.whole(l.Levels[i-1].Table)))
	}
	if keep > 0 {
		since = min(since, living(keep, inv.whole(table)))
	}
	if since <= r.Created { // nothing of the job had expired yet
		return 0
	}
	return since
}

// lives returns for how many seconds the rows of a rollup live so far, or will, if it is new.
func (inv *Inventory) lives(v *schema.Level) int64 {
	if t, ok := inv.tables[v.Table]; ok {
		return lives(t.as["TTL"])
	}
	return cmp.Or(int64(v.Keep/time.Second), math.MaxInt64)
}

// returns reports whether a rollup was left out of the list of before, and has nothing of that time.
func (inv *Inventory) returns(l *schema.Layout, table string) bool {
	ranges := inv.recorded[l.Spec.Job+"_range"]
	return ranges != "" && inv.newest(l) <= l.Spec.Version && !strings.Contains(ranges, table)
}

// otherSource reports whether a level is made from other rows than when its view was made:
// from a rollup that is new to the list, or from a shorter one because one was removed. first says that
// it was the first one until now, which has no states.
func (inv *Inventory) otherSource(l *schema.Layout, i int) (other, first bool) {
	v := l.Levels[i]
	view := inv.recorded[v.View]
	if inv.newest(l) > l.Spec.Version || !strings.Contains(view, v.Table) { // it shows another version
		return false, false
	}
	var was, now string
	if i > 0 {
		now = l.Levels[i-1].Table
	}
	longest := int64(0)
	for _, m := range regexp.MustCompile(l.RollupsIn()+`(?:`+wire.AllShards+`)?\b`).FindAllStringSubmatch(view, -1) {
		if seconds := secondsOf(m[1]); seconds < v.Seconds && seconds > longest {
			was, longest = l.Prefix+m[1], seconds
		}
	}
	return was != now, was == "" && now != ""
}

// comesBack reports whether a measure of the job was counted before and is not in the view of a level.
// While it was away, windows were made without what the rows hold of it.
func (inv *Inventory) comesBack(l *schema.Layout, i int) bool {
	shown := inv.columns[l.Levels[i].View]
	if len(shown) == 0 || inv.newest(l) > l.Spec.Version {
		return false
	}
	for m := range l.Counted {
		if inv.registered(l, m.Name) != nil && !slices.ContainsFunc(m.ViewColumns(""), func(c schema.Column) bool { _, there := shown[c.Name]; return there }) {
			return true
		}
	}
	return false
}

// Views returns the views as they should be. It leaves out the views of a job whose
// database has a newer version: they show that one.
func Views(c *wire.DB, inv *Inventory, layouts []*schema.Layout) []schema.View {
	all := schema.SpreadViews(c, layouts)
	for _, l := range layouts {
		inv.mark(l)
		if inv.newest(l) <= l.Spec.Version {
			all = slices.Concat(all, l.Views(c), questions.Views(l, c))
		}
	}
	if !c.Sharded() || c.Wide { // a shard alone has a part of the rows, and the ledger of all or none
		all = append(all, verify.Views(c, inv.JobsOf(layouts), verify.Quiet)...)
	}
	for i := range all {
		all[i].Sign()
	}
	return all
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

// enter returns the statement that inserts rows into weir_jobs.
func enter(c *wire.DB, rows []schema.Entry) string {
	var values []string
	for _, r := range rows {
		groups := make([]string, len(r.Groups))
		for i, g := range r.Groups {
			groups[i] = wire.Text(g)
		}
		values = append(values, fmt.Sprintf("\n(%s, %d, %s, %s, %s, %d, [%s], %s, %d, %d)",
			wire.Text(r.Job), r.Version, wire.Text(r.Measure), wire.Text(r.Meaning), wire.Text(r.Topic), r.Keep, strings.Join(groups, ", "), wire.Text(r.Rollup), r.Seconds, r.Bits))
	}
	return "INSERT INTO " + c.Name("weir_jobs") + " (job, version, measure, meaning, topic, keep, groups, rollup, seconds, bits) VALUES" + strings.Join(values, ",")
}

// audited returns the jobs that the audit view covers: the newest version of every job.
// A job may be registered by another configuration, or the layouts are about to register it.
func (inv *Inventory) audited(layouts []*schema.Layout) []schema.Entry {
	newest := map[string]schema.Entry{}
	add := func(r schema.Entry) {
		if old, ok := newest[r.Job]; r.Measure == "" && (!ok || old.Version <= r.Version) {
			newest[r.Job] = r
		}
	}
	for _, r := range inv.jobs {
		add(r)
	}
	for _, l := range layouts {
		for _, r := range l.Register() {
			add(r)
		}
	}
	var all []schema.Entry
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		all = append(all, newest[name])
	}
	return all
}

// JobsOf returns the jobs that the audit views cover.
func (inv *Inventory) JobsOf(layouts []*schema.Layout) (all []verify.Job) {
	for _, r := range inv.audited(layouts) {
		all = append(all, verify.Job{Entry: r, Rollups: inv.lengths(r, layouts)})
	}
	return all
}

// newIdentity returns the statement that gives the database an id. ids are the ids of all shards,
// if it is one of several.
func newIdentity(c *wire.DB, id string, ids []string) string {
	rows := "(" + wire.Text(wire.Identity) + ", " + wire.Text(id) + ")"
	if len(ids) > 0 {
		rows += ", (" + wire.Text(wire.Members) + ", " + wire.Text(strings.Join(ids, " ")) + ")"
	}
	return "INSERT INTO " + c.Name("weir_schema") + " (object, sql) VALUES " + rows
}
