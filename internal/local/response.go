package local

import (
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// response writes the answer to one request.
type response struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	bodyless bool   // HEAD
	coding   string // Content-Encoding the client accepts, or ""
	framed   bool   // ?compress=1
	frame    compress.Method
}

func newResponse(w http.ResponseWriter, r *http.Request, q *request) *response {
	out := &response{w: w, rc: http.NewResponseController(w), bodyless: r.Method == http.MethodHead}
	if q.values.Get("enable_http_compression") != "0" {
		out.coding = accepted(r.Header.Get("Accept-Encoding"))
	}
	if q.flag("compress") {
		out.framed = true
		switch strings.ToUpper(q.values.Get("network_compression_method")) {
		case "ZSTD":
			out.frame = compress.ZSTD
		case "LZ4HC":
			out.frame = compress.LZ4HC
		case "NONE":
			out.frame = compress.None
		default:
			out.frame = compress.LZ4
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	return out
}

// accepted picks a content coding, the one ClickHouse prefers first.
func accepted(header string) string {
	offered := map[string]bool{}
	for item := range strings.SplitSeq(strings.ToLower(header), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(item), ";")
		offered[strings.TrimSpace(name)] = strings.ReplaceAll(weight, " ", "") != "q=0"
	}
	for _, coding := range []string{"zstd", "lz4", "gzip", "deflate"} {
		if offered[coding] {
			return coding
		}
	}
	return ""
}

// contentTypes of formats that do not answer as plain text.
var contentTypes = map[string]string{
	"JSON": "application/json; charset=UTF-8", "JSONCompact": "application/json; charset=UTF-8",
	"JSONStrings": "application/json; charset=UTF-8", "JSONCompactStrings": "application/json; charset=UTF-8",
	"JSONColumns": "application/json; charset=UTF-8", "JSONColumnsWithMetadata": "application/json; charset=UTF-8",
	"JSONObjectEachRow": "application/json; charset=UTF-8",
	"JSONEachRow":       "application/x-ndjson; charset=UTF-8", "JSONLines": "application/x-ndjson; charset=UTF-8",
	"NDJSON": "application/x-ndjson; charset=UTF-8", "JSONCompactEachRow": "application/x-ndjson; charset=UTF-8",
	"CSV": "text/csv; charset=UTF-8; header=absent", "CSVWithNames": "text/csv; charset=UTF-8; header=present",
	"CSVWithNamesAndTypes": "text/csv; charset=UTF-8; header=present",
	"TabSeparated":         "text/tab-separated-values; charset=UTF-8", "TSV": "text/tab-separated-values; charset=UTF-8",
	"TabSeparatedWithNames": "text/tab-separated-values; charset=UTF-8", "TSVWithNames": "text/tab-separated-values; charset=UTF-8",
	"TabSeparatedWithNamesAndTypes": "text/tab-separated-values; charset=UTF-8", "TSVWithNamesAndTypes": "text/tab-separated-values; charset=UTF-8",
	"XML":    "application/xml; charset=UTF-8",
	"Native": "application/octet-stream", "RowBinary": "application/octet-stream",
	"RowBinaryWithNamesAndTypes": "application/octet-stream", "Parquet": "application/octet-stream",
	"Arrow": "application/octet-stream", "ArrowStream": "application/octet-stream", "ORC": "application/octet-stream",
}

// head sets the headers of a good answer; format is empty for a statement that
// has no result.
func (o *response) head(format, timezone string, st stats, took time.Duration) {
	h := o.w.Header()
	if t, ok := contentTypes[format]; ok {
		h.Set("Content-Type", t)
	}
	if format != "" {
		h.Set("X-ClickHouse-Format", format)
	}
	h.Set("X-ClickHouse-Timezone", timezone)
	// The numbers are strings, as ClickHouse writes them.
	h.Set("X-ClickHouse-Summary", fmt.Sprintf(
		`{"read_rows":"%d","read_bytes":"%d","written_rows":"%d","written_bytes":"%d","total_rows_to_read":"0","result_rows":"%d","result_bytes":"%d","elapsed_ns":"%d"}`,
		st.readRows, st.readBytes, st.writtenRows, st.writtenBytes, st.resultRows, st.resultBytes, took.Nanoseconds()))
}

// whole sends a complete body. An empty one has Content-Length 0 and no
// coding: that is how clickhouse-go knows that there is no result.
func (o *response) whole(b []byte) {
	h := o.w.Header()
	if len(b) == 0 {
		h.Set("Content-Length", "0")
		o.w.WriteHeader(http.StatusOK)
		return
	}
	if o.coding == "" && !o.framed {
		h.Set("Content-Length", strconv.Itoa(len(b)))
	}
	body := o.body()
	if _, err := body.Write(b); err == nil {
		body.Close()
	}
}

// body starts a body of unknown length. Close ends it; without Close the client
// sees a truncated body, if the coding shows that.
func (o *response) body() io.WriteCloser {
	if o.bodyless {
		o.w.WriteHeader(http.StatusOK)
		return nop{io.Discard}
	}
	var out io.WriteCloser = nop{deadline{o}}
	switch o.coding {
	case "gzip":
		z := zippers.Get().(*gzip.Writer)
		z.Reset(deadline{o})
		out = zipped{z}
	case "deflate":
		out, _ = zlib.NewWriterLevel(deadline{o}, zlib.BestSpeed)
	case "zstd":
		out, _ = zstd.NewWriter(deadline{o}, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	case "lz4":
		out = lz4.NewWriter(deadline{o})
	}
	if o.coding != "" {
		o.w.Header().Set("Content-Encoding", o.coding)
	}
	if o.framed {
		out = &framer{out: out, enc: compress.NewWriter(compress.LevelZero, o.frame)}
	}
	return out
}

// zippers are used again and again, because each takes a megabyte. What most HTTP
// clients accept is gzip.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return z
}}

