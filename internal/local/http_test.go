package local_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/compress"

	"weir/internal/local/localtest"
)

// call is a request as curl would send it.
type call struct {
	method string // POST
	path   string // "/"
	query  string // URL parameters, as "a=1&b=2"
	head   map[string]string
	body   string
}

type answer struct {
	status int
	head   http.Header
	body   string
}

func (c call) do(t testing.TB, base, database string) answer {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.path == "" {
		c.path = "/"
	}
	target := base + c.path
	if database != "" {
		c.query = strings.TrimSuffix("database="+database+"&"+c.query, "&")
	}
	if c.query != "" {
		target += "?" + c.query
	}
	req, err := http.NewRequestWithContext(t.Context(), c.method, target, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range c.head {
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	res, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// in leaves the database out of the requests that are about the bare URL.
func (c call) in(db string) string {
	if c.query == "" && c.body == "" {
		return ""
	}
	return db
}

func esc(s string) string { return url.QueryEscape(s) }

func TestHTTP(t *testing.T) {
	base, db := localtest.Engine(t)
	call{body: "CREATE TABLE t (a UInt64, s String DEFAULT 'd') ENGINE = MergeTree ORDER BY a"}.do(t, base, db)
	zipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(s))
		w.Close()
		return b.String()
	}
	for name, test := range map[string]struct {
		call
		status int    // 200
		want   string // the whole body
		has    string // or a part of it
		head   map[string]string
	}{
		"ping":                     {call: call{method: "GET", path: "/ping"}, want: "Ok.\n"},
		"root":                     {call: call{method: "GET"}, want: "Ok.\n"},
		"replicas status":          {call: call{method: "GET", path: "/replicas_status"}, want: "Ok.\n"},
		"unknown path":             {call: call{method: "GET", path: "/nosuch"}, status: 404, has: "There is no handle /nosuch"},
		"method":                   {call: call{method: "DELETE"}, status: 405},
		"query in url":             {call: call{method: "GET", query: "query=" + esc("SELECT 1")}, want: "1\n", head: map[string]string{"X-Clickhouse-Format": "TabSeparated", "X-Clickhouse-Timezone": "UTC", "Content-Type": "text/tab-separated-values; charset=UTF-8", "Content-Length": "2"}},
		"query in body":            {call: call{body: "SELECT 1"}, want: "1\n"},
		"query in both":            {call: call{query: "query=" + esc("SELECT 1,"), body: "2"}, want: "1\t2\n"},
		"form content type":        {call: call{body: "SELECT '%41'", head: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, want: "%41\n"},
		"put":                      {call: call{method: "PUT", body: "SELECT 1"}, want: "1\n"},
		"trailing semicolon":       {call: call{body: "SELECT 1;\n-- done"}, want: "1\n"},
		"semicolon in a string":    {call: call{body: "SELECT ';' -- ;"}, want: ";\n"},
		"two statements":           {call: call{body: "SELECT 1; SELECT 2"}, status: 400, has: "Code: 62. DB::Exception: Syntax error (Multi-statements are not allowed)"},
		"two that write":           {call: call{body: "TRUNCATE TABLE t; TRUNCATE TABLE t"}, status: 400, has: "Multi-statements are not allowed"},
		"a set and a query":        {call: call{body: "SET max_threads = 1; SELECT 1"}, status: 400, has: "Multi-statements are not allowed"},
		"empty":                    {call: call{body: " \n"}, status: 400, has: "Code: 62."},
		"no query":                 {call: call{method: "GET", query: "max_threads=1"}, status: 400, has: "Code: 62."},
		"default format":           {call: call{query: "default_format=JSONCompactEachRow", body: "SELECT 1, 'x'"}, want: "[1, \"x\"]\n", head: map[string]string{"X-Clickhouse-Format": "JSONCompactEachRow"}},
		"format header":            {call: call{body: "SELECT 1 AS x", head: map[string]string{"X-ClickHouse-Format": "JSONEachRow"}}, want: "{\"x\":1}\n", head: map[string]string{"Content-Type": "application/x-ndjson; charset=UTF-8"}},
		"format clause":            {call: call{query: "default_format=Native", body: "SELECT 1 AS x FORMAT CSVWithNames"}, want: "\"x\"\n1\n", head: map[string]string{"X-Clickhouse-Format": "CSVWithNames"}},
		"database header":          {call: call{body: "SELECT currentDatabase()", head: map[string]string{"X-ClickHouse-Database": "system"}}, want: "system\n"},
		"no such database":         {call: call{body: "SELECT 1", head: map[string]string{"X-ClickHouse-Database": "nosuch"}}, status: 404, has: "Code: 81.", head: map[string]string{"X-Clickhouse-Exception-Code": "81"}},
		"no such table":            {call: call{body: "SELECT * FROM nosuch"}, status: 404, has: "(UNKNOWN_TABLE) (version 26.", head: map[string]string{"X-Clickhouse-Exception-Code": "60", "Content-Type": "text/plain; charset=UTF-8"}},
		"bad number":               {call: call{body: "SELECT toUInt8('x')"}, status: 400, has: "Code: 6."},
		"server error":             {call: call{body: "SELECT throwIf(1)"}, status: 500, has: "Code: 395."},
		"timeout":                  {call: call{query: "max_execution_time=0.2", body: "SELECT count() FROM system.numbers"}, status: 408, has: "Code: 159."},
		"not implemented":          {call: call{body: "SELECT 1 WITH TOTALS"}, status: 501, has: "Code: 48."},
		"unknown setting":          {call: call{query: "nosuch=1", body: "SELECT 1"}, status: 404, has: "Code: 115. DB::Exception: Unknown setting 'nosuch'"},
		"setting with odd name":    {call: call{query: esc("a' = 1, b") + "=1", body: "SELECT 1"}, status: 404, has: "Code: 115."},
		"setting":                  {call: call{query: "max_block_size=7", body: "SELECT getSetting('max_block_size')"}, want: "7\n"},
		"setting with quotes":      {call: call{query: "log_comment=" + esc(`it's \ "so"`), body: "SELECT getSetting('log_comment') FORMAT TSVRaw"}, want: `it's \ "so"` + "\n"},
		"parameter":                {call: call{query: "param_x=" + esc(`a\tb'`) + "&param_n=-3", body: "SELECT {x:String}, {n:Int8} FORMAT TSVRaw"}, want: "a\tb'\t-3\n"},
		"parameter identifier":     {call: call{query: "param_t=t", body: "SELECT count() FROM {t:Identifier}"}, want: "0\n"},
		"missing parameter":        {call: call{body: "SELECT {x:String}"}, status: 500, has: "Code: 456."},
		"get may not write":        {call: call{method: "GET", query: "query=" + esc("INSERT INTO t VALUES (1)")}, status: 500, has: "Code: 164."},
		"get may set":              {call: call{method: "GET", query: "max_threads=1&query=" + esc("SELECT getSetting('max_threads')")}, want: "1\n"},
		"get may not set readonly": {call: call{method: "GET", query: "readonly=0&query=" + esc("SELECT 1")}, status: 500, has: "Code: 164."},
		"post may be readonly":     {call: call{query: "readonly=1&max_threads=1", body: "DROP TABLE t"}, status: 500, has: "Code: 164."},
		"head":                     {call: call{method: "HEAD", query: "query=" + esc("SELECT 1")}, want: "", head: map[string]string{"X-Clickhouse-Format": "TabSeparated"}},
		"head of an error":         {call: call{method: "HEAD", query: "query=" + esc("SELECT nosuch")}, status: 404, want: ""},
		"query id":                 {call: call{query: "query_id=mine", body: "SELECT 1"}, want: "1\n", head: map[string]string{"X-Clickhouse-Query-Id": "mine"}},
		"wait end of query":        {call: call{query: "wait_end_of_query=1&buffer_size=1000", body: "SELECT number FROM numbers(2)"}, want: "0\n1\n"},
		"user and password":        {call: call{query: "user=default&password=x", body: "SELECT 1"}, want: "1\n"},
		"totals":                   {call: call{body: "SELECT number % 2 AS k, count() FROM numbers(3) GROUP BY k WITH TOTALS ORDER BY k"}, want: "0\t2\n1\t1\n\n0\t3\n"},
		"json":                     {call: call{query: "default_format=JSONCompact", body: "SELECT 1 AS x"}, has: `"rows": 1`, head: map[string]string{"Content-Type": "application/json; charset=UTF-8"}},
		"show":                     {call: call{body: "SHOW TABLES"}, want: "t\n"},
		"explain":                  {call: call{body: "EXPLAIN SELECT 1"}, has: "ReadFromSystemOne"},
		"set has no effect":        {call: call{body: "SET max_threads = 1"}, want: "", head: map[string]string{"Content-Length": "0", "X-Clickhouse-Format": ""}},
		"no rows":                  {call: call{body: "SELECT number FROM numbers(0)"}, want: "", head: map[string]string{"Content-Length": "0", "X-Clickhouse-Format": "TabSeparated"}},
		"no rows of show":          {call: call{query: "default_format=CSV", body: "SHOW TABLES LIKE 'nosuch'"}, want: "", head: map[string]string{"X-Clickhouse-Format": "CSV"}},
		"outfile":                  {call: call{body: "SELECT 1 INTO OUTFILE 'x.csv'"}, status: 500, has: "Code: 358."},
		"gzip query":               {call: call{body: zipped("SELECT 1"), head: map[string]string{"Content-Encoding": "gzip"}}, want: "1\n"},
		"unknown encoding":         {call: call{body: "x", head: map[string]string{"Content-Encoding": "nosuch"}}, status: 500, has: "Code: 89."},
		"not gzip":                 {call: call{body: "SELECT 1, 2, 3", head: map[string]string{"Content-Encoding": "gzip"}}, status: 500, has: "Code: 33."},
		"not frames":               {call: call{query: "decompress=1", body: "SELECT 1 and then some more text"}, status: 500, has: "Code: 33."},
		"other site":               {call: call{body: "SELECT 1", head: map[string]string{"Sec-Fetch-Site": "cross-site"}}, status: 403},
		"other origin":             {call: call{body: "SELECT 1", head: map[string]string{"Origin": "http://evil.example"}}, status: 403},
		"rebound name":             {call: call{body: "SELECT 1", head: map[string]string{"Host": "evil.example:8123"}}, status: 403},
		"localhost":                {call: call{body: "SELECT 1", head: map[string]string{"Host": "localhost:8123"}}, want: "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.call.do(t, base, test.in(db))
			if want := max(test.status, 200); got.status != want {
				t.Errorf("status %d, want %d: %s", got.status, want, got.body)
			}
			if test.has == "" && got.status == 200 && got.body != test.want || !strings.Contains(got.body, test.has) {
				t.Errorf("body %q, want %q", got.body, test.want+test.has)
			}
			for k, v := range test.head {
				if got.head.Get(k) != v {
					t.Errorf("%s: %q, want %q", k, got.head.Get(k), v)
				}
			}
		})
	}
}

// TestSettingsAgain: a setting means the same the first time, when the session gets
// it by SET, and later, when the session opens with it. No argument of the engine
// that is not a setting can be given.
func TestSettingsAgain(t *testing.T) {
	base, db := localtest.Engine(t)
	for _, test := range []struct {
		query, sql, want string
		code             string
	}{
		{query: "max_joined_block_size_rows=7", sql: "SELECT getSetting('max_joined_block_size_rows')", want: "7\n"},
		{query: "", sql: "SELECT getSetting('max_joined_block_size_rows')", want: "65409\n"},
		{query: "max_joined_block_size_rows=x", sql: "SELECT 1", code: "27"},
		{query: "max_joined_block_size_rows=", sql: "SELECT 1", code: "32"},
		{query: "max_joined_block_size_rows=7&nosuch=1", sql: "SELECT 1", code: "115"},
		{query: "count_distinct_implementation=" + esc("a b'\\"), sql: "SELECT getSetting('count_distinct_implementation') FORMAT TSVRaw", want: "a b'\\\n"},
		{query: "count_distinct_implementation=" + esc("a\x00b"), sql: "SELECT length(getSetting('count_distinct_implementation'))", want: "3\n"},
		{query: "max_joined_block_size_rows=7&readonly=1", sql: "SELECT getSetting('max_joined_block_size_rows'), getSetting('readonly')", want: "7\t1\n"},
		{query: "max_joined_block_size_rows=7&readonly=1", sql: "CREATE TABLE t (a UInt8) ENGINE = Memory", code: "164"},
		{query: "path=/tmp", sql: "SELECT 1", code: "115"},
		{query: "file=/etc/passwd&structure=" + esc("s String"), sql: "SELECT * FROM table", code: "115"},
	} {
		for _, when := range []string{"first", "again", "a third time"} {
			got := call{query: test.query, body: test.sql}.do(t, base, db)
			if code := got.head.Get("X-Clickhouse-Exception-Code"); code != test.code || code == "" && got.body != test.want {
				t.Errorf("%s, %s: code %q, want %q; %q, want %q", test.query, when, code, test.code, got.body, test.want)
			}
		}
	}
}

func TestHTTPInserts(t *testing.T) {
	base, db := localtest.Engine(t)
	frames := func(method compress.Method, pieces ...string) string {
		var b []byte
		w := compress.NewWriter(compress.LevelZero, method)
		for _, p := range pieces {
			if err := w.Compress([]byte(p)); err != nil {
				t.Fatal(err)
			}
			b = append(b, w.Data...)
		}
		return string(b)
	}
	big := strings.Repeat("(1,'x\n\n')\n,", 20000) // more than one read of the front
	for name, test := range map[string]struct {
		call
		status int
		want   string // count, sum(a), sum(length(s))
	}{
		"values":                  {call: call{body: "INSERT INTO t VALUES (1,'a'), (2,'\n\n')"}, want: "2\t3\t3"},
		"values in url":           {call: call{query: "query=" + esc("INSERT INTO t VALUES"), body: "(1,'a')\n\n,(2,'b');\n"}, want: "2\t3\t2"},
		"values in both":          {call: call{query: "query=" + esc("INSERT INTO t VALUES (1,'a'),"), body: "(2,'b')"}, want: "2\t3\t2"},
		"values lower case":       {call: call{body: "insert into t(a) values(7)"}, want: "1\t7\t1"},
		"values with expressions": {call: call{body: "INSERT INTO t VALUES (1+2, upper('a')), (length('\n\n'), repeat('x', 3))"}, want: "2\t5\t4"},
		"values with parameters":  {call: call{query: "param_n=40&param_s=xyz", body: "INSERT INTO t VALUES ({n:UInt64}, {s:String})"}, want: "1\t40\t3"},
		"values and more":         {call: call{body: "INSERT INTO t VALUES (1,';'); SELECT 1"}, status: 400, want: "0\t0\t0"},
		"many values":             {call: call{body: "INSERT INTO t VALUES " + big[:len(big)-1]}, want: "20000\t20000\t60000"},
		"tsv":                     {call: call{query: "query=" + esc("INSERT INTO t FORMAT TSV"), body: "1\ta\n2\tb\n"}, want: "2\t3\t2"},
		"tsv in body":             {call: call{body: "INSERT INTO t FORMAT TSV\n1\ta\n2\tb\n"}, want: "2\t3\t2"},
		"csv with crlf":           {call: call{body: "INSERT INTO t FORMAT CSV\r\n1,a\r\n2,b\r\n"}, want: "2\t3\t2"},
		"json after a blank":      {call: call{body: `INSERT INTO t FORMAT JSONEachRow {"a":5,"s":"a"} {"a":6}`}, want: "2\t11\t2"},
		"columns":                 {call: call{body: "INSERT INTO t (s, a) FORMAT TSV\nabc\t5\n"}, want: "1\t5\t3"},
		"columns except":          {call: call{body: "INSERT INTO t (* EXCEPT (s)) FORMAT TSV\n5\n"}, want: "1\t5\t1"},
		"settings before":         {call: call{body: `INSERT INTO t SETTINGS input_format_skip_unknown_fields=1, async_insert = 0 FORMAT JSONEachRow {"a":5,"z":1}`}, want: "1\t5\t1"},
		"settings after":          {call: call{body: `INSERT INTO t FORMAT JSONEachRow SETTINGS input_format_skip_unknown_fields = 1 {"a":5,"z":1}`}, want: "1\t5\t1"},
		"setting in the url":      {call: call{query: "input_format_skip_unknown_fields=1", body: `INSERT INTO t FORMAT JSONEachRow {"a":5,"z":1}`}, want: "1\t5\t1"},
		"comments and quotes":     {call: call{body: "-- INSERT INTO x\n/* VALUES (1) */ INSERT INTO /* FORMAT */ `t` (`a`, \"s\") FORMAT -- TSV\nTSV\n1\ta\n"}, want: "1\t1\t1"},
		"select":                  {call: call{body: "INSERT INTO t SELECT number, 'xy' FROM numbers(3)"}, want: "3\t3\t6"},
		"select with format":      {call: call{body: "INSERT INTO t (a) SELECT number FROM numbers(3) FORMAT TSV"}, want: "3\t3\t3"},
		"with select":             {call: call{body: "INSERT INTO t (a) WITH 2 AS x SELECT x"}, want: "1\t2\t1"},
		"input":                   {call: call{query: "query=" + esc("INSERT INTO t (a) SELECT a * 10 FROM input('a UInt64, unused String') WHERE a > 1 FORMAT CSV"), body: "1,x\n2,y\n3,z\n"}, want: "2\t50\t2"},
		"async":                   {call: call{query: "async_insert=1&wait_for_async_insert=1", body: "INSERT INTO t VALUES (9,'')"}, want: "1\t9\t0"},
		"no data":                 {call: call{body: "INSERT INTO t FORMAT TSV"}, status: 500, want: "0\t0\t0"},
		"no values":               {call: call{body: "INSERT INTO t VALUES"}, status: 500, want: "0\t0\t0"},
		"wrong data":              {call: call{body: "INSERT INTO t FORMAT TSV\nx\ty\n"}, status: 400, want: "0\t0\t0"},
		"no such table":           {call: call{body: "INSERT INTO nosuch FORMAT TSV\n1\ta\n"}, status: 404, want: "0\t0\t0"},
		"no such format":          {call: call{body: "INSERT INTO t FORMAT NoSuch\n1\ta\n"}, status: 404, want: "0\t0\t0"},
		"frames lz4":              {call: call{query: "decompress=1&query=" + esc("INSERT INTO t FORMAT TSV"), body: frames(compress.LZ4, "1\ta\n", "2\tb\n")}, want: "2\t3\t2"},
		"frames zstd":             {call: call{query: "decompress=1&query=" + esc("INSERT INTO t FORMAT TSV"), body: frames(compress.ZSTD, "1\ta\n2\t", "b\n")}, want: "2\t3\t2"},
		"frames none":             {call: call{query: "decompress=1", body: frames(compress.None, "INSERT INTO t FORMAT TSV\n1\ta\n")}, want: "1\t1\t1"},
		"frame cut after header":  {call: call{query: "decompress=1&query=" + esc("INSERT INTO t FORMAT TSV"), body: frames(compress.LZ4, "1\ta\n", "2\tb\n")[:len(frames(compress.LZ4, "1\ta\n"))+25]}, status: 500, want: "0\t0\t0"},
		"frame cut in header":     {call: call{query: "decompress=1&query=" + esc("INSERT INTO t FORMAT TSV"), body: frames(compress.LZ4, "1\ta\n", "2\tb\n")[:len(frames(compress.LZ4, "1\ta\n"))+5]}, status: 500, want: "0\t0\t0"},
		"frame damaged":           {call: call{query: "decompress=1&query=" + esc("INSERT INTO t FORMAT TSV"), body: frames(compress.LZ4, "1\ta\n") + strings.Replace(frames(compress.None, "2\tb\n"), "b", "c", 1)}, status: 500, want: "0\t0\t0"},
	} {
		t.Run(name, func(t *testing.T) {
			call{body: "CREATE OR REPLACE TABLE t (a UInt64, s String DEFAULT 'd') ENGINE = MergeTree ORDER BY a"}.do(t, base, db)
			got := test.call.do(t, base, db)
			if want := max(test.status, 200); got.status != want {
				t.Errorf("status %d, want %d: %s", got.status, want, got.body)
			}
			if test.status == 0 && got.body != "" {
				t.Errorf("body %q", got.body)
			}
			sums := call{body: "SELECT count(), sum(a), sum(length(s)) FROM t"}.do(t, base, db)
			if sums.body != test.want+"\n" {
				t.Errorf("stored %q, want %q", sums.body, test.want)
			}
			if test.status == 0 {
				var summary struct {
					Rows string `json:"written_rows"`
				}
				if err := json.Unmarshal([]byte(got.head.Get("X-ClickHouse-Summary")), &summary); err != nil {
					t.Errorf("X-ClickHouse-Summary: %v", err)
				}
				if count, _, _ := strings.Cut(test.want, "\t"); summary.Rows != count {
					t.Errorf("written_rows %s, want %s", summary.Rows, count)
				}
			}
		})
	}
}

// TestBrokenUpload breaks the connection in the middle of a body whose rows
// would parse: nothing may be stored.
func TestBrokenUpload(t *testing.T) {
	base, db := localtest.Engine(t)
	call{body: "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a"}.do(t, base, db)
	for _, rows := range []string{"1\n2\n", strings.Repeat("3\n", 200<<10)} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /?database=%s&query=%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", db, esc("INSERT INTO t FORMAT TSV"), len(rows), rows)
		time.Sleep(50 * time.Millisecond)
		conn.Close()
	}
	time.Sleep(300 * time.Millisecond)
	if got := (call{body: "SELECT count() FROM t"}).do(t, base, db); got.body != "0\n" {
		t.Errorf("a broken upload stored %s rows", got.body)
	}
}

