package clickhouse

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// identity is the object under which weir_schema keeps the id of the database, a
// random text. Processes of one consumer group compare their ids to find out whether
// they count into the same database. If there are several rows, the earliest one
// is valid. Replicas share the id.
const identity = "database id"

// ID returns the id of the database, or "" if it has none yet.
func (c *Client) ID(ctx context.Context) (string, error) {
	var id string
	err := c.query(ctx, "read the database's id", idOf(c.cfg.Database), func(scan func(...any) error) error {
		return scan(&id)
	})
	return id, err
}

// MakeID returns the id of a database whose tables exist. If the tables are
// those of an older weir, which made no id, MakeID makes one.
func (c *Client) MakeID(ctx context.Context) (string, error) {
	id, err := c.ID(ctx)
	if id != "" || err != nil {
		return id, err
	}
	if err := c.exec(ctx, "give the database an id", c.newID(rand.Text(), nil), queryTimeout); err != nil {
		return "", err
	}
	return c.ID(ctx) // another process may have been earlier
}

// newID returns the statement that gives the database an id. ids are those of all shards, if
// it is one of several.
func (c *Client) newID(id string, ids []string) string {
	rows := "(" + text(identity) + ", " + text(id) + ")"
	if len(ids) > 0 {
		rows += ", (" + text(members) + ", " + text(strings.Join(ids, " ")) + ")"
	}
	return "INSERT INTO " + c.name("weir_schema") + " (object, sql) VALUES " + rows
}

// idOf returns the query for the id of a database.
func idOf(database string) string {
	return "SELECT sql FROM " + quote(database) + ".weir_schema WHERE object = " + text(identity) + " ORDER BY applied_at, sql LIMIT 1"
}

// databaseID asks one server for the id of its database: "" if it has none, or no such
// database.
func databaseID(ctx context.Context, conn driver.Conn, database string) (id string, err error) {
	err = madeYet(rowsOf(ctx, conn, idOf(database), func(scan func(...any) error) error { return scan(&id) }))
	return id, err
}

// madeYet returns an error of a query of weir_schema, or nil if there is no such table yet.
func madeYet(err error) error {
	var e *ch.Exception
	if errors.As(err, &e) && (e.Code == unknownTable || e.Code == unknownDatabase) {
		return nil
	}
	return err
}
