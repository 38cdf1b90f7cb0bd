package local

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"weir/internal/samesite"
)

// front answers ClickHouse's HTTP interface with the engine in this process.
//
// One request is one session of the engine, opened for it and closed after it
// (0.2 ms), so settings, the database and temporary tables of one request
// cannot reach another. A request with a session_id keeps its session.
type front struct {
	lib      *library
	log      *slog.Logger
	defaults []string // --setting=value for every session
	slots    chan struct{}
	maxBody  int64
	loopback bool // the listener is on loopback
	sessions sessions
	settable sync.Map // names of settings that SET has accepted

	version, timezone string
}

const (
	// ioTimeout is how long a client may take to send or receive the next
	// piece of a body, as ClickHouse's http_send_timeout and http_receive_timeout.
	ioTimeout = 30 * time.Second
	// maxSQL bounds the SQL text kept in memory. The engine refuses far
	// shorter texts unless max_query_size is raised.
	maxSQL = 64 << 20
)

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-ClickHouse-Server-Display-Name", displayName)
	// The engine has no accounts, and its SQL can read and write files.
	if err := samesite.Check(r, f.loopback); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	switch r.URL.Path {
	case "/ping", "/replicas_status":
		alive(w)
		return
	case "/", "/query":
	default:
		http.Error(w, "There is no handle "+r.URL.Path, http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if r.URL.RawQuery == "" && r.ContentLength == 0 && r.URL.Path == "/" {
			alive(w)
			return
		}
	case http.MethodPost, http.MethodPut:
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, OPTIONS")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	q, err := newRequest(w, r)
	if q.id == "" {
		q.id = uuid.NewString()
	}
	w.Header().Set("X-ClickHouse-Query-Id", q.id)
	out := newResponse(w, r, q)
	if err == nil {
		err = f.serve(r.Context(), q, out)
	}
	if err != nil {
		f.fail(out, err)
	}
}

// alive answers the requests that only test whether the engine runs.
func alive(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	_, _ = io.WriteString(w, "Ok.\n")
}

// fail answers with an error as ClickHouse does.
func (f *front) fail(out *response, err error) {
	code := 1001
	var ex *Exception
	if errors.As(err, &ex) {
		code = ex.Code
	}
	out.exception(code, f.text(err))
}

// displayName is the server name that clients see.
const displayName = "weir engine"

// serve runs one request.
func (f *front) serve(ctx context.Context, q *request, out *response) error {
	// Read the body first, then take a slot, so that a slow client does not hold a
	// slot.
	defer q.close()
	if err := q.read(f.maxBody); err != nil {
		return err
	}
	if strings.TrimSpace(q.sql) == hello && q.protocol > 0 {
		return f.hello(q, out)
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s, release, err := f.session(q)
	if err != nil {
		return err
	}
	defer release()
	if err := q.prepare(s); err != nil {
		return err
	}
	for _, p := range q.settings {
		f.settable.LoadOrStore(p.name, true)
	}
	if err := q.allowed(s); err != nil {
		return err
	}
	format := q.format
	if named := outputFormat(q.sql); named != "" && !q.inline {
		format = named
	}
	watched := f.watch(ctx, q)
	defer watched()
	if q.streams(s, format) {
		return f.stream(s, q, format, out)
	}
	start := time.Now()
	res, err := s.run(q.sql, format, q.params)
	if err != nil {
		return err
	}
	defer res.free()
	took := time.Since(start)
	if res.empty() && (q.inline || !q.reads(s)) {
		format = "" // clients tell an empty result from none by the header
	}
	out.head(format, f.timezone, res.stats(), took)
	out.whole(res.bytes())
	return nil
}

// session returns the session to run q in and what to do with it afterwards.
//
// A setting of the request is an argument of the new session where it can be,
// because a SET for it would take half as long again as a short query. The engine
// takes more arguments than settings, such as --path, and refuses a bad value
// without a reason. So only names that SET has accepted before go this way, and if
// the engine refuses, prepare runs the SET and gets the reason.
func (f *front) session(q *request) (*session, func(), error) {
	args := slices.Clip(f.defaults)
	if !q.has("log_comment") {
		// The mark lets watch find the query in system.processes.
		args = append(args, "--log_comment="+q.token)
	}
	open := func() (*session, error) { return f.lib.connect(args...) }
	if q.sessionID != "" {
		return f.sessions.take(q, open)
	}
	with := slices.Clip(args)
	var rest []setting
	for _, p := range q.settings {
		_, known := f.settable.Load(p.name)
		if known && p.name != "readonly" && !strings.Contains(p.value, "\x00") { // an argument ends there
			with = append(with, "--"+p.name+"="+p.value)
		} else {
			rest = append(rest, p)
		}
	}
	s, err := f.lib.connect(with...)
	if err == nil {
		q.settings = rest
	} else if s, err = open(); err != nil {
		return nil, nil, err
	}
	return s, s.close, nil
}

// watch stops a read-only query whose client has closed the connection: it
// would hold a slot for an answer that is never read. Statements that change
// something run to their end, as on a server. The returned function ends the
// watch.
func (f *front) watch(ctx context.Context, q *request) func() {
	if q.has("log_comment") || q.inline || q.sessionID != "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		killer, err := f.lib.connect(f.defaults...)
		if err != nil {
			return
		}
		defer killer.close()
		if _, class := killer.inspect(q.sql); class != readOnly {
			return
		}
		// The query may not be in system.processes yet, so watch tries several times.
		for range 20 {
			if err := killer.exec("KILL QUERY WHERE Settings['log_comment'] = " + literal(q.token) + " ASYNC"); err != nil {
				f.log.Warn("engine: cancel a query", "query_id", q.id, "error", err)
				return
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() { close(done) }
}

// hello is the first query of clickhouse-go on every HTTP connection.
const hello = "SELECT displayName(), version(), revision(), timezone()"

// hello answers clickhouse-go's first query. The client decodes this one block
// at the protocol revision that it asked for, and every later block at the
// revision in this answer. The engine writes Native blocks of revision 0,
// without the block header, so the answer says 0.
func (f *front) hello(q *request, out *response) error {
	text := func(s string) *proto.ColStr {
		c := new(proto.ColStr)
		c.Append(s)
		return c
	}
	revision := new(proto.ColUInt32)
	revision.Append(0)
	in := proto.Input{
		{Name: "displayName()", Data: text(displayName)},
		{Name: "version()", Data: text(f.version)},
		{Name: "revision()", Data: revision},
		{Name: "timezone()", Data: text(f.timezone)},
	}
	var b proto.Buffer
	block := proto.Block{Info: proto.BlockInfo{BucketNum: -1}, Columns: len(in), Rows: 1}
	if err := block.EncodeBlock(&b, q.protocol, in); err != nil {
		return err
	}
	out.head("Native", f.timezone, stats{}, 0)
	out.whole(b.Buf)
	return nil
}

// literal quotes s as a SQL string.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// identifier quotes s as a SQL name.
func identifier(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}