func TestHTTPExternalTables(t *testing.T) {
	base, db := localtest.Engine(t)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile("one", "one.tsv")
	part.Write([]byte("1\ta\n2\tb\n"))
	part, _ = w.CreateFormFile("two", "")
	part.Write([]byte("3,x\n"))
	part, _ = w.CreateFormFile("none", "")
	part.Write(nil)
	w.WriteField("two_types", "UInt64,Tuple(a String)")
	w.WriteField("param_x", "7")
	w.Close()
	got := call{
		query: "readonly=1&one_structure=" + esc("a UInt64, s String") + "&two_format=CSV&none_structure=" + esc("z UInt8") + "&query=" + esc("SELECT (SELECT sum(a) FROM one), (SELECT any(_1) FROM two), (SELECT count() FROM none), {x:UInt8}"),
		head:  map[string]string{"Content-Type": w.FormDataContentType()},
		body:  b.String(),
	}.do(t, base, db)
	if got.body != "3\t3\t0\t7\n" {
		t.Errorf("%d %q", got.status, got.body)
	}
	b.Reset()
	w = multipart.NewWriter(&b)
	part, _ = w.CreateFormFile("one", "one.tsv")
	part.Write([]byte("1\n"))
	w.WriteField("query", "SELECT 1")
	w.Close()
	got = call{head: map[string]string{"Content-Type": w.FormDataContentType()}, body: b.String()}.do(t, base, db)
	if got.status != 400 || !strings.Contains(got.body, "Code: 36.") {
		t.Errorf("a table without structure: %d %q", got.status, got.body)
	}
}

