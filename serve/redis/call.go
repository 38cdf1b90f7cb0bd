package redis

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"weir/sketches/bitmap"

	"weir/serve/key"
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

// isHTTP reports whether a command's name is the beginning of an HTTP request or
// of the Host header. The lines that follow could be a body that a web page made
// a browser send, so none of them may run. Redis does the same.
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
func (c *client) read(name []byte) *item {
	if c.windows != nil && key.Is(name) {
		return c.windows[string(name)]
	}
	return c.server.store.find(name, c.now)
}

// typed is read for commands that need a value of kind k. If the value has
// another kind, typed sends the error and ok is false.
func (c *client) typed(key []byte, k kind) (it *item, ok bool) {
	it = c.read(key)
	if it != nil && it.kind != k {
		c.w.Error(errType)
		return nil, false
	}
	return it, true
}

// touch must be called after every change of an item.
func (c *client) touch(it *item) { c.server.store.touch(it) }

// fits reports whether there is memory for a value of n bytes that replaces one
// of before bytes; if not, it sends the error. It is for commands whose result
// may be much larger than their arguments. It always allows small results: the
// next command notices when they exceed the limit.
func (c *client) fits(n, before int) bool {
	const little = 64 << 10
	if more := n - before; more > little && c.server.store.used+more > c.server.memory {
		c.w.Error(errMemory)
		return false
	}
	return true
}

// fail sends an error of a sketch: its text is that of Redis without "ERR ".
func (c *client) fail(err error) { c.w.Error("ERR " + err.Error()) }

// integer reads an argument as an integer; if it is none, it sends the error.
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

// float reads an argument as a number; if it is none, it sends the error.
func (c *client) float(arg []byte) (float64, bool) {
	v, ok := parseFloat(arg)
	if !ok {
		c.w.Error(errFloat)
	}
	return v, ok
}

// parseFloat reads a number as strtod of C does, but refuses NaN, blanks around
// the number, and numbers that float64 cannot hold.
func parseFloat(b []byte) (float64, bool) {
	v, err := strtod(b)
	return v, err == nil && !math.IsNaN(v)
}

// strtod reads a number. For a number beyond float64 it returns the nearest
// value and strconv.ErrRange; for a text that is no number, strconv.ErrSyntax.
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
			hex = false // an exponent is there already
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
