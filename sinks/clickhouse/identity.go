package clickhouse

import (
	"context"
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

// ID returns the id of the database.
func (c *Client) ID(ctx context.Context) (id string, err error) {
	const what = "read the database's id"
	err = c.query(ctx, what, idOf(c.cfg.Database), func(scan func(...any) error) error { return scan(&id) })
	if err == nil && id == "" {
		err = refuse(what, "it has none", missingAction)
	}
	return id, err
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