func TestHTTPSessions(t *testing.T) {
	base, db := localtest.Engine(t)
	in := func(session, query, sql string) answer {
		return call{query: "session_id=" + session + "&" + query, body: sql}.do(t, base, db)
	}
	if got := in("nosuch", "session_check=1", "SELECT 1"); !strings.Contains(got.body, "Code: 372.") {
		t.Errorf("session_check: %q", got.body)
	}
	in("a", "", "CREATE TEMPORARY TABLE tmp (a UInt64)")
	in("a", "", "INSERT INTO tmp VALUES (1)\n\n,(2)")
	in("a", "", "SET max_block_size = 11")
	for query, want := range map[string]string{
		"":                                     "3\t11\t0\t" + db + "\n",
		"max_block_size=12&max_threads=3":      "3\t12\t0\t" + db + "\n",
		"log_comment=" + esc(`'\'`):            "3\t11\t3\t" + db + "\n",
		"readonly=1":                           "3\t11\t0\t" + db + "\n",
		"session_check=1&session_timeout=3600": "3\t11\t0\t" + db + "\n",
	} {
		// Twice, because the settings and tables of the first request must not
		// remain.
		for range 2 {
			got := in("a", query, "SELECT (SELECT sum(a) FROM tmp), getSetting('max_block_size'), if(startsWith(getSetting('log_comment'), 'weir'), 0, length(getSetting('log_comment'))), currentDatabase()")
			if got.body != want {
				t.Errorf("%q: %q, want %q", query, got.body, want)
			}
		}
	}
	if got := in("b", "", "SELECT * FROM tmp"); !strings.Contains(got.body, "Code: 60.") {
		t.Errorf("another session sees the table: %q", got.body)
	}
	if got := in("a", "readonly=2", "DROP DATABASE "+db); !strings.Contains(got.body, "Code: 164.") {
		t.Errorf("readonly in a session: %q", got.body)
	}
	if got := (call{method: "GET", query: "session_id=a&query=" + esc("TRUNCATE TABLE tmp")}).do(t, base, db); !strings.Contains(got.body, "Code: 164.") {
		t.Errorf("GET in a session: %q", got.body)
	}
	if got := in("a", "session_timeout=999999", "SELECT 1"); !strings.Contains(got.body, "Code: 374.") {
		t.Errorf("session_timeout: %q", got.body)
	}
	slow := make(chan answer)
	go func() { slow <- in("c", "", "SELECT sleep(2), 'slow'") }()
	running(t, base, "slow", true)
	if got := in("c", "", "SELECT 1"); !strings.Contains(got.body, "Code: 373.") {
		t.Errorf("a busy session: %q", got.body)
	}
	<-slow
	in("c", "session_timeout=1", "SELECT 1")
	in("a", "close_session=1", "SELECT 1")
	if got := in("a", "session_check=1", "SELECT 1"); !strings.Contains(got.body, "Code: 372.") {
		t.Errorf("a closed session: %q", got.body)
	}
	time.Sleep(2 * time.Second)
	if got := in("c", "session_check=1", "SELECT 1"); !strings.Contains(got.body, "Code: 372.") {
		t.Errorf("an expired session: %q", got.body)
	}
}

