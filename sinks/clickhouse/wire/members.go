package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Members is the object under which weir_schema of each shard keeps the ids of all shards, in
// their order. The shard of a group depends on both, so weir counts only into the shards with
// which the database was made.
const Members = "shards"

const (
	OneOfSeveral = "the database is one of several shards"
	NamesShards  = "list all of them in clickhouse.shards"
)

// String returns the addresses for a message.
func (r *Replicas) String() string {
	var urls []string
	for _, s := range r.servers {
		urls = append(urls, s.url)
	}
	return strings.Join(urls, ", ")
}

// of says on which shard something is attempted, if there are several.
func (r *Replicas) of(what string) string {
	if r.shard == 0 {
		return what
	}
	return fmt.Sprintf("shard %d (%s): %s", r.shard, r, what)
}

// explain is explain for an error of a server of r. weir migrate makes no shard anew, so the remedy
// for a shard whose database is gone is another one.
func (r *Replicas) explain(what string, err error) error {
	err = Explain(r.of(what), err)
	var e *Error
	if r.shard > 0 && errors.As(err, &e) && e.Code == unknownDatabase {
		e.Action = "the rows of this shard are gone: " + restoreIt
	}
	return err
}

// Named is of for an error that does not say it yet.
func (r *Replicas) Named(err error) error {
	var e *Error
	if r.shard == 0 || !errors.As(err, &e) || strings.HasPrefix(e.What, "shard ") {
		return err
	}
	named := *e
	named.What = r.of(e.What)
	return &named
}

// membership is what a shard says of itself: its id and the ids of all shards; empty if it has
// none.
type membership struct {
	id  string
	all []string
}

// membership asks a shard. Of several answers, the earliest is valid, as with identity.
func (r *Replicas) membership(ctx context.Context) (m membership, err error) {
	sql := "SELECT object, argMin(sql, (applied_at, sql)) FROM " + Quote(r.database) + ".weir_schema WHERE object IN (" + Text(Identity) + ", " + Text(Members) + ") GROUP BY object"
	err = r.try(ctx, "read which shard it is", func(conn driver.Conn) error {
		return MadeYet(rowsOf(ctx, conn, sql, func(scan func(...any) error) error {
			var object, value string
			err := scan(&object, &value)
			if object == Identity {
				m.id = value
			} else {
				m.all = strings.Fields(value)
			}
			return err
		}))
	})
	return m, err
}

// Members returns the ids of the shards, new ones where they have none, and nil if there is only one
// shard. It refuses other shards than the database was made with, and another order. The home shard
// is set up last. So if it says nothing of the others, setting up was broken off, and goes on with
// the ids that the others say.
func (c *DB) Members(ctx context.Context) ([]string, error) {
	if !c.Sharded() {
		return nil, nil
	}
	const what = "look for the shards"
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	var have []membership
	var ids []string
	for _, r := range c.Shards {
		m, err := r.membership(ctx)
		if err != nil {
			return nil, err
		}
		have = append(have, m)
		switch {
		case m.all == nil && m.id != "":
			return nil, Refuse(r.of(what), "there is a database that is not one of several shards, and weir does not spread its rows", "choose another clickhouse.database")
		case m.all != nil && ids == nil:
			ids = m.all
		}
	}
	if ids == nil {
		for range c.Shards {
			ids = append(ids, rand.Text())
		}
		return ids, nil
	}
	if have[0].id == "" {
		if err := c.homeGone(ctx, what); err != nil {
			return nil, err
		}
	}
	if len(ids) != len(c.Shards) {
		return nil, Refuse(what, fmt.Sprintf("the database has %d shards, and clickhouse.shards has %d", len(ids), len(c.Shards)), shardsStay)
	}
	for i, m := range have {
		switch {
		case m.id == "" && have[0].all == nil: // it was not reached yet
		case m.id == "":
			return nil, Refuse(c.Shards[i].of(what), "it has no tables, and had: its rows are gone", restoreIt)
		case m.id != ids[i] || strings.Join(m.all, " ") != strings.Join(ids, " "):
			return nil, Refuse(c.Shards[i].of(what), "it is another shard than the one that was made in this place, or one of another database", shardsStay)
		}
	}
	return ids, nil
}

// homeGone refuses a home shard without tables if another shard has rows: nothing is counted before the
// home shard is set up.
func (c *DB) homeGone(ctx context.Context, what string) error {
	sql := "SELECT count() FROM (SELECT 1 FROM system.tables WHERE database = " + Text(c.Config.Database) + " AND name NOT IN ('weir_schema', 'weir_jobs') AND total_rows > 0 LIMIT 1)"
	for _, r := range c.Shards[1:] {
		var with uint64
		if err := (Shards{r}).Query(ctx, "look for rows", sql, func(scan func(...any) error) error { return scan(&with) }); err != nil {
			return err
		}
		if with > 0 {
			return Refuse(c.Shards[0].of(what), "it has no tables, and had, because "+r.String()+" has rows: its ledger and its rows are gone", restoreIt)
		}
	}
	return nil
}

const restoreIt = "restore it; or begin a new clickhouse.database, which counts the log again as far as Kafka keeps it"

const shardsStay = "the shards of a database and their order stay as they were when it was made: put them back, or choose another clickhouse.database"
