package local

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// library is libchdb, loaded into this process through purego: dlopen and
// calls without cgo, so weir stays a CGO_ENABLED=0 binary. The names are those
// of chdb.h; lengths are explicit, so text may hold any byte.
type library struct {
	setSignalHandlers func(enabled bool)
	version           func() string
	open              func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	closeConn         func(conn unsafe.Pointer)
	classify          func(conn uintptr, sql unsafe.Pointer, n uintptr, db unsafe.Pointer, dbn uintptr, out unsafe.Pointer) int32
	query             func(conn uintptr, sql unsafe.Pointer, n uintptr, format unsafe.Pointer, fn uintptr, names, nameLens, values, valueLens unsafe.Pointer, params uintptr) uintptr
	stream            func(conn uintptr, sql unsafe.Pointer, n uintptr, format unsafe.Pointer, fn uintptr, names, nameLens, values, valueLens unsafe.Pointer, params uintptr) uintptr
	fetch             func(conn, stream uintptr) uintptr
	cancel            func(conn, stream uintptr)
	buffer            func(result uintptr) unsafe.Pointer
	length            func(result uintptr) uintptr
	failure           func(result uintptr) string
	readRows          func(result uintptr) uint64
	readBytes         func(result uintptr) uint64
	writtenRows       func(result uintptr) uint64
	writtenBytes      func(result uintptr) uint64
	resultRows        func(result uintptr) uint64
	resultBytes       func(result uintptr) uint64
	free              func(result uintptr)
}

// load opens the shared library and resolves the functions that this package
// uses. The handle is never closed: the engine's threads outlive every
// connection.
func load(path string) (*library, error) {
	resolve, err := dlopen(path)
	if err != nil {
		return nil, fmt.Errorf("load the engine: %w", err)
	}
	l := new(library)
	for _, f := range []struct {
		name string
		into any
	}{
		{"chdb_set_signal_handlers_enabled", &l.setSignalHandlers},
		{"chdb_version", &l.version},
		{"chdb_connect", &l.open},
		{"chdb_close_conn", &l.closeConn},
		{"chdb_classify_query_n", &l.classify},
		{"chdb_query_with_params_n", &l.query},
		{"chdb_stream_query_with_params_n", &l.stream},
		{"chdb_stream_fetch_result", &l.fetch},
		{"chdb_stream_cancel_query", &l.cancel},
		{"chdb_result_buffer", &l.buffer},
		{"chdb_result_length", &l.length},
		{"chdb_result_error", &l.failure},
		{"chdb_result_storage_rows_read", &l.readRows},
		{"chdb_result_storage_bytes_read", &l.readBytes},
		{"chdb_result_rows_written", &l.writtenRows},
		{"chdb_result_bytes_written", &l.writtenBytes},
		{"chdb_result_rows_read", &l.resultRows},
		{"chdb_result_bytes_read", &l.resultBytes},
		{"chdb_destroy_query_result", &l.free},
	} {
		if err := resolve(f.name, f.into); err != nil {
			return nil, fmt.Errorf("load the engine: %s has no %s; version 26.7 or newer is needed: %w", path, f.name, err)
		}
	}
	return l, nil
}

// session is one connection to the engine in this process. It carries its own
// settings, current database and temporary tables, and runs one query at a
// time. To open one takes about 0.2 ms, so each request without a session_id
// gets a fresh one and leaves no state behind.
type session struct {
	lib    *library
	owner  unsafe.Pointer // returned by chdb_connect, and the argument of chdb_close_conn
	handle uintptr
}

// connect opens a session. Arguments are written as on clickhouse-local's
// command line: --path once per process, --setting=value for this session.
func (l *library) connect(args ...string) (*session, error) {
	var keep arena
	argv := make([]unsafe.Pointer, 0, len(args)+1)
	argv = append(argv, keep.add("clickhouse"))
	for _, a := range args {
		argv = append(argv, keep.add(a))
	}
	owner := l.open(int32(len(argv)), unsafe.Pointer(&argv[0]))
	runtime.KeepAlive(argv)
	runtime.KeepAlive(keep)
	if owner == nil {
		return nil, fmt.Errorf("the engine refused a connection (%s)", strings.Join(args, " "))
	}
	return &session{lib: l, owner: owner, handle: *(*uintptr)(owner)}, nil
}

func (s *session) close() {
	s.lib.closeConn(s.owner)
	s.owner, s.handle = nil, 0
}

// param is one value for a {name:Type} placeholder, escaped as in a
// tab-separated file; that is also how HTTP clients send it.
type param struct{ name, value string }

// run executes one statement and returns its whole output in the given format.
// The caller frees the result. sql must not carry inline INSERT data: the
// engine cuts such data at the first empty line, without an error.
func (s *session) run(sql, format string, params []param) (*result, error) {
	r := s.call(s.lib.query, sql, format, params)
	if err := r.err(); err != nil {
		r.free()
		return nil, err
	}
	return r, nil
}

// exec runs a statement for its effect.
func (s *session) exec(sql string) error {
	r, err := s.run(sql, "Null", nil)
	if err != nil {
		return err
	}
	r.free()
	return nil
}

