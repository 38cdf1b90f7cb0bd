package resp

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
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

// A ProtocolError is an error in the protocol: the rest of the connection's
// input cannot be read. Its text is that of Redis.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// A Reader parses the commands of one connection. Use NewReader.
type Reader struct {
	limits Limits
	err    error // what Batch returns from now on

	// buf[start:] is the input that was not returned yet. The offsets below count from
	// start, so that input can be moved.
	buf   []byte
	start int
	at    int    // parsed up to here
	left  int    // arguments that the command in progress still lacks
	bulk  int    // length of the next argument, or -1
	spans []span // arguments found

	args     [][]byte // of all commands that the last Batch returned
	commands [][][]byte
}

type span struct{ from, to int }

const (
	bufferLeast = 1 << 10  // the first buffer; it is what an idle connection keeps
	bufferMost  = 16 << 10 // up to here the buffer grows if the input fills it, beyond for a long command only
	argsIdle    = 256      // how many arguments and spans a Reader keeps room for
)

// NewReader returns a Reader for a new connection.
func NewReader(l Limits) *Reader {
	r := &Reader{bulk: -1}
	r.SetLimits(l)
	return r
}

// SetLimits changes the limits for commands that have not begun yet.
func (r *Reader) SetLimits(l Limits) {
	r.limits = Limits{cmp.Or(l.Args, defaultArgs), cmp.Or(l.Bulk, defaultBulk), cmp.Or(l.Request, defaultRequest)}
}

// Held returns how many bytes the Reader keeps beyond the little that every connection
// needs.
func (r *Reader) Held() (n int) {
	if cap(r.buf) > bufferLeast {
		n = cap(r.buf)
	}
	if cap(r.args)+cap(r.spans) > 2*argsIdle {
		n += 24*cap(r.args) + 16*cap(r.spans)
	}
	return n
}

// Partial reports whether the input ends with an incomplete command.
func (r *Reader) Partial() bool { return len(r.buf) > r.start }

// Fill reads once from src, after the input that Batch has not returned. The error is
// that of src; src may have returned input with it. Commands that Batch has returned are
// no longer valid.
func (r *Reader) Fill(src io.Reader) error {
	rest, size := r.buf[r.start:], cap(r.buf)
	switch {
	case len(rest) == 0 && size > bufferMost: // the long command is done
		size = bufferLeast
	case len(rest) == size && size >= bufferMost:
		// The buffer grows to the size of the arriving argument at most, if that is
		// known; it grows to that at once if a fifth has arrived.
		need := r.at + r.bulk + 2
		if size *= 2; r.bulk >= 0 && need > len(rest) && need <= 5*len(rest) {
			size = need
		}
	case len(r.buf) == size && size < bufferMost: // more has arrived than fits
		size = max(2*size, bufferLeast)
	}
	if size != cap(r.buf) {
		r.buf = append(make([]byte, 0, size), rest...)
	} else {
		r.buf = r.buf[:copy(r.buf, rest)]
	}
	r.start = 0
	room := r.buf[len(r.buf):cap(r.buf)]
	n, err := src.Read(room)
	if n < 0 || n > len(room) {
		n, err = 0, io.ErrNoProgress
	}
	r.buf = r.buf[:len(r.buf)+n]
	return err
}

// Batch returns commands that have arrived, at most most of them, in their order. If it
// returns none, more input is needed. Every command has at least one argument, its name.
// They are valid until the next Batch or Fill. The error is a [ProtocolError], without
// commands; each later call returns it again.
func (r *Reader) Batch(most int) ([][][]byte, error) {
	if cap(r.args) > argsIdle { // of a command with many arguments
		r.args = nil
	}
	clear(r.commands)
	r.args, r.commands = r.args[:0], r.commands[:0]
	for len(r.commands) < most && r.err == nil && r.parse() {
	}
	if len(r.commands) > 0 {
		return r.commands, nil
	}
	if len(r.spans) == 0 && cap(r.spans) > argsIdle {
		r.spans = nil
	}
	return nil, r.err
}

