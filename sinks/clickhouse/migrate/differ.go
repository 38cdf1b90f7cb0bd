package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// compare returns the columns of measures that a table lacks. It is an error if the table
// differs from what Migrate made in anything that Migrate does not change.
func (inv *Inventory) compare(t *schema.Table) (missing []schema.Column, err error) {
	have, want := inv.tables[t.Name], inv.wanted[t.Name]
	differs := func(format string, args ...any) error {
		return wire.Refuse("table "+t.Name, fmt.Sprintf(format, args...), wire.SchemaAction)
	}
	if !strings.HasSuffix(have.engine, t.Engine) {
		return nil, differs("its engine is %s, weir made it %s", have.engine, t.Engine)
	}
	for _, col := range t.Columns {
		if _, there := have.as[wire.Quote(col.Name)]; !there && t.Addable(col) {
			missing = append(missing, col)
			delete(want, wire.Quote(col.Name))
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
func (inv *Inventory) meaning(l *schema.Layout) error {
	what := fmt.Sprintf("job %s, version %d", l.Spec.Job, l.Spec.Version)
	if r := inv.registered(l, ""); r != nil {
		if changes := window.Difference(r.Meaning, l.Spec.Meaning()); changes != nil {
			return wire.Refuse(what, changed(l, "", changes), again(l))
		}
		if r.Topic != l.Topic {
			return wire.Refuse(what, changed(l, "", []window.Change{{Key: "topic", Was: r.Topic, Is: l.Topic}}), again(l))
		}
	}
	for i := range l.Measures {
		m := &l.Measures[i]
		r := inv.registered(l, m.Name)
		if r == nil {
			continue
		}
		if changes := window.Difference(r.Meaning, m.Meaning()); changes != nil {
			return wire.Refuse(what, changed(l, fmt.Sprintf("measures[%d] (%s).", i, m.Name), changes), again(l)+"; or give the measure another name, which then begins empty")
		}
	}
	return nil
}

// changed names the keys of the job's configuration that have changed.
func changed(l *schema.Layout, at string, changes []window.Change) string {
	var texts []string
	for _, c := range changes {
		c.Key = l.Key(at + c.Key)
		texts = append(texts, c.String())
	}
	return strings.Join(texts, "; ")
}

// again returns the remedy for a job with another meaning, and what it costs.
func again(l *schema.Layout) string {
	return fmt.Sprintf("put it back, or raise %s to %d, which begins new tables and counts the log again as far as Kafka keeps it; the tables of version %d stay", l.Key("version"), l.Spec.Version+1, l.Spec.Version)
}

// Others returns the jobs that are in the database and not in the list, with their
// newest version, sorted. They may belong to another configuration.
func Others(ctx context.Context, c *wire.DB, jobs []schema.Job) (others []string, err error) {
	inv, err := Take(ctx, c, c.Shards[0])
	if err != nil {
		return nil, err
	}
	for _, r := range inv.audited(nil) {
		if !slices.ContainsFunc(jobs, func(j schema.Job) bool { return j.Spec.Job == r.Job }) {
			others = append(others, fmt.Sprintf("%s (version %d)", r.Job, r.Version))
		}
	}
	return others, nil
}
