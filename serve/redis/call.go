package redis

import (
	"bytes"
	"math"
	"strconv"

	"weir/serve/resp"
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
	errMemory   = "OOM command not allowed when used memory > 'maxmemory'."
)

// A call is a command that runs, as its function sees it: its arguments, and where its
// reply goes. Commands about the connection and the server use the client.
type call struct {
	cmd    *command
	args   [][]byte // the command's name first
	w      *resp.Writer
	client *client
}

// fail sends an error of a sketch: its text is Redis's text without "ERR ".
func (c call) fail(err error) { c.w.Error("ERR " + err.Error()) }

// integer reads an argument as an integer; if it is none, it sends the error.
func (c call) integer(arg []byte) (int64, bool) {
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
func (c call) float(arg []byte) (float64, bool) {
	v, ok := parseFloat(arg)
	if !ok {
		c.w.Error(errFloat)
	}
	return v, ok
}

// parseFloat reads a decimal number, or an infinite one, that float64 can hold.
func parseFloat(b []byte) (float64, bool) {
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil && !math.IsNaN(v) && !bytes.ContainsAny(b, "xX_")
}
