package clickhouse

import (
	"context"
	"crypto/rand"
)

// identity is the object under which weir_schema keeps the id of the database:
// a random text that no other database has, by which processes that share a
// consumer group know whether they count into the same one. Of several rows the
// earliest counts; replicas have it in common.
const identity = "database id"

// ID is the id of the database, or empty if it has none yet.
func (c *Client) ID(ctx context.Context) (string, error) {
	var id string
	err := c.query(ctx, "read the database's id", "SELECT sql FROM "+c.name("weir_schema")+" WHERE object = "+text(identity)+" ORDER BY applied_at, sql LIMIT 1", func(scan func(...any) error) error {
		return scan(&id)
	})
	return id, err
}

// MakeID is ID for a database whose tables are there: one that weir migrate has
// not given an id, because it was an older weir's, gets one.
func (c *Client) MakeID(ctx context.Context) (string, error) {
	id, err := c.ID(ctx)
	if id != "" || err != nil {
		return id, err
	}
	if err := c.exec(ctx, "give the database an id", c.newID(rand.Text()), queryTimeout); err != nil {
		return "", err
	}
	return c.ID(ctx) // another process may have been earlier
}

// newID is the statement that gives the database an id.
func (c *Client) newID(id string) string {
	return "INSERT INTO " + c.name("weir_schema") + " (object, sql) VALUES (" + text(identity) + ", " + text(id) + ")"
}
