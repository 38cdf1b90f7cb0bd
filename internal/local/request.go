package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// request is one HTTP request as ClickHouse understands it.
type request struct {
	http   *http.Request
	rc     *http.ResponseController
	values url.Values // of the URL; fields of a form are added

	id        string // query id
	token     string // names this request among the engine's running queries
	sessionID string
	format    string // default output format
	database  string
	protocol  int // client_protocol_version
	params    []param
	settings  []setting // in order of name, for the session
	readonly  bool      // GET and HEAD may not write

	sql      string
	inline   bool // sql reads rows that came inline with an INSERT
	external []external
	files    []rows
}

type setting struct{ name, value string }

// external is a temporary table sent along with a query.
type external struct {
	name, structure, format string
	rows                    rows
}

// reserved parameters of the URL are not settings.
var reserved = map[string]bool{
	"query": true, "database": true, "default_format": true, "query_id": true,
	"compress": true, "decompress": true, "user": true, "password": true,
	"quota_key": true, "stacktrace": true, "buffer_size": true,
	"wait_end_of_query": true, "session_id": true, "session_timeout": true,
	"session_check": true, "close_session": true, "client_protocol_version": true,
	"role": true, "": true,
}

// newRequest reads the URL and the headers. The request it returns is usable
// for an error answer even when there is an error.
func newRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	q := &request{token: "weir " + uuid.NewString(), http: r, rc: http.NewResponseController(w), values: url.Values{}, format: "TabSeparated"}
	values, err := url.ParseQuery(r.URL.RawQuery)
	q.id = first(values.Get("query_id"), r.Header.Get("X-ClickHouse-Query-Id"))
	if err != nil {
		return q, exceptionf(36, "BAD_ARGUMENTS", "Cannot parse the URL's parameters: %v", err)
	}
	q.values = values
	q.sessionID = values.Get("session_id")
	q.database = first(r.Header.Get("X-ClickHouse-Database"), values.Get("database"))
	q.format = first(r.Header.Get("X-ClickHouse-Format"), values.Get("default_format"), q.format)
	q.readonly = r.Method == http.MethodGet || r.Method == http.MethodHead
	if v := values.Get("client_protocol_version"); v != "" {
		if q.protocol, err = strconv.Atoi(v); err != nil {
			return q, exceptionf(36, "BAD_ARGUMENTS", "client_protocol_version: %v", err)
		}
	}
	return q, nil
}

func first(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}

func (q *request) has(name string) bool { return q.values.Has(name) }

// flag reads a boolean parameter of the URL.
func (q *request) flag(name string) bool {
	v := q.values.Get(name)
	return v == "1" || strings.EqualFold(v, "true")
}

// close drops the files in memory.
func (q *request) close() {
	for _, f := range q.files {
		f.Close()
		if f.Name() == f.path {
			os.Remove(f.path)
		}
	}
}

// read reads the body: the query, and the rows and tables that come with it.
// The statement runs only after all rows are there, so that a client that
// disconnects in the middle inserts nothing.
func (q *request) read(maxBody int64) error {
	media, attr, _ := mime.ParseMediaType(q.http.Header.Get("Content-Type"))
	form := media == "multipart/form-data"
	in, err := decode(&body{r: q.http.Body, rc: q.rc}, q.http.Header.Get("Content-Encoding"))
	if err != nil {
		return explain(err)
	}
	if q.flag("decompress") {
		in = newFrames(in)
	}
	in = &limit{r: in, left: maxBody} // the limit is for the unpacked body, which takes the memory
	if form {
		err = q.readForm(multipart.NewReader(in, attr["boundary"]))
	} else {
		err = q.readQuery(in)
	}
	if err != nil {
		return explain(err)
	}
	for _, name := range sortedKeys(q.values) {
		value := q.values.Get(name)
		switch p, isParam := strings.CutPrefix(name, "param_"); {
		case isParam:
			q.params = append(q.params, param{p, value})
		case reserved[name]:
		case form && (strings.HasSuffix(name, "_structure") || strings.HasSuffix(name, "_types") || strings.HasSuffix(name, "_format")):
		default:
			q.settings = append(q.settings, setting{name, value})
		}
	}
	if strings.TrimSpace(q.sql) == "" {
		return exceptionf(62, "SYNTAX_ERROR", "Syntax error: empty query")
	}
	return nil
}

