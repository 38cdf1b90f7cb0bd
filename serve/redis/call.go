package redis

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"weir/sketches/bitmap"
)

// Errors, with the text Redis replies.
const (
	errType     = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errSyntax   = "ERR syntax error"
	errInteger  = "ERR value is not an integer or out of range"
	errFloat    = "ERR value is not a valid float"
	errNoKey    = "ERR no such key"
	errTooLong  = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errReadOnly = "READONLY This server only answers reads."
	errLongKey  = "ERR the key is too long: at most 8192 bytes"
	errMemory   = "OOM command not allowed when used memory > 'maxmemory'."
)

// exec runs one command, or queues it. The lock is held.
func (c *client) exec(args [][]byte) {
	cmd := lookup(args[0])
	if cmd == nil && isHTTP(args[0]) {
		c.server.config.Log.Warn("a connection that speaks HTTP was cut off: a web page may be making a browser send commands", "client", c.addr)
		c.closing = true
		return
	}
	if fault := c.refuse(cmd, args); fault != "" {
		c.aborted = c.aborted || c.multi
		c.w.Error(fault)
		return
	}
	if c.multi && cmd.flags&flagNoQueue == 0 {
		c.enqueue(cmd, args)
		return
	}
	c.begin()
	c.call(cmd, args)
}

// isHTTP reports whether a command's name is how a request of a web browser
// begins, or the header that all of them have. Lines that follow are a body that
// some web page has made, so nothing of it must run; Redis does the same.
func isHTTP(name []byte) bool {
	const host = "host:" // a value may follow without a blank
	return is(name, "POST") || len(name) >= len(host) && bytes.EqualFold(name[:len(host)], []byte(host))
}

func (c *client) call(cmd *command, args [][]byte) {
	c.cmd, c.args = cmd, args
	c.server.calls++
	if c.afford(1, cmd.base(args)) {
		cmd.run(c)
	}
}

// read returns the item of a key, or nil: of a scratch key, or of a window
// key, which resolve has looked up.
func (c *client) read(key []byte) *item {
	if c.windows != nil && isWindow(key) {
		return c.windows[string(key)]
	}
	return c.server.store.find(key, c.now)
}

// typed is read for commands of one kind. ok is false if the key has another
// one; then the error has been sent.
func (c *client) typed(key []byte, k kind) (it *item, ok bool) {
	it = c.read(key)
	if it != nil && it.kind != k {
		c.w.Error(errType)
		return nil, false
	}
	return it, true
}

// touch must follow a change of an item.
func (c *client) touch(it *item) { c.server.store.touch(it) }

// fits reports whether a value of so many bytes may be made, in place of one of
// before bytes; if not, the error has been sent. It is for commands whose
// arguments do not show how much that is: little is let pass, and noticed by the
// next command.
func (c *client) fits(n, before int) bool {
	const little = 64 << 10
	if more := n - before; more > little && c.server.store.used+more > c.server.memory {
		c.w.Error(errMemory)
		return false
	}
	return true
}

// fail sends an error of a sketch, whose texts are those of Redis after "ERR ".
func (c *client) fail(err error) { c.w.Error("ERR " + err.Error()) }

// integer reads an argument; if it is none, the error has been sent.
func (c *client) integer(arg []byte) (int64, bool) {
	n, ok := parseInt(arg)
	if !ok {
		c.w.Error(errInteger)
	}
	return n, ok
}

// parseInt reads a decimal integer as Redis does, see bitmap.ParseInt.
func parseInt(b []byte) (int64, bool) {
	if len(b) > 0 && len(b) < 18 && b[0] != '-' { // the common case, without a string
		var n int64
		for _, c := range b {
			if c < '0' || c > '9' {
				return 0, false
			}
			n = n*10 + int64(c-'0')
		}
		return n, b[0] != '0' || len(b) == 1
	}
	if len(b) > len("-9223372036854775808") {
		return 0, false
	}
	n, err := bitmap.ParseInt(string(b))
	return n, err == nil
}

// float reads an argument; if it is none, the error has been sent.
func (c *client) float(arg []byte) (float64, bool) {
	v, ok := parseFloat(arg)
	if !ok {
		c.w.Error(errFloat)
	}
	return v, ok
}

// parseFloat reads a number as strtod of C does, but neither NaN, nor with
// blanks around it, nor one that float64 cannot hold.
func parseFloat(b []byte) (float64, bool) {
	v, err := strtod(b)
	return v, err == nil && !math.IsNaN(v)
}

// strtod reads a number. The error is strconv.ErrRange beyond float64, with
// what comes nearest, and strconv.ErrSyntax for anything else.
func strtod(b []byte) (float64, error) {
	if len(b) == 0 || len(b) > 512 {
		return 0, strconv.ErrSyntax
	}
	s := string(b)
	hex := false
	for i := range len(s) {
		switch c := s[i]; c {
		case '_':
			return 0, strconv.ErrSyntax
		case 'x', 'X':
			hex = true
		case 'p', 'P':
			hex = false // it has its exponent
		}
	}
	if hex {
		s += "p0" // C does without
	}
	v, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return v, strconv.ErrRange
	}
	return v, err
}
