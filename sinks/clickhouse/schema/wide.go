package schema

import (
	"fmt"
	"strings"

	"weir/sinks/clickhouse/wire"
)

// On shards of a ClickHouse cluster, the views of each server read the tables of all shards, so
// that SQL asks any server and gets what one server alone would answer. Each table has a
// Distributed table beside it, which has no rows of its own, and the views are the same
// statements over these: with the same GROUP BY, and with FINAL where that does, because the
// rows of a group are on one shard.
//
// Without a cluster, servers do not know of each other. The views of each shard then answer for
// its groups, and weir itself asks all shards.

// SpreadViews returns the Distributed tables that views read; none if they read this shard's tables.
func SpreadViews(c *wire.DB, layouts []*Layout) (all []View) {
	if !c.Wide {
		return nil
	}
	for _, t := range Common() {
		switch t.Name {
		case LedgerTable, "weir_dead_letters", "weir_rollups", "weir_schema": // the last one for misread
			all = append(all, t.spread(c))
		}
	}
	for _, l := range layouts {
		for _, t := range l.Tables() {
			all = append(all, t.spread(c))
		}
	}
	return all
}

// spread returns the Distributed table of a table. It lists the columns, so that the statement
// changes when the table gets one, and weir migrate replaces it.
func (t *Table) spread(c *wire.DB) View {
	var columns []string
	for _, col := range t.Columns {
		if !strings.HasPrefix(col.extra, aliased) {
			col.extra, col.ttl = "", ""
		}
		columns = append(columns, "    "+col.String())
	}
	name := t.Name + wire.AllShards
	return View{Name: name, About: "The rows of all shards.", SQL: fmt.Sprintf("CREATE OR REPLACE TABLE %s%s\n(\n%s\n)\nENGINE = Distributed(%s, %s, %s)",
		c.Name(name), c.OnCluster(), strings.Join(columns, ",\n"), wire.Text(c.Config.Cluster), wire.Text(c.Config.Database), wire.Text(t.Name))}
}
