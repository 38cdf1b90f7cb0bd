package resp

import (
	"bytes"
	"io"
)

// Limits bound what a peer may send. A zero field means its default.
type Limits struct {
	Args    int // arguments of a command, its name included; default 1,048,576
	Bulk    int // bytes of an argument; default 512 MiB
	Request int // bytes of a command as sent; default 1 GiB
}

// The bounds of Redis (proto-max-bulk-len, client-query-buffer-limit, and
// PROTO_INLINE_MAX_SIZE in server.h).
const (
	defaultArgs    = 1 << 20
	defaultBulk    = 512 << 20
	defaultRequest = 1 << 30
	inlineMax      = 64 << 10
)

// A ProtocolError is a breach of the protocol: nothing that follows on the
// connection can be understood. Its text is that of Redis.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// A Reader takes commands from a connection.
type Reader struct {
	src    io.Reader
	limits Limits
	ended  error // of src
	err    error // what Batch returns from now on

	// Input that has not been handed out is buf[start:end]. Offsets below
	// count from start, so that input can be moved.
	buf        []byte
	start, end int
	at         int    // parsed up to here
	left       int    // arguments the command in progress still misses
	bulk       int    // length of the argument that comes now, or -1
	spans      []span // arguments found

	args     [][]byte // of all commands handed out
	commands [][][]byte
	small    int // reads in a row that needed little of buf
}

type span struct{ from, to int }

// The buffer starts small, so that idle connections cost little, and grows to
// bufferMax for those who keep it full. Longer commands make it grow further,
// for as long as they are there.
const (
	bufferMin = 1 << 10
	bufferMax = 64 << 10
)

// NewReader returns a Reader of the commands in src.
func NewReader(src io.Reader, l Limits) *Reader {
	r := &Reader{src: src, bulk: -1}
	r.SetLimits(l)
	return r
}

// SetLimits changes the limits, from the next command on that has not begun.
func (r *Reader) SetLimits(l Limits) {
	if l.Args <= 0 {
		l.Args = defaultArgs
	}
	if l.Bulk <= 0 {
		l.Bulk = defaultBulk
	}
	if l.Request <= 0 {
		l.Request = defaultRequest
	}
	r.limits = l
}

// Partial reports whether a command has begun to arrive and is not complete.
func (r *Reader) Partial() bool { return r.end > r.start }

// Batch returns the commands that have arrived, most of them at once, in
// their order; it reads, once or until one is complete, only if there is none.
// Every command has at least one argument, its name. What is returned is valid
// until the next call. The error is a [ProtocolError] or that of the source
// (io.EOF, also within a command) and stands from then on; no commands come
// with it.
func (r *Reader) Batch(most int) ([][][]byte, error) {
	if cap(r.args) > 1<<12 {
		r.args = nil // of one long command
	}
	clear(r.commands)
	r.args, r.commands = r.args[:0], r.commands[:0]
	for {
		for len(r.commands) < most && r.err == nil && r.parse() {
		}
		if len(r.commands) > 0 {
			return r.commands, nil
		}
		if r.err == nil {
			r.err = r.ended // what came with it has been handed out
		}
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
}

// fill makes room and reads once.
func (r *Reader) fill() {
	switch n := r.end - r.start; {
	case n == 0:
		r.start, r.end = 0, 0
		if len(r.buf) > bufferMax || r.small >= 8 && len(r.buf) > bufferMin {
			r.buf, r.small = make([]byte, max(bufferMin, min(len(r.buf)/2, bufferMax))), 0
		}
	case r.end == len(r.buf) && r.start > 0:
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, n
	}
	if r.end == len(r.buf) {
		grown := make([]byte, max(2*len(r.buf), bufferMin))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.end:])
	if n < 0 || n > len(r.buf)-r.end {
		n, err = 0, io.ErrNoProgress
	}
	if r.end += n; r.end == len(r.buf) && len(r.buf) < bufferMax && n > 0 {
		r.small = 0
		// Full: the next one reads more at a time.
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	} else if n < len(r.buf)/8 {
		r.small++
	} else {
		r.small = 0
	}
	r.ended = err
}

