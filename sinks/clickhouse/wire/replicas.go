package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Replicas are servers that have the same rows: of tables that ClickHouse replicates, or
// one server at several addresses. One of them is asked, until a request to it fails; then
// the next one is, in a circle. So all requests of a process go to one replica for as long
// as it answers, and find there what the process has written.
//
// Which replica is asked decides no number: a write that failed on one and is repeated on
// another merges with what is left of the first.
type Replicas struct {
	database string
	shard    int // of several, from 1; 0: there is only one
	log      *slog.Logger
	servers  []*server
	at       atomic.Int64 // which one is asked

	questions chan struct{} // has an element for each question that is under way

	mu sync.Mutex
	id string // of the database, as the first server that has one says
}

// answered is an error that came after a part of the answer. A request that failed with it
// is not repeated on another server.
type answered struct{ error }

func (a answered) Unwrap() error { return a.error }

// try calls f with the server that is asked, and after an error with the others, until f
// succeeds. If there are no others, it tries once more when the connection was closed before the
// answer was whole: a server, or a load balancer before it, may take a connection for idle while a
// request is under way. f may run several times: what it writes merges. If each server has failed,
// try returns the error of the last one, or one that another attempt may mend.
func (r *Replicas) try(ctx context.Context, what string, f func(driver.Conn) error) (err error) {
	for range r.servers {
		e := r.once(ctx, f)
		if len(r.servers) == 1 && broken(e) && ctx.Err() == nil && !errors.As(e, new(answered)) {
			r.log.Debug("clickhouse: the connection broke off; the same is asked once more", "what", what, "error", e)
			e = r.once(ctx, f)
		}
		if e == nil {
			return nil
		}
		var theirs *Error
		if explained := r.explain(what, e); err == nil || errors.As(explained, &theirs) && !theirs.Fatal() {
			err = explained
		}
		if ctx.Err() != nil || errors.As(e, new(answered)) || mistaken(e) {
			break
		}
	}
	return err
}

// query runs a SELECT, and calls row for each row of the answer.
func (r *Replicas) query(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	return r.try(ctx, what, func(conn driver.Conn) error { return rowsOf(ctx, conn, sql, row) })
}

// question is query for what a person asks. It waits while questionsMost others are under way.
func (r *Replicas) question(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	select {
	case r.questions <- struct{}{}:
	case <-ctx.Done():
		return r.explain(what, fmt.Errorf("%d other questions are not answered yet: %w", QuestionsMost, ctx.Err()))
	}
	defer func() { <-r.questions }()
	return r.query(ch.Context(ctx, ch.WithSettings(whileAwaited)), what, sql, row)
}

// whileAwaited are settings with which the server ends a question when weir closes its connection.
// Without them the server goes on to the end, and ever more questions that were given up run at a
// time. The server does this only for statements that may write nothing.
var whileAwaited = ch.Settings{"readonly": 2, "cancel_http_readonly_queries_on_client_close": 1}

// once calls f with the server that is asked. After an error the next one is asked from
// then on.
func (r *Replicas) once(ctx context.Context, f func(driver.Conn) error) error {
	at := r.at.Load()
	s := r.servers[at]
	err := r.same(ctx, s)
	if err == nil {
		err = f(s.conn)
	}
	if err == nil || len(r.servers) == 1 || errors.Is(ctx.Err(), context.Canceled) || mistaken(err) {
		return err
	}
	if next := (at + 1) % int64(len(r.servers)); r.at.CompareAndSwap(at, next) {
		r.log.Warn("clickhouse: a replica fails; the next one is asked", "replica", s.url, "next", r.servers[next].url, "error", Explain("ask", err))
	}
	return err
}

// ping checks that a server answers, and is a replica.
func (r *Replicas) ping(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := s.conn.Ping(ctx); err != nil {
		return err
	}
	return r.same(ctx, s)
}

// same returns an error if a server has another database than the others, before it is
// asked for the first time: weir must not spread what it counts over servers that do not
// replicate each other. Replicas share the id of the database. It cannot tell before the
// database is made.
func (r *Replicas) same(ctx context.Context, s *server) error {
	if len(r.servers) == 1 || s.fits.Load() {
		return nil
	}
	id, err := databaseID(ctx, s.conn, r.database)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.id == "":
		r.id = id
	case id == "":
		return fmt.Errorf("%s has no tables of weir in its database %s, and other replicas have", s.url, r.database)
	case id != r.id:
		return Refuse("replica "+s.url, "its database "+r.database+" is another one than that of the other replicas", "name only servers that are replicas of each other")
	}
	s.fits.Store(id != "")
	return nil
}

// CheckSame returns an error if a server that answers has another database than the others. A server
// that does not answer now is checked before it is asked.
func (r *Replicas) CheckSame(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for _, s := range r.servers {
		var e *Error
		if err := r.same(ctx, s); errors.As(Explain("look for the database of replica "+s.url, err), &e) && e.Fatal() {
			return e
		}
	}
	return nil
}

// Identity is the object under which weir_schema keeps the id of the database, a
// random text. Processes of one consumer group compare their ids to find out whether
// they count into the same database. If there are several rows, the earliest one
// is valid. Replicas share the id.
const Identity = "database id"

// ID returns the id of the database.
func (c *DB) ID(ctx context.Context) (id string, err error) {
	const what = "read the database's id"
	err = c.Query(ctx, what, idOf(c.Config.Database), func(scan func(...any) error) error { return scan(&id) })
	if err == nil && id == "" {
		err = Refuse(what, "it has none", MissingAction)
	}
	return id, err
}

// idOf returns the query for the id of a database.
func idOf(database string) string {
	return "SELECT sql FROM " + Quote(database) + ".weir_schema WHERE object = " + Text(Identity) + " ORDER BY applied_at, sql LIMIT 1"
}

// databaseID asks one server for the id of its database: "" if it has none, or no such
// database.
func databaseID(ctx context.Context, conn driver.Conn, database string) (id string, err error) {
	err = MadeYet(rowsOf(ctx, conn, idOf(database), func(scan func(...any) error) error { return scan(&id) }))
	return id, err
}

// MadeYet returns an error of a query of weir_schema, or nil if there is no such table yet.
func MadeYet(err error) error {
	var e *ch.Exception
	if errors.As(err, &e) && (e.Code == unknownTable || e.Code == unknownDatabase) {
		return nil
	}
	return err
}
