package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// A Config says how to reach ClickHouse.
type Config struct {
	// URLs are the HTTP interfaces of the server, or of servers that are replicas of each
	// other: http://host:8123 or https://host:8443, a path allowed. See replicas.go.
	URLs []string
	// Shards, given instead of URLs, are several such lists, one for each shard: see shards.go.
	Shards [][]string

	Database string // the database of every table and view; letters, digits and _

	User     string // "default" if empty
	Password string
	TLS      *tls.Config // for https; nil means the system's certificate authorities

	// Cluster, if set, makes every object ON CLUSTER with Replicated engines,
	// and every insert wait for a quorum of the replicas.
	Cluster string

	// InsertTimeout bounds one insert; 30 s if zero. After it the result is
	// unknown and the caller sends the same or a later state again.
	InsertTimeout time.Duration

	// Fsync makes tables that acknowledge an insert when it is on the disk.
	Fsync bool

	Log *slog.Logger // slog.Default if nil
}

// Deadlines of everything but inserts of changes.
const (
	dialTimeout  = 10 * time.Second
	QueryTimeout = 60 * time.Second
)

// connectionsMost is how many connections there are to a server at most. Questions of people take half
// of them, however many there are: what the jobs write never waits for questions.
const (
	connectionsMost = 16
	QuestionsMost   = connectionsMost / 2
)

// connLifetime is how long a connection is used before a new one replaces it.
var connLifetime = time.Minute

// A DB is the connections to one database. Use Dial.
type DB struct {
	Config Config
	Shards Shards // the first one is the home shard
	Wide   bool   // views read the tables of all shards: see wide.go
	log    *slog.Logger

	Uptimes Uptimes
}