// zipped is an answer in gzip; Close gives the writer back.
type zipped struct{ *gzip.Writer }

func (z zipped) Close() error {
	err := z.Writer.Close()
	z.Reset(nil)
	zippers.Put(z.Writer)
	return err
}

// exception answers with an error. It must be called before anything else was
// sent.
func (o *response) exception(code int, text string) {
	h := o.w.Header()
	h.Set("X-ClickHouse-Exception-Code", strconv.Itoa(code))
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_ = o.rc.SetWriteDeadline(time.Now().Add(ioTimeout))
	o.w.WriteHeader(httpStatus(code))
	if !o.bodyless {
		_, _ = io.WriteString(o.w, text)
	}
}

// tooLarge is the code for a body over the limit: QUERY_IS_TOO_LARGE, the one
// that ClickHouse answers with status 413.
const tooLarge = 229

// httpStatus maps a code to a status, as ClickHouse's
// src/Server/HTTP/exceptionCodeToHTTPStatus.cpp does.
func httpStatus(code int) int {
	switch code {
	case 194: // REQUIRED_PASSWORD
		return http.StatusUnauthorized
	case 192, 193, 516, 512, 497: // UNKNOWN_USER WRONG_PASSWORD AUTHENTICATION_FAILED SET_NON_GRANTED_ROLE ACCESS_DENIED
		return http.StatusForbidden
	case 36, 427, // BAD_ARGUMENTS CANNOT_COMPILE_REGEXP
		6, 25, 26, 38, 41, 72, 441, 675, 676, 27, 376, // CANNOT_PARSE_TEXT … _UUID
		15, 44, 37, 123, 8, // DUPLICATE_COLUMN ILLEGAL_COLUMN UNKNOWN_ELEMENT_IN_AST UNKNOWN_TYPE_OF_AST_NODE THERE_IS_NO_COLUMN
		167, 168, 223, // TOO_DEEP_AST TOO_BIG_AST UNEXPECTED_AST_STRUCTURE
		62, 117, 53, 321: // SYNTAX_ERROR INCORRECT_DATA TYPE_MISMATCH VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
		return http.StatusBadRequest
	case 60, 46, 47, 50, 56, 81, 115, 152, 63, 73, 336, 78, 511: // UNKNOWN_TABLE and its kin
		return http.StatusNotFound
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case 48: // NOT_IMPLEMENTED
		return http.StatusNotImplemented
	case 209, 76, 439: // SOCKET_TIMEOUT CANNOT_OPEN_FILE CANNOT_SCHEDULE_TASK
		return http.StatusServiceUnavailable
	case 381: // HTTP_LENGTH_REQUIRED
		return http.StatusLengthRequired
	case 159: // TIMEOUT_EXCEEDED
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}

// framer packs what is written into ClickHouse's compression frames of at most
// a megabyte, as the server does.
type framer struct {
	out io.WriteCloser
	enc *compress.Writer
}

func (f *framer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), 1<<20)]
		if err := f.enc.Compress(piece); err != nil {
			return n, err
		}
		if _, err := f.out.Write(f.enc.Data); err != nil {
			return n, err
		}
		n += len(piece)
		p = p[len(piece):]
	}
	return n, nil
}

func (f *framer) Close() error { return f.out.Close() }

// deadline gives every write to the client its own time limit.
type deadline struct{ o *response }

func (d deadline) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), 1<<20)]
		_ = d.o.rc.SetWriteDeadline(time.Now().Add(ioTimeout))
		m, err := d.o.w.Write(piece)
		n += m
		if err != nil {
			return n, err
		}
		p = p[len(piece):]
	}
	return n, nil
}

type nop struct{ io.Writer }

func (nop) Close() error { return nil }