// parse takes one command from the buffer and reports whether there was one.
func (r *Reader) parse() bool {
	for r.left == 0 {
		if !r.open() {
			return false
		}
		if len(r.spans) > 0 { // an inline command is complete
			r.take()
			return true
		}
	}
	for r.left > 0 {
		if r.bulk < 0 && !r.length() {
			return false
		}
		if r.end-r.start-r.at < r.bulk+2 {
			return r.wait()
		}
		b := r.buf[r.start+r.at:]
		if b[r.bulk] != '\r' || b[r.bulk+1] != '\n' {
			return r.fail("expected CRLF after bulk")
		}
		r.spans = append(r.spans, span{r.at, r.at + r.bulk})
		r.at += r.bulk + 2
		r.bulk = -1
		r.left--
	}
	r.take()
	return true
}

// take appends the command of r.spans and moves behind it.
func (r *Reader) take() {
	first := len(r.args)
	for _, s := range r.spans {
		r.args = append(r.args, r.buf[r.start+s.from:r.start+s.to:r.start+s.to])
	}
	r.commands = append(r.commands, r.args[first:len(r.args):len(r.args)])
	if cap(r.spans) > 1<<12 {
		r.spans = nil
	}
	r.spans = r.spans[:0]
	r.start += r.at
	r.at = 0
}

// fail ends the stream.
func (r *Reader) fail(text string) bool {
	r.err = ProtocolError(text)
	return false
}

// wait says that more input is needed, unless the command will be too long.
func (r *Reader) wait() bool {
	if r.end-r.start >= r.limits.Request {
		return r.fail(tooBig)
	}
	return false
}

const tooBig = "too big request"

// line finds the line that begins at r.at and ends with \n; its length is
// without it. Lines are never long. Whether a command is too big must not
// depend on the pieces it comes in, so a line that is there whole is measured
// like one that is not.
func (r *Reader) line(tooLong string) (n int, ok bool) {
	b := r.buf[r.start+r.at : r.end]
	n = bytes.IndexByte(b[:min(len(b), inlineMax)], '\n')
	if n < 0 {
		if len(b) >= inlineMax && r.at+inlineMax <= r.limits.Request {
			return 0, r.fail(tooLong)
		}
		return 0, r.wait()
	}
	if r.at+n+1 > r.limits.Request {
		return 0, r.fail(tooBig)
	}
	return n, true
}

// open reads the head of a command: how many arguments follow, or all of them
// if it is an inline one. A count of none at all is no command, nor is an
// empty line.
func (r *Reader) open() bool {
	if r.start == r.end {
		return false
	}
	if r.buf[r.start] != '*' {
		return r.inline()
	}
	n, ok := r.line("too big mbulk count string")
	if !ok {
		return false
	}
	count, ok := number(r.buf[r.start+1 : r.start+n])
	if !ok || count > int64(r.limits.Args) {
		if ok && r.limits.Args < defaultArgs && count <= defaultArgs {
			return r.fail("too many arguments")
		}
		return r.fail("invalid multibulk length")
	}
	if count <= 0 {
		r.start += n + 1
		return true
	}
	r.left, r.at = int(count), n+1
	return true
}

// length reads the length of the argument that comes next.
func (r *Reader) length() bool {
	n, ok := r.line("too big bulk count string")
	if !ok {
		return false
	}
	line := r.buf[r.start+r.at:][:n]
	if n == 0 || line[0] != '$' {
		c := byte('\n')
		if n > 0 {
			c = line[0]
		}
		return r.fail("expected '$', got '" + string(rune(c)) + "'")
	}
	size, ok := number(line[1:])
	if !ok || size < 0 || size > int64(r.limits.Bulk) {
		return r.fail("invalid bulk length")
	}
	if r.at+n+1+int(size)+2 > r.limits.Request {
		return r.fail(tooBig)
	}
	r.bulk = int(size)
	r.at += n + 1
	return true
}

// number reads the rest of a head line: decimal, as string2ll in Redis takes
// it, and a carriage return.
func number(b []byte) (int64, bool) {
	if len(b) == 0 || b[len(b)-1] != '\r' {
		return 0, false
	}
	b = b[:len(b)-1]
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 || b[0] == '0' && (len(b) > 1 || negative) {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