// Identifier matches the names of databases, tables and columns that need no quotes.
var Identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Dial checks the configuration and prepares the connections. It does not connect:
// see Ping.
func Dial(cfg Config) (*DB, error) {
	switch {
	case (len(cfg.URLs) == 0) == (len(cfg.Shards) == 0):
		return nil, errors.New("clickhouse: want urls, or shards")
	case len(cfg.Shards) == 1:
		return nil, errors.New("clickhouse: one shard: want its urls")
	case !Identifier.MatchString(cfg.Database):
		return nil, fmt.Errorf("clickhouse: database %q: want letters, digits and _, no digit first", cfg.Database)
	case strings.ContainsAny(cfg.Cluster, "'\\\n"):
		return nil, fmt.Errorf("clickhouse: cluster %q: quotes and backslashes are not allowed", cfg.Cluster)
	case cfg.InsertTimeout < 0:
		return nil, fmt.Errorf("clickhouse: insert timeout %v is negative", cfg.InsertTimeout)
	}
	if cfg.InsertTimeout == 0 {
		cfg.InsertTimeout = 30 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	c := &DB{Config: cfg, log: cfg.Log, Wide: len(cfg.Shards) > 1 && cfg.Cluster != ""}
	lists := cfg.Shards
	if len(lists) == 0 {
		lists = [][]string{cfg.URLs}
	}
	for i, urls := range lists {
		r := &Replicas{database: cfg.Database, log: cfg.Log, questions: make(chan struct{}, QuestionsMost)}
		if len(lists) > 1 {
			r.shard = i + 1
		}
		c.Shards = append(c.Shards, r)
		for _, u := range urls {
			s, err := newServer(u, &cfg)
			if err != nil {
				return nil, errors.Join(err, c.Close())
			}
			r.servers = append(r.servers, s)
		}
		if len(urls) == 0 {
			return nil, errors.Join(errors.New("clickhouse: a shard without urls"), c.Close())
		}
	}
	return c, nil
}

// A server is a connection pool to one address.
type server struct {
	url  string
	conn driver.Conn
	fits atomic.Bool // it has the database of the other replicas; only if there are several
}

func newServer(address string, cfg *Config) (*server, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("clickhouse: url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("clickhouse: url %q: want http://host:port or https://host:port", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("clickhouse: url %q: user and password do not belong there", u.Redacted())
	case u.Scheme == "http" && cfg.TLS != nil:
		return nil, errors.New("clickhouse: TLS is configured, but the url says http")
	}
	encryption := cfg.TLS
	if u.Scheme == "https" && encryption == nil {
		encryption = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	host := u.Host
	if u.Port() == "" {
		host += map[string]string{"http": ":8123", "https": ":8443"}[u.Scheme]
	}
	opt := &ch.Options{
		Protocol:    ch.HTTP,
		Addr:        []string{host},
		HttpUrlPath: u.Path,
		Auth:        ch.Auth{Username: cfg.User, Password: cfg.Password},
		TLS:         encryption,
		DialTimeout: dialTimeout,
		// Every call has a deadline of its own; this one is never reached otherwise.
		ReadTimeout:  max(cfg.InsertTimeout, 10*time.Minute) + time.Second,
		MaxOpenConns: connectionsMost,
		MaxIdleConns: 4,
		// This also bounds how long an idle connection is kept. If the server's first
		// answer is an error, the library forgets the connection without closing it,
		// and by default that stays open for an hour.
		ConnMaxLifetime: connLifetime,
		Settings:        wholeAnswers(),
		TransportFunc:   func(t *http.Transport) (http.RoundTripper, error) { return answers{t}, nil },
	}
	opt.ClientInfo.Products = append(opt.ClientInfo.Products, struct{ Name, Version string }{"weir", "1"})
	conn, err := ch.Open(opt)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	return &server{url: address, conn: conn}, nil
}

// wholeAnswers returns the settings of every statement: it does all that it says, or fails. By the
// profile of its account a statement that reaches a limit may end without an error, with a part of
// the groups or rows; shards that do not answer may be left out; an answer may be one of before, or
// begin with status 200 before the statement has succeeded; and rows may say that a statement ON CLUSTER failed.
// Rollups would then lack groups, and an audit would miss rows that are there.
func wholeAnswers() ch.Settings {
	s := ch.Settings{"wait_end_of_query": 1, "send_progress_in_http_headers": 0, "distributed_ddl_output_mode": "none", "limit": 0, "offset": 0, "use_query_cache": 0, "skip_unavailable_shards": 0,
		// weir_audit is one view of all jobs, and has 800 KB for 64 of them.
		"max_query_size": 64 << 20, "max_ast_elements": 10_000_000, "max_expanded_ast_elements": 10_000_000}
	for _, mode := range OverflowModes {
		s[mode] = "throw"
	}
	return s
}

// OverflowModes are the settings that say what a statement does that reaches a limit.
var OverflowModes = []string{"read_overflow_mode", "read_overflow_mode_leaf", "group_by_overflow_mode", "sort_overflow_mode", "result_overflow_mode", "timeout_overflow_mode",
	"timeout_overflow_mode_leaf", "set_overflow_mode", "join_overflow_mode", "distinct_overflow_mode", "transfer_overflow_mode"}

// answers takes an answer for a good one only if all of it says so. It has status 200, the id of the query,
// which ClickHouse puts into every answer, and no code of an exception. Its body is whole, and empty
// unless it has rows in a format.
//
//   - A page of a load balancer or a login may have status 200. It must not acknowledge an insert.
//   - ClickHouse may send status 200 before it knows how a statement ends. The exception is then in
//     a header or in the body, and the client library looks for neither after a statement without rows.
type answers struct{ http.RoundTripper }

var errOtherAnswer = errors.New("the answer is not ClickHouse's, it has no X-ClickHouse-Query-Id: look at the url, and at the proxy or load balancer before the server")

func (a answers) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := a.RoundTripper.RoundTrip(q)
	switch {
	case err != nil || r.StatusCode != http.StatusOK:
		return r, err
	case r.Header.Get("X-ClickHouse-Query-Id") == "":
		_ = r.Body.Close()
		return nil, errOtherAnswer
	case r.Header.Get("X-ClickHouse-Exception-Code") != "":
		r.StatusCode = http.StatusInternalServerError // the library then reads the exception
	case r.Header.Get("X-ClickHouse-Format") == "":
		text, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
		_ = r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("the answer broke off: %w", err)
		}
		if len(text) > 0 {
			r.StatusCode = http.StatusInternalServerError
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	return r, nil
}

// Ping checks that a server of each shard answers within ten seconds.
func (c *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return c.Shards.each(ctx, func(ctx context.Context, r *Replicas) error {
		return r.try(ctx, "ping", func(conn driver.Conn) error { return conn.Ping(ctx) })
	})
}

// Away yields the addresses of replicas that do not answer as they should, and why. Of a
// shard with one address it asks nothing.
func (c *DB) Away(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, r := range c.Shards {
			if len(r.servers) == 1 {
				continue
			}
			for _, s := range r.servers {
				if err := r.ping(ctx, s); err != nil && !yield(s.url, Explain("ping", err)) {
					return
				}
			}
		}
	}
}

// Clock returns the server's time, to the millisecond.
func (c *DB) Clock(ctx context.Context) (time.Time, error) {
	var ms int64
	err := c.Query(ctx, "ask the time", "SELECT toInt64(toUnixTimestamp64Milli(now64(3)))", func(scan func(...any) error) error { return scan(&ms) })
	return time.UnixMilli(ms), err
}

// Close closes the connections. Requests in flight fail.
func (c *DB) Close() (err error) {
	for _, r := range c.Shards {
		for _, s := range r.servers {
			err = errors.Join(err, s.conn.Close())
		}
	}
	return err
}

// writeSettings returns the settings of every statement that writes rows.
//
//   - async_insert (on by default since 26.3) would let the acknowledgement of
//     one insert depend on others. It lost rows in versions before mid 2026.
//   - optimize_on_insert would sort and merge a block that is sorted and merged
//     already. Without it, states are inserted three times as fast.
//   - insert_deduplicate would silently drop a retry if the part of the first
//     attempt was lost since. Merging needs no deduplication. Since 26.2
//     deduplicate_insert decides that for an INSERT with rows, and by default does
//     not ask insert_deduplicate.
//   - max_partitions_per_insert_block would refuse a flush of more than a hundred days,
//     which happens after a pause and in a backfill.
func (c *DB) writeSettings() ch.Settings {
	s := ch.Settings{
		"async_insert":                    0,
		"optimize_on_insert":              0,
		"insert_deduplicate":              0,
		"deduplicate_insert":              "disable",
		"max_partitions_per_insert_block": 0,
	}
	if c.Config.Cluster != "" {
		s["insert_quorum"] = "auto"
	}
	return s
}

// Exec runs one statement within the given time, on the home shard.
func (c *DB) Exec(ctx context.Context, what, sql string, limit time.Duration) error {
	return c.ExecOn(ctx, c.Home(), what, sql, limit)
}

// ExecOn is exec on shards, all at once.
func (c *DB) ExecOn(ctx context.Context, on Shards, what, sql string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return on.each(ctx, func(ctx context.Context, r *Replicas) error {
		ctx = ch.Context(ctx, ch.WithSettings(c.writeSettings()))
		// Not conn.Exec, which reads no answer to its end. Rows, which few statements have, say nothing here.
		return r.query(ctx, what, sql, func(func(...any) error) error { return nil })
	})
}

// Query runs a SELECT on the home shard, and calls row for each row of the answer.
func (c *DB) Query(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	return c.Home().Query(ctx, what, sql, row)
}

// rowsOf runs a SELECT and calls row for each row of the answer.
func rowsOf(ctx context.Context, conn driver.Conn, sql string, row func(scan func(...any) error) error) error {
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	var began bool
	for rows.Next() {
		began = true
		if err := row(rows.Scan); err != nil {
			return answered{err}
		}
	}
	if err := rows.Err(); err != nil && began {
		return answered{err}
	}
	return rows.Err()
}

// Name returns a table or view of the database, quoted.
func (c *DB) Name(object string) string { return Quote(c.Config.Database) + "." + Quote(object) }

// AllShards ends the name of a Distributed table.
const AllShards = "_all"

// Reading returns the name of a table for a statement that reads it, quoted: on all shards, or on
// this one.
func (c *DB) Reading(table string, wide bool) string {
	if wide {
		table += AllShards
	}
	return c.Name(table)
}

// OnCluster ends the head of a statement that makes or changes an object.
func (c *DB) OnCluster() string {
	if c.Config.Cluster == "" {
		return ""
	}
	return " ON CLUSTER " + Text(c.Config.Cluster)
}

// Quote quotes an identifier.
func Quote(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}

// Text quotes a string literal.
func Text(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