// text runs a query and returns its output as tab-separated text, without the
// last newline.
func (s *session) text(sql string) (string, error) {
	r, err := s.run(sql, "TabSeparated", nil)
	if err != nil {
		return "", err
	}
	defer r.free()
	return strings.TrimSuffix(string(r.bytes()), "\n"), nil
}

type queryFunc func(conn uintptr, sql unsafe.Pointer, n uintptr, format unsafe.Pointer, fn uintptr, names, nameLens, values, valueLens unsafe.Pointer, params uintptr) uintptr

func (s *session) call(f queryFunc, sql, format string, params []param) *result {
	var keep arena
	var names, values []unsafe.Pointer
	var nameLens, valueLens []uintptr
	for _, p := range params {
		names, nameLens = append(names, keep.add(p.name)), append(nameLens, uintptr(len(p.name)))
		values, valueLens = append(values, keep.add(p.value)), append(valueLens, uintptr(len(p.value)))
	}
	handle := f(s.handle, keep.add(sql), uintptr(len(sql)), keep.add(format), uintptr(len(format)),
		unsafe.Pointer(unsafe.SliceData(names)), unsafe.Pointer(unsafe.SliceData(nameLens)),
		unsafe.Pointer(unsafe.SliceData(values)), unsafe.Pointer(unsafe.SliceData(valueLens)), uintptr(len(params)))
	runtime.KeepAlive(names)
	runtime.KeepAlive(nameLens)
	runtime.KeepAlive(values)
	runtime.KeepAlive(valueLens)
	runtime.KeepAlive(keep)
	return &result{lib: s.lib, handle: handle}
}

// class says which state a statement changes, according to the engine's parser
// (chdb_query_class).
type class uint32

const (
	readOnly class = 0 // SELECT, SHOW, DESCRIBE, EXPLAIN, …
	control  class = 3 // SET, USE, temporary tables, SYSTEM, INTO OUTFILE, …
	unknown  class = 4 // not parsed
)

// inspect returns the number of statements in sql and the highest class among
// them; 0 and unknown if it does not parse.
func (s *session) inspect(sql string) (statements int, c class) {
	var keep arena
	out := struct{ size, statements, flags, class uint32 }{size: 16, class: uint32(unknown)}
	rc := s.lib.classify(s.handle, keep.add(sql), uintptr(len(sql)), nil, 0, unsafe.Pointer(&out))
	runtime.KeepAlive(keep)
	if rc != 0 {
		return 0, unknown
	}
	return int(out.statements), class(out.class)
}

// result is the outcome of a query; its memory is the engine's.
type result struct {
	lib    *library
	handle uintptr
}

// bytes returns the output, valid until free.
func (r *result) bytes() []byte {
	n := r.lib.length(r.handle)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(r.lib.buffer(r.handle)), int(n))
}

func (r *result) empty() bool { return r.lib.length(r.handle) == 0 }

func (r *result) err() error {
	if text := r.lib.failure(r.handle); text != "" {
		return newException(text)
	}
	return nil
}

// stats are the numbers of X-ClickHouse-Summary.
type stats struct {
	readRows, readBytes, writtenRows, writtenBytes, resultRows, resultBytes uint64
}

func (r *result) stats() stats {
	return stats{
		readRows: r.lib.readRows(r.handle), readBytes: r.lib.readBytes(r.handle),
		writtenRows: r.lib.writtenRows(r.handle), writtenBytes: r.lib.writtenBytes(r.handle),
		resultRows: r.lib.resultRows(r.handle), resultBytes: r.lib.resultBytes(r.handle),
	}
}

func (s *stats) add(o stats) {
	s.readRows += o.readRows
	s.readBytes += o.readBytes
	s.writtenRows += o.writtenRows
	s.writtenBytes += o.writtenBytes
	s.resultRows += o.resultRows
	s.resultBytes += o.resultBytes
}

func (r *result) free() { r.lib.free(r.handle) }

// arena keeps NUL-terminated copies of strings reachable during a call. The Go
// heap does not move, so their addresses hold.
type arena [][]byte

func (a *arena) add(s string) unsafe.Pointer {
	b := make([]byte, len(s)+1)
	copy(b, s)
	*a = append(*a, b)
	return unsafe.Pointer(&b[0])
}

// Exception is an error of the engine, or one that a ClickHouse server would
// return, with ClickHouse's code.
type Exception struct {
	Code int
	Text string // "Code: 60. DB::Exception: … (UNKNOWN_TABLE)"
}

func (e *Exception) Error() string { return e.Text }

var exceptionCode = regexp.MustCompile(`Code: (\d+)\.`)

// newException reads the code from the engine's text; without one the code is
// 1002, ClickHouse's UNKNOWN_EXCEPTION.
func newException(text string) *Exception {
	if m := exceptionCode.FindStringSubmatch(text); m != nil {
		code, err := strconv.Atoi(m[1])
		if err == nil {
			return &Exception{Code: code, Text: text}
		}
	}
	return &Exception{Code: 1002, Text: fmt.Sprintf("Code: 1002. DB::Exception: %s (UNKNOWN_EXCEPTION)", text)}
}

// exceptionf makes an exception with the text of a server.
func exceptionf(code int, name, format string, args ...any) *Exception {
	return &Exception{Code: code, Text: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, fmt.Sprintf(format, args...), name)}
}
