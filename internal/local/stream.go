package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/compress"
)

// streamable formats write rows one after another, nothing before, between or
// after them. The engine formats every chunk of a stream as a document of its
// own, so only these can be sent chunk by chunk.
var streamable = map[string]bool{
	"Native": true, "RowBinary": true, "CSV": true, "JSONEachRow": true, "JSONLines": true, "NDJSON": true,
	"TabSeparated": true, "TSV": true, "TabSeparatedRaw": true, "TSVRaw": true, "JSONCompactEachRow": true,
}

// streams says whether the answer to q is sent while the engine makes it. Other
// answers are sent when they are complete.
func (q *request) streams(s *session, format string) bool {
	if q.inline || !streamable[format] || q.flag("wait_end_of_query") || q.flag("http_wait_end_of_query") {
		return false
	}
	if w := firstWord(q.sql); w != "SELECT" && w != "WITH" {
		return false
	}
	return q.reads(s)
}

// reads says whether the statement only reads, and so has a result. It asks the engine's
// parser only where the first word does not tell: that takes a millisecond for a kilobyte,
// a third of what it takes to make a table or a view.
func (q *request) reads(s *session) bool {
	switch firstWord(q.sql) {
	case "SELECT":
		return true
	case "ALTER", "CREATE", "DELETE", "DROP", "INSERT", "TRUNCATE":
		return false
	}
	_, c := s.inspect(q.sql)
	return c == readOnly
}

// streamBuffer is how much of an answer is buffered before the status line is
// sent, so that an error within it gets its own status. A server buffers as
// much.
const streamBuffer = 1 << 20

// stream runs a query and sends its chunks.
func (f *front) stream(s *session, q *request, format string, out *response) error {
	start := time.Now()
	r := s.call(s.lib.stream, q.sql, format, q.params)
	defer r.free()
	if err := r.err(); err != nil {
		return err
	}
	var held []byte
	var total stats
	for {
		chunk := s.next(r)
		if err := chunk.err(); err != nil {
			chunk.free()
			return err
		}
		b := chunk.bytes()
		held = append(held, b...)
		total.add(chunk.stats())
		chunk.free()
		if len(b) == 0 {
			out.head(format, f.timezone, total, time.Since(start))
			out.whole(held)
			return nil
		}
		if len(held) >= streamBuffer {
			break
		}
	}

	tag := strings.ToLower(rand.Text()[:16])
	out.w.Header().Set("X-ClickHouse-Exception-Tag", tag)
	out.head(format, f.timezone, total, time.Since(start))
	body := out.body()
	_, err := body.Write(held)
	for err == nil {
		chunk := s.next(r)
		if fail := chunk.err(); fail != nil {
			chunk.free()
			// The status line is sent. As a server does, append the error, framed so
			// that it cannot be mistaken for data.
			f.log.Debug("engine: query failed after its first rows were sent", "query_id", q.id, "error", fail)
			text := f.text(fail)
			if framed, ok := body.(*framer); ok {
				// clickhouse-go looks for the mark in the raw bytes, so they must not be
				// compressed.
				framed.enc = compress.NewWriter(compress.LevelZero, compress.None)
			}
			if _, err = fmt.Fprintf(body, "\r\n__exception__\r\n%s\r\n%s%d %s\r\n__exception__\r\n", tag, text, len(text), tag); err == nil {
				body.Close()
			}
			return nil
		}
		b := chunk.bytes()
		if len(b) == 0 {
			chunk.free()
			body.Close()
			return nil
		}
		_, err = body.Write(b)
		chunk.free()
	}
	// The client has left or does not read, so no error can be sent.
	s.lib.cancel(s.handle, r.handle)
	f.log.Debug("engine: client left a stream", "query_id", q.id, "error", err)
	return nil
}

// next returns the next chunk of a stream, empty at its end.
func (s *session) next(stream *result) *result {
	return &result{lib: s.lib, handle: s.lib.fetch(s.handle, stream.handle)}
}

// text returns the text of an error as in a server's answer, with a line end.
func (f *front) text(err error) string {
	var ex *Exception
	if !errors.As(err, &ex) {
		ex = exceptionf(1001, "STD_EXCEPTION", "%v", err)
	}
	if strings.HasSuffix(ex.Text, ")") && !strings.Contains(ex.Text, "(version "+f.version+")") || !strings.Contains(ex.Text, "(version ") {
		return ex.Text + " (version " + f.version + ")\n"
	}
	return ex.Text + "\n"
}