// TestAnswerCodings requests each coding, and decodes the answer with another
// program's decoder where there is one.
func TestAnswerCodings(t *testing.T) {
	base, db := localtest.Engine(t)
	const sql = "SELECT number % 10 FROM numbers(1000000)"
	plain := call{body: sql}.do(t, base, db)
	if plain.head.Get("Content-Encoding") != "" {
		t.Error("coded without being asked")
	}
	for accept, want := range map[string]string{"gzip": "gzip", "gzip, deflate, br": "gzip", "zstd;q=0, lz4": "lz4", "br": "", "deflate": "deflate", "identity": "", "zstd, lz4, gzip": "zstd"} {
		got := call{body: sql, head: map[string]string{"Accept-Encoding": accept}}.do(t, base, db)
		if got.head.Get("Content-Encoding") != want {
			t.Errorf("%q: coding %q, want %q", accept, got.head.Get("Content-Encoding"), want)
		}
		if want == "gzip" {
			r, err := gzip.NewReader(strings.NewReader(got.body))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(r); err != nil || string(text) != plain.body {
				t.Errorf("gzip: %d bytes, %v", len(text), err)
			}
		}
		if want != "" && len(got.body) > len(plain.body)/2 {
			t.Errorf("%s: %d bytes of %d", want, len(got.body), len(plain.body))
		}
	}
	if got := (call{query: "enable_http_compression=0", body: sql, head: map[string]string{"Accept-Encoding": "gzip"}}).do(t, base, db); got.head.Get("Content-Encoding") != "" {
		t.Error("enable_http_compression=0 was ignored")
	}
	for _, method := range []string{"", "LZ4", "ZSTD", "LZ4HC", "NONE"} {
		got := call{query: "compress=1&network_compression_method=" + method, body: sql}.do(t, base, db)
		if method == "" {
			got = call{query: "compress=1", body: sql}.do(t, base, db)
		}
		text, err := io.ReadAll(compress.NewReader(strings.NewReader(got.body)))
		if string(text) != plain.body {
			t.Errorf("frames %q: %d bytes, %v", method, len(text), err)
		}
	}
}

func TestBodyLimits(t *testing.T) {
	base, db := localtest.Engine(t)
	got := call{body: "SELECT '" + strings.Repeat("x", 300<<10) + "'"}.do(t, base, db)
	if got.status != 400 || !strings.Contains(got.body, "Code: 62.") {
		t.Errorf("a query over max_query_size: %d %.100q", got.status, got.body)
	}
	got = call{query: "max_query_size=1000000", body: "SELECT length('" + strings.Repeat("x", 300<<10) + "')"}.do(t, base, db)
	if got.body != "307200\n" {
		t.Errorf("with max_query_size raised: %d %.100q", got.status, got.body)
	}
}
