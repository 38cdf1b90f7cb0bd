package redis

import (
	"errors"
	"math"
	"strconv"
	"strings"

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

// fail sends an error of a sketch: its text is that of Redis without "ERR ".
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

// parseFloat reads a number as strtod of C does, but refuses NaN, blanks around
// the number, and numbers that float64 cannot hold.
func parseFloat(b []byte) (float64, bool) {
	v, err := strtod(b)
	return v, err == nil && !math.IsNaN(v)
}

// strtod reads a number. For a number beyond float64, or so small that it is none of
// float64 but 0, it returns the nearest value and strconv.ErrRange; for a text that is no
// number, strconv.ErrSyntax.
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
	if errors.Is(err, strconv.ErrRange) || err == nil && v == 0 && !writtenZero(s) {
		return v, strconv.ErrRange
	}
	return v, err
}

// writtenZero reports whether a number that was read as 0 is 0 as it is written, too:
// whether it has no other digit in front of its exponent.
func writtenZero(s string) bool {
	end, digits := "eE", "123456789"
	if strings.ContainsAny(s, "xX") {
		end, digits = "pP", digits+"abcdefABCDEF"
	}
	if i := strings.IndexAny(s, end); i >= 0 {
		s = s[:i]
	}
	return !strings.ContainsAny(s, digits)
}