// readQuery reads ?query= and the body as one text, a line end between them,
// and splits the rows of an INSERT off into a file.
func (q *request) readQuery(in io.Reader) error {
	if sql := q.values.Get("query"); sql != "" {
		in = io.MultiReader(strings.NewReader(sql+"\n"), in)
	}
	var text []byte
	for size := 8 << 10; ; size *= 8 {
		var err error
		text, err = fill(text, in, min(size, maxSQL))
		whole := errors.Is(err, io.EOF)
		if err != nil && !whole {
			return err
		}
		ins, ok, more := splitInsert(string(text))
		switch {
		case ok && (whole || !more):
			return q.splitOff(string(text), ins, in)
		case whole:
			q.sql = string(text)
			return nil
		case len(text) >= maxSQL:
			return exceptionf(62, "SYNTAX_ERROR", "Max query size exceeded: the text is longer than %d bytes", maxSQL)
		}
	}
}

// splitOff writes the rows, which are the end of text and all of rest, into a
// file, and changes the statement so that it reads this file.
func (q *request) splitOff(text string, ins insert, rest io.Reader) error {
	f, err := q.file()
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.MultiReader(strings.NewReader(text[ins.data:]), rest))
	if err != nil {
		return err
	}
	if n == 0 && ins.format != "Values" || ins.format == "Values" && n == int64(len(text)-ins.data) && strings.TrimSpace(text[ins.data:]) == "" {
		// There are no rows: the engine returns the right error.
		q.sql = text
		return nil
	}
	if ins.format == "Values" {
		if err := singleStatement(f, n); err != nil {
			return err
		}
	}
	q.inline = true
	q.sql = ins.sql(f.path)
	return nil
}

// singleStatement refuses rows of VALUES with anything but blanks after a
// semicolon. The engine reads rows from a file up to the semicolon and ignores
// the rest; a server refuses a second statement.
func singleStatement(f rows, size int64) error {
	text, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	defer func() { _ = unix.Munmap(text) }()
	if bytes.IndexByte(text, ';') < 0 {
		return nil
	}
	l := lexer{text: unsafe.String(&text[0], len(text))}
	for stop := false; ; {
		t := l.next()
		switch {
		case t.kind == end:
			return nil
		case stop:
			return exceptionf(27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED", "Cannot read data after semicolon (multi-statements are not allowed)")
		case t.kind == other && t.text(l.text) == ";":
			stop = true
		}
	}
}

// readForm reads multipart/form-data: fields are parameters, files are
// temporary tables.
func (q *request) readForm(form *multipart.Reader) error {
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := part.FormName()
		if _, attr, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition")); !hasKey(attr, "filename") {
			value, err := io.ReadAll(io.LimitReader(part, maxSQL))
			if err != nil {
				return err
			}
			if name == "query" {
				q.values.Set(name, q.values.Get(name)+string(value))
			} else if !q.values.Has(name) {
				q.values.Set(name, string(value))
			}
			continue
		}
		f, err := q.file()
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, part); err != nil {
			return err
		}
		q.external = append(q.external, external{name: name, rows: f})
	}
	for i := range q.external {
		t := &q.external[i]
		t.format = first(q.values.Get(t.name+"_format"), "TabSeparated")
		t.structure = q.values.Get(t.name + "_structure")
		if types := q.values.Get(t.name + "_types"); t.structure == "" && types != "" {
			var columns []string
			for n, typ := range splitTypes(types) {
				columns = append(columns, fmt.Sprintf("_%d %s", n+1, typ))
			}
			t.structure = strings.Join(columns, ", ")
		}
		if t.structure == "" {
			return exceptionf(36, "BAD_ARGUMENTS", "Neither structure nor types have not been provided for external table %s. Use fields %s_structure or %s_types to do so", t.name, t.name, t.name)
		}
	}
	q.sql = q.values.Get("query")
	return nil
}

