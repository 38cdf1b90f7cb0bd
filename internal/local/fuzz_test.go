package local

import (
	"bytes"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest: any URL, headers and body are either accepted or refused. An
// accepted request has only parts of what was sent: one statement's text, names
// that can be quoted, settings that are plain words.
func FuzzRequest(f *testing.F) {
	form := "--x\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\nSELECT * FROM t\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"t\"; filename=\"t\"\r\n\r\n1\t2\r\n--x--\r\n"
	f.Add("POST", "query=SELECT%201&max_threads=2&param_a=1", "", "", []byte(""))
	f.Add("GET", "query=INSERT%20INTO%20t%20FORMAT%20CSV&session_id=s&readonly=1", "", "", []byte("1,2\n\n3,4\n"))
	f.Add("POST", "", "", "", []byte("INSERT INTO t VALUES (1, ';'); SELECT 2"))
	f.Add("POST", "decompress=1&query=INSERT%20INTO%20t%20FORMAT%20Native", "", "", []byte("\x00\x01\x02"))
	f.Add("POST", "t_structure=a+UInt8,b+UInt8&t_format=TSV", "multipart/form-data; boundary=x", "", []byte(form))
	f.Add("POST", "t_types=Array(Tuple(a,b)),UInt8", "multipart/form-data; boundary=x", "", []byte(form))
	f.Add("POST", "%zz&client_protocol_version=x", "multipart/form-data", "gzip", []byte{0x1f, 0x8b})
	f.Add("POST", "database=d%60;x&x'y=1", "text/plain", "zstd", []byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(t *testing.T, method, query, media, coding string, sent []byte) {
		if method != "GET" && method != "HEAD" {
			method = "POST"
		}
		r := httptest.NewRequest(method, "/", bytes.NewReader(sent))
		r.URL = &url.URL{Path: "/", RawQuery: query}
		r.Header.Set("Content-Type", media)
		r.Header.Set("Content-Encoding", coding)
		q, err := newRequest(httptest.NewRecorder(), r)
		if q == nil {
			t.Fatal("no request to answer")
		}
		defer q.close()
		if err != nil || q.read(1<<20) != nil {
			return
		}
		if strings.TrimSpace(q.sql) == "" {
			t.Fatal("an empty query was understood")
		}
		if n := len(q.sql); n > 1<<20+2*len(query)+100 {
			t.Fatalf("%d bytes of SQL from %d and %d", n, len(query), len(sent))
		}
		for _, e := range q.external {
			if e.structure == "" || e.rows.File == nil {
				t.Fatalf("a table without structure or rows: %+v", e)
			}
		}
		for _, s := range q.settings {
			if reserved[s.name] || strings.HasPrefix(s.name, "param_") {
				t.Fatalf("%s is no setting", s.name)
			}
		}
		for _, name := range []string{q.database, q.id} {
			one(t, identifier(name), '`')
			one(t, literal(name), '\'')
		}
	})
}

// one fails unless the lexer reads a text as one token to its end, so that a
// quoted text cannot leave its quotes.
func one(t *testing.T, text string, quote byte) {
	t.Helper()
	l := lexer{text: text}
	if tok := l.next(); text[0] != quote || tok.start != 0 || tok.end != len(text) {
		t.Fatalf("%q ends at %d of %d", text, tok.end, len(text))
	}
}
