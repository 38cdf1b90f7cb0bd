package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/sinks/clickhouse/native"
)

// Insert runs one INSERT statement on a shard, with a Native block of n rows, and returns how many bytes
// were sent. When it returns, nothing reads the rows or uses the writer any more.
func Insert[R any](ctx context.Context, c *DB, on *Replicas, table string, w *native.Writer[R], columns []native.Column[R], n int, rows iter.Seq[R]) (sent int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Config.InsertTimeout)
	defer cancel()
	settings := c.writeSettings()
	settings["max_threads"] = 1 // several only wait for each other: a twentieth of the CPU time of a small insert
	ctx = ch.Context(ctx, ch.WithSettings(settings))
	var names []string
	for _, column := range columns {
		names = append(names, Quote(column.Name))
	}
	r := &body{write: func(to io.Writer) (int, error) { return w.Write(to, columns, n, rows) }}
	err = on.once(ctx, func(conn driver.Conn) error {
		return conn.InsertFormat(ctx, "Native", "INSERT INTO "+c.Name(table)+" ("+strings.Join(names, ", ")+")", r)
	})
	if whole := r.end(); err == nil && !whole {
		return r.sent, fmt.Errorf("clickhouse: insert into %s: the server acknowledged rows that it had not read", table)
	}
	return r.sent, on.explain("insert into "+table, err)
}

// A body is the body of a request. The request has it written in a goroutine of its own, perhaps still after
// the request has failed; end waits for that.
type body struct {
	write func(to io.Writer) (sent int, err error)
	over  atomic.Bool

	mu    sync.Mutex // held while it is written
	sent  int
	whole bool // all is written
}

var errOver = errors.New("the request is over")

// WriteTo implements io.WriterTo, which net/http and the compression of clickhouse-go prefer. Read would be for
// HTTP/2, which clickhouse-go does not speak.
func (r *body) WriteTo(to io.Writer) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() {
		return 0, errOver
	}
	var err error
	r.sent, err = r.write(guard{r, to})
	r.whole = err == nil
	return int64(r.sent), err
}

func (r *body) Read([]byte) (int, error) { return 0, errors.New("the body can only be written") }

// end ends the writing, and reports whether all was written. The request's connection is closed if it is not.
func (r *body) end() bool {
	r.over.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole
}

// A guard writes until the request is over.
type guard struct {
	r  *body
	to io.Writer
}

func (g guard) Write(p []byte) (int, error) {
	if g.r.over.Load() {
		return 0, errOver
	}
	return g.to.Write(p)
}