// splitTypes cuts "UInt64, Array(Tuple(a, b))" at the commas outside brackets.
func splitTypes(types string) (out []string) {
	l := lexer{text: types}
	start := 0
	for {
		t := l.next()
		switch {
		case t.kind == end:
			return append(out, strings.TrimSpace(types[start:]))
		case t.kind == open:
			l.skipBrackets()
		case t.text(types) == ",":
			out = append(out, strings.TrimSpace(types[start:t.start]))
			start = t.end
		}
	}
}

// prepare applies the request's settings, database and tables to a session.
func (q *request) prepare(s *session) error {
	if q.database != "" {
		if err := s.exec("USE " + identifier(q.database)); err != nil {
			return err
		}
	}
	if q.readonly && q.sessionID == "" {
		if err := s.exec("SET readonly = 2"); err != nil {
			return err
		}
	}
	// The client's readonly is set last: after it no other setting can be set.
	var set, last []string
	for _, p := range q.settings {
		if p.name == "readonly" {
			if q.sessionID != "" {
				q.readonly = q.readonly || p.value != "0"
				continue
			}
			last = append(last, "readonly = "+literal(p.value))
			continue
		}
		if !plain(p.name) {
			return exceptionf(115, "UNKNOWN_SETTING", "Unknown setting '%s'", p.name)
		}
		set = append(set, p.name+" = "+literal(p.value))
	}
	if len(set) > 0 {
		if err := s.exec("SET " + strings.Join(set, ", ")); err != nil {
			return err
		}
	}
	for _, t := range q.external {
		if err := s.exec("CREATE TEMPORARY TABLE " + identifier(t.name) + " (" + t.structure + ") ENGINE = Memory"); err != nil {
			return err
		}
		info, err := t.rows.Stat()
		if err != nil {
			return err
		}
		if info.Size() == 0 {
			continue
		}
		if !plain(t.format) {
			return exceptionf(73, "UNKNOWN_FORMAT", "Unknown format %s", t.format)
		}
		if err := s.exec("INSERT INTO " + identifier(t.name) + " FROM INFILE '" + t.rows.path + "' FORMAT " + t.format); err != nil {
			return err
		}
	}
	if len(last) > 0 {
		return s.exec("SET " + strings.Join(last, ", "))
	}
	return nil
}

// allowed refuses requests that the engine would run and a server would not:
// several statements in one request, output into a file, and, in a session,
// statements that readonly forbids. In a session the setting readonly cannot be
// used, because it cannot be unset.
func (q *request) allowed(s *session) error {
	outfile := intoOutfile(q.sql)
	if outfile {
		return exceptionf(358, "INTO_OUTFILE_NOT_ALLOWED", "INTO OUTFILE is not allowed")
	}
	guarded := q.sessionID != "" && q.readonly
	if !guarded && !strings.Contains(q.sql, ";") {
		return nil
	}
	n, c := s.inspect(q.sql)
	if n > 1 {
		return exceptionf(62, "SYNTAX_ERROR", "Syntax error (Multi-statements are not allowed)")
	}
	if guarded && c != readOnly && c != unknown {
		switch firstWord(q.sql) {
		case "SET", "USE":
		case "CREATE", "DROP":
			if c == control { // of temporary tables
				return nil
			}
			fallthrough
		default:
			return exceptionf(164, "READONLY", "Cannot execute query in readonly mode")
		}
	}
	return nil
}

// plain says whether a name needs no quotes.
func plain(name string) bool {
	for i := range len(name) {
		if !isWord(name[i]) && name[i] != '.' {
			return false
		}
	}
	return name != ""
}

// rows is a file, in memory, that the engine reads rows from.
type rows struct {
	*os.File
	path string // the path under which the engine can open it
}

// file makes a file for rows that lives as long as the request.
func (q *request) file() (rows, error) {
	f, path, err := memoryFile()
	if err != nil {
		return rows{}, err
	}
	q.files = append(q.files, rows{f, path})
	return rows{f, path}, nil
}

func sortedKeys(v url.Values) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func hasKey(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}
