package resp

import (
	"bytes"
	"io"
	"slices"
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

// A Room is the memory for input and for the commands that Batch returns.
// Readers whose turns do not overlap share one, so that an idle connection
// needs none.
type Room struct {
	buf      []byte
	spare    [][]byte // buffers of long commands that are done
	keeps    int      // how many bytes spare may have
	args     [][]byte // of all commands handed out
	commands [][][]byte
	begins   []int // where in the input each of them begins
}

// NewRoom returns a Room that reads up to size bytes at a time. It keeps up to spare
// bytes of the buffers of long commands for the next ones: to zero and to collect
// new ones takes longer than most commands.
func NewRoom(size, spare int) *Room { return &Room{buf: make([]byte, size), keeps: spare} }

// moved returns a buffer with room for size bytes that begins with b, and takes the
// memory of b.
func (room *Room) moved(b []byte, size int) []byte {
	for i, s := range room.spare {
		if cap(s) >= size && cap(s) < 2*size {
			room.spare = slices.Delete(room.spare, i, i+1)
			s = append(s[:0], b...)
			room.take(b)
			return s
		}
	}
	grown := make([]byte, size)
	copy(grown, b)
	room.take(b)
	return grown[:len(b)]
}

// take keeps a buffer of a long command in place of the oldest ones.
func (room *Room) take(b []byte) {
	if cap(b) < max(len(room.buf), 1) || cap(b) > room.keeps {
		return
	}
	sum := cap(b)
	for _, s := range room.spare {
		sum += cap(s)
	}
	n := 0
	for ; sum > room.keeps; n++ {
		sum -= cap(room.spare[n])
	}
	room.spare = append(slices.Delete(room.spare, 0, n), b)
}

// A Reader parses the commands of one connection. Use NewReader.
type Reader struct {
	limits Limits
	err    error // what Batch returns from now on

	// in[start:] is the input that was not returned yet: in the Room during a
	// turn, in held between two turns. The offsets below count from start, so that
	// input can be moved.
	in    []byte
	start int
	held  []byte
	at    int    // parsed up to here
	left  int    // arguments that the command in progress still lacks
	bulk  int    // length of the next argument, or -1
	spans []span // arguments found

	unquoted []byte // the text that the spans refer to, for an inline command with quotes
}

type span struct{ from, to int }

const (
	heldIdle  = 512     // how much memory an empty Reader keeps
	spansIdle = 64      // how many spans it keeps
	argsIdle  = 4 << 10 // how many arguments of a batch a Room keeps
	batchArgs = 1 << 10 // a batch ends with the command that makes it so many arguments
)

// NewReader returns a Reader for a new connection.
func NewReader(l Limits) *Reader {
	r := &Reader{bulk: -1}
	r.SetLimits(l)
	return r
}

// SetLimits changes the limits for commands that have not begun yet.
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

// Held returns how many bytes the Reader keeps between two turns.
func (r *Reader) Held() int { return cap(r.held) + 16*cap(r.spans) }

// Partial reports whether the input ends with an incomplete command.
func (r *Reader) Partial() bool { return len(r.in) > r.start }

// Fill reads once from src, into the room or after the input that the Reader
// holds, and begins a turn in the room. The error is that of src; src may have
// returned input with it.
func (r *Reader) Fill(room *Room, src io.Reader) error {
	// An incomplete command is copied into the room, unless it is long: then its
	// buffer grows.
	into, from := room.buf, len(r.held)
	if from <= len(into)/2 {
		copy(into, r.held)
		r.held = r.held[:0]
	} else {
		if from == cap(r.held) {
			// The buffer grows to the size of the arriving argument at most, if that is
			// known; it grows to that at once if a fifth has arrived, because a large
			// step takes longer than most commands.
			size := 2 * from
			if need := r.at + r.bulk + 2; r.bulk >= 0 && need > from && need <= 5*from {
				size = need
			}
			r.held = room.moved(r.held, size)
		}
		into = r.held[:cap(r.held)]
	}
	n, err := src.Read(into[from:])
	if n < 0 || n > len(into)-from {
		n, err = 0, io.ErrNoProgress
	}
	r.in = into[:from+n]
	return err
}

// Batch returns commands that have arrived, at most most of them, in their
// order. Every command has at least one argument, its name. They are valid
// until the room is used again. The error is a [ProtocolError], without
// commands; each later call returns it again.
//
// A batch ends early after commands with many arguments: a caller that runs only
// the first of them and takes back the others would parse them again each time.
//
// If it returns no commands, more input is needed and the turn is over: the
// Reader has copied the beginning of the next command to its own memory.
func (r *Reader) Batch(room *Room, most int) ([][][]byte, error) {
	if cap(room.args) > argsIdle {
		room.args = nil // a command had very many arguments
	}
	clear(room.commands)
	room.args, room.commands, room.begins = room.args[:0], room.commands[:0], room.begins[:0]
	for len(room.commands) < most && len(room.args) < batchArgs && r.err == nil && r.parse(room) {
	}
	if len(room.commands) > 0 {
		return room.commands, nil
	}
	r.keep(room)
	return nil, r.err
}

// Unread takes back the last n commands of the last batch, and ends the turn.
func (r *Reader) Unread(room *Room, n int) {
	if n > 0 {
		r.start = room.begins[len(room.begins)-n]
		r.at, r.left, r.bulk, r.spans = 0, 0, -1, r.spans[:0]
		r.unquoted, r.err = nil, nil // Batch finds a protocol error after them again
	}
	r.keep(room)
}

// Close gives the memory of the Reader, which is not used any more, to the room.
func (r *Reader) Close(room *Room) {
	room.take(r.held)
	r.held, r.in, r.start = nil, nil, 0
}

// keep ends a turn: it copies the rest of the input to the Reader's own memory.
func (r *Reader) keep(room *Room) {
	rest := r.in[r.start:]
	if len(rest) == 0 && cap(r.held) > heldIdle {
		room.take(r.held)
		r.held = nil
	}
	if len(r.spans) == 0 && cap(r.spans) > spansIdle {
		r.spans = nil
	}
	if held := r.held[:cap(r.held)]; len(rest) > 0 && len(held) > 0 && &rest[0] == &held[0] {
		r.held = held[:len(rest)] // a long command that arrives in parts stays where it is
	} else {
		r.held = append(r.held[:0], rest...) // they may overlap
	}
	r.in, r.start = r.held, 0
}

// parse takes one command from the input and reports whether there was one.
func (r *Reader) parse(room *Room) bool {
	for r.left == 0 {
		if !r.open() {
			return false
		}
		if len(r.spans) > 0 { // an inline command is complete
			r.take(room)
			return true
		}
	}
	for r.left > 0 {
		if r.bulk < 0 && !r.length() {
			return false
		}
		b := r.in[r.start+r.at:]
		if len(b) < r.bulk+2 {
			return r.wait()
		}
		if b[r.bulk] != '\r' || b[r.bulk+1] != '\n' {
			return r.fail("expected CRLF after bulk")
		}
		if len(r.spans) == cap(r.spans) { // to twice as many; append would make a quarter more, and leave much garbage
			r.spans = slices.Grow(r.spans, min(r.left, max(len(r.spans), spansIdle)))
		}
		r.spans = append(r.spans, span{r.at, r.at + r.bulk})
		r.at += r.bulk + 2
		r.bulk = -1
		r.left--
	}
	r.take(room)
	return true
}

// take appends the command of r.spans and moves past it.
func (r *Reader) take(room *Room) {
	first := len(room.args)
	in := r.in[r.start:]
	if r.unquoted != nil {
		in, r.unquoted = r.unquoted, nil
	}
	room.args = slices.Grow(room.args, len(r.spans))
	for _, s := range r.spans {
		room.args = append(room.args, in[s.from:s.to:s.to])
	}
	room.commands = append(room.commands, room.args[first:len(room.args):len(room.args)])
	room.begins = append(room.begins, r.start)
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
	if len(r.in)-r.start >= r.limits.Request {
		return r.fail(tooBig)
	}
	return false
}

const tooBig = "too big request"

// line finds the line that begins at r.at and ends with \n; its length is
// without it. Lines have a bound. Whether a command is too big must not depend
// on how its bytes arrive, so the bound also holds for a line that is complete.
func (r *Reader) line(tooLong string) (n int, ok bool) {
	b := r.in[r.start+r.at:]
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
	b := r.in[r.start:]
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
	b := r.in[r.start+r.at:]
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

// number reads the rest of a head line: a decimal number as in string2ll of
// Redis, and a carriage return.
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
