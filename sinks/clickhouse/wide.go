package clickhouse

import (
	"fmt"
	"strings"
)

// On shards of a ClickHouse cluster, the views of each server read the tables of all shards, so
// that SQL asks any server and gets what one server alone would answer. Each table has a
// Distributed table beside it, which has no rows of its own, and the views are the same
// statements over these: with the same GROUP BY, and with FINAL where that does, because the
// rows of a group are on one shard.
//
// Without a cluster, servers do not know of each other. The views of each shard then answer for
// its groups, and weir itself asks all shards.

// AllShards ends the name of a Distributed table.
const AllShards = "_all"

// read returns the name of a table for a statement that reads it, quoted: on all shards, or on
// this one.
func (c *Client) read(table string, wide bool) string {
	if wide {
		table += AllShards
	}
	return c.name(table)
}

// spread returns the Distributed tables that views read; none if they read this shard's tables.
func (c *Client) spread(layouts []*layout) (all []view) {
	if !c.wide {
		return nil
	}
	for _, t := range common() {
		switch t.name {
		case LedgerTable, "weir_dead_letters", "weir_rollups", "weir_schema": // the last one for misread
			all = append(all, t.spread(c))
		}
	}
	for _, l := range layouts {
		for _, t := range l.tables() {
			all = append(all, t.spread(c))
		}
	}
	return all
}

// spread returns the Distributed table of a table. It lists the columns, so that the statement
// changes when the table gets one, and weir migrate replaces it.
func (t *table) spread(c *Client) view {
	var columns []string
	for _, col := range t.columns {
		if !strings.HasPrefix(col.extra, aliased) {
			col.extra, col.ttl = "", ""
		}
		columns = append(columns, "    "+col.String())
	}
	name := t.name + AllShards
	return view{name: name, sql: fmt.Sprintf("CREATE OR REPLACE TABLE %s%s\n(\n%s\n)\nENGINE = Distributed(%s, %s, %s)",
		c.name(name), c.onCluster(), strings.Join(columns, ",\n"), text(c.cfg.Cluster), text(c.cfg.Database), text(t.name))}
}