// parse takes one command from the input and reports whether there was one.
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
		b := r.buf[r.start+r.at:]
		if len(b) < r.bulk+2 {
			return r.wait()
		}
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

// take appends the command of r.spans and moves past it.
func (r *Reader) take() {
	first := len(r.args)
	in := r.buf[r.start:]
	r.args = slices.Grow(r.args, len(r.spans))
	for _, s := range r.spans {
		r.args = append(r.args, in[s.from:s.to:s.to])
	}
	r.commands = append(r.commands, r.args[first:len(r.args):len(r.args)])
	r.spans = r.spans[:0]
	r.start += r.at
	r.at = 0
}

// fail ends the stream.
func (r *Reader) fail(text string) bool {
	r.err = ProtocolError(text)
	return false
}

// wait returns false, as more input is needed. It fails if the command is too
// long already.
func (r *Reader) wait() bool {
	if len(r.buf)-r.start >= r.limits.Request {
		return r.fail(tooBig)
	}
	return false
}

const tooBig = "too big request"

// line finds the line that begins at r.at and ends with \n; its length is
// without it. Lines have a bound. Whether a command is too big must not depend
// on how its bytes arrive, so the bound also holds for a line that is complete.
func (r *Reader) line(tooLong string) (n int, ok bool) {
	b := r.buf[r.start+r.at:]
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

// open reads the head of a command: the number of its arguments, or all of them
// if it is inline. It skips counts of zero or less, and empty lines.
func (r *Reader) open() bool {
	b := r.buf[r.start:]
	if len(b) == 0 {
		return false
	}
	if b[0] != '*' {
		return r.inline()
	}
	count, n := short(b)
	if n == 0 {
		var ok bool
		if n, ok = r.line("too big mbulk count string"); !ok {
			return false
		}
		if count, ok = number(b[1:n]); !ok {
			return r.fail("invalid multibulk length")
		}
		n++
	}
	if count > int64(r.limits.Args) {
		if r.limits.Args < defaultArgs && count <= defaultArgs {
			return r.fail("too many arguments")
		}
		return r.fail("invalid multibulk length")
	}
	if count <= 0 {
		r.start += n
		return true
	}
	r.left, r.at = int(count), n
	return true
}

// length reads the length of the argument that comes next.
func (r *Reader) length() bool {
	b := r.buf[r.start+r.at:]
	var size int64
	n := 0
	if len(b) > 0 && b[0] == '$' {
		size, n = short(b)
	}
	if n == 0 {
		var ok bool
		if n, ok = r.line("too big bulk count string"); !ok {
			return false
		}
		if b[0] != '$' {
			return r.fail("expected '$', got '" + string(rune(b[0])) + "'")
		}
		if size, ok = number(b[1:n]); !ok || size < 0 {
			return r.fail("invalid bulk length")
		}
		n++
	}
	switch {
	case r.at+n > r.limits.Request:
		return r.fail(tooBig)
	case size > int64(r.limits.Bulk):
		return r.fail("invalid bulk length")
	case r.at+n+int(size)+2 > r.limits.Request:
		return r.fail(tooBig)
	}
	r.bulk = int(size)
	r.at += n
	return true
}

// short reads a head line of the usual form: a sign, digits, CRLF. n is its
// length, or 0 if the line has another form or is incomplete; then line and
// number must read it.
func short(b []byte) (v int64, n int) {
	for i := 1; i < min(len(b), 9); i++ {
		c := b[i] - '0'
		if c > 9 {
			if i > 1 && b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' && (b[1] != '0' || i == 2) {
				return v, i + 2
			}
			break
		}
		v = v*10 + int64(c)
	}
	return 0, 0
}

// number reads the rest of a head line: a decimal number as in string2ll of Redis, which has
// one form, and a carriage return.
func number(b []byte) (int64, bool) {
	text, ok := bytes.CutSuffix(b, []byte("\r"))
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, ok && err == nil && strconv.FormatInt(n, 10) == string(text)
}
