package live

import (
	"strconv"
	"time"
)

// An Answer is the answer to a question, for HTTP and Redis clients alike. Several
// callers may get the same answer: they must not change its value.
type Answer struct {
	// Value is nil if nothing was counted. Otherwise it is what the kind of the measure makes
	// (face.Live.Value); a Count for the measure hits, a Reason for the measure partial.
	Value any
	// Partial is the reason why the value may lack what the sink holds; "" if the
	// value is whole.
	Partial string
	// AsOf is the time of the oldest thing that the answer is made from: the answer
	// holds all that this process had counted by then, and, if it is whole, all that
	// any process had flushed by then.
	AsOf time.Time
}

// Found reports whether anything was counted.
func (a Answer) Found() bool { return a.Value != nil }

// bytes returns about how much memory the answer takes.
func (a Answer) bytes() int64 {
	if s, ok := a.Value.(interface{ Bytes() int }); ok {
		return int64(s.Bytes())
	}
	return 8
}

// A Count is a number of events.
type Count uint64

// AppendText appends the count in decimal digits.
func (n Count) AppendText(b []byte) ([]byte, error) { return strconv.AppendUint(b, uint64(n), 10), nil }

// A Reason says why answers are partial.
type Reason string

// AppendText appends the reason.
func (r Reason) AppendText(b []byte) ([]byte, error) { return append(b, r...), nil }
