package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// anyBroker sends a call to any configured broker that answers.
const anyBroker = -1

// A call is one request to one broker, with request and response as bytes.
type call struct {
	writer   // the request: begin, then its fields in order
	api      protocol.ApiKey
	version  int16
	broker   int32  // its id, or anyBroker
	response []byte // without its length; capacity is reused
	limit    int    // of the response

	// Of the last exchange: how long the first bytes of the response took to come, and
	// the whole response.
	latency, took time.Duration
}

// exchange sends the call and waits for the whole response.
func (s *Source) exchange(ctx context.Context, c *call, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l, err := s.conns.take(ctx, c.broker)
	if err == nil {
		err = l.within(ctx, func() error { return c.over(l) })
		s.conns.give(l, err == nil && !c.muted())
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.conns.forget(c.broker)
	}
	return err
}

// over writes the request to a connection and reads the response from it.
func (c *call) over(l net.Conn) error {
	c.finish()
	sent := time.Now()
	if _, err := l.Write(c.writer.b); err != nil {
		return err
	}
	var length [4]byte
	if _, err := io.ReadFull(l, length[:]); err != nil {
		return err
	}
	c.latency = time.Since(sent)
	n := int(int32(binary.BigEndian.Uint32(length[:])))
	if n < 4 || n > c.limit {
		return &sizeError{api: c.api, size: n, limit: c.limit}
	}
	if cap(c.response) < n {
		c.response = make([]byte, n+n/8)
	}
	c.response = c.response[:n]
	if _, err := io.ReadFull(l, c.response); err != nil {
		return err
	}
	c.took = time.Since(sent)
	if got := binary.BigEndian.Uint32(c.response); got != correlation {
		return fmt.Errorf("a broker answered request %d with response %d", correlation, got)
	}
	return nil
}

// muteLimit is how long a kept connection may be muted: a request that waits
// that long does no harm.
const muteLimit = time.Second

// muted reports whether the broker will not read from the connection for a while
// (KIP-219): it has throttled this client. If the next request on that connection were
// a heartbeat, the member would lose its membership. Only fetches are throttled for
// long, by the bytes that they take.
func (c *call) muted() bool {
	if c.api != protocol.Fetch {
		return false
	}
	throttle := time.Duration(c.reader().int32()) * time.Millisecond
	return throttle >= muteLimit
}

// ask sends one of kafka-go's typed requests. kafka-go's Client would choose the broker
// itself: the leader of a partition by metadata that may be old, and the coordinator of a
// group by a request before each other one.
func ask[R protocol.Message](ctx context.Context, s *Source, broker int32, m protocol.Message, within time.Duration) (r R, err error) {
	c, err := s.newCall(ctx, m.ApiKey(), broker)
	if err != nil {
		return r, err
	}
	var b bytes.Buffer
	if err := protocol.WriteRequest(&b, c.version, correlation, s.config.ClientID, m); err != nil {
		return r, err
	}
	c.writer.b = b.Bytes()
	if err := s.exchange(ctx, c, within); err != nil {
		return r, err
	}
	_, response, err := protocol.ReadResponse(io.MultiReader(bytes.NewReader(binary.BigEndian.AppendUint32(nil, uint32(len(c.response)))), bytes.NewReader(c.response)), c.api, c.version)
	if err != nil {
		return r, fmt.Errorf("a broker sent a response that does not parse: %w", err)
	}
	return response.(R), nil
}

// correlation matches responses with requests; a connection carries one request
// at a time, so one number is enough.
const correlation = 0x77656972

// begin starts the request, in place of the last one, with its header: version 2
// (flexible, ends with tagged fields) or version 1. finish sets its length.
func (c *call) begin(clientID string) {
	c.writer = writer{b: append(c.writer.b[:0], 0, 0, 0, 0)}
	c.int16(int16(c.api))
	c.int16(c.version)
	c.int32(correlation)
	c.text(clientID) // of the same form in both headers
	c.flexible = flexible(c.api, c.version)
	c.tags()
}

func (c *call) finish() { binary.BigEndian.PutUint32(c.writer.b, uint32(len(c.writer.b)-4)) }

// reader reads the response, from after its header.
func (c *call) reader() *reader {
	r := &reader{b: c.response, flexible: flexible(c.api, c.version)}
	r.int32() // correlation
	r.tags()
	return r
}

// A writer appends primitive types to b. In the flexible versions of requests (KIP-482)
// lengths are compact, and each structure ends with tagged fields.
type writer struct {
	b        []byte
	flexible bool
}

func (w *writer) int8(v int8)   { w.b = append(w.b, byte(v)) }
func (w *writer) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }
func (w *writer) raw(v []byte)  { w.b = append(w.b, v...) }

// compact writes a length as flexible versions do: plus one, 0 for null.
func (w *writer) compact(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)+1) }

// array writes the number of items that follow.
func (w *writer) array(n int) {
	if w.flexible {
		w.compact(n)
	} else {
		w.int32(int32(n))
	}
}

func (w *writer) text(s string) {
	if w.flexible {
		w.compact(len(s))
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// null writes a text that is not there, in a version that is not flexible.
func (w *writer) null() { w.int16(-1) }

func (w *writer) bytes(v []byte) {
	w.array(len(v))
	w.raw(v)
}

// tags writes that a structure has no tagged fields.
func (w *writer) tags() {
	if w.flexible {
		w.int8(0)
	}
}

// A reader reads primitive types from a response. A value that does not fit
// sets bad, and everything after it reads as zero, so a parser checks once, at
// its end. A length beyond the bytes that are there is bad.
type reader struct {
	b        []byte
	flexible bool // see writer
	bad      bool
}

// take returns the next n bytes, as a view, or nil.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) int8() int8 {
	if v := r.take(1); v != nil {
		return int8(v[0])
	}
	return 0
}

func (r *reader) int16() int16 {
	if v := r.take(2); v != nil {
		return int16(binary.BigEndian.Uint16(v))
	}
	return 0
}

func (r *reader) int32() int32 {
	if v := r.take(4); v != nil {
		return int32(binary.BigEndian.Uint32(v))
	}
	return 0
}

func (r *reader) int64() int64 {
	if v := r.take(8); v != nil {
		return int64(binary.BigEndian.Uint64(v))
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// text reads a text; null reads as the empty text.
func (r *reader) text() string {
	if r.flexible {
		return string(r.bytes())
	}
	n := int(r.int16())
	if n == -1 {
		return ""
	}
	return string(r.take(n))
}

// bytes reads a byte string, as a view; null reads as nil.
func (r *reader) bytes() []byte { return r.take(r.array(1)) }

// array reads the number of items that follow, each of at least least bytes; null counts
// as 0. A number that cannot fit makes the reader bad, before anything is allocated.
func (r *reader) array(least int) int {
	if !r.flexible {
		return r.fits(int64(r.int32()), least)
	}
	n := r.uvarint()
	if n > 1<<31 {
		r.bad = true
		return 0
	}
	return r.fits(int64(n)-1, least)
}

func (r *reader) fits(n int64, least int) int {
	if n < 0 { // null
		return 0
	}
	if n > int64(len(r.b)/least) {
		r.bad = true
		return 0
	}
	return int(n)
}

// tags skips the tagged fields that end every structure of a flexible version.
func (r *reader) tags() {
	if !r.flexible {
		return
	}
	for n := r.compactTags(); n > 0 && !r.bad; n-- {
		r.uvarint()
		size := r.uvarint()
		if size > uint64(len(r.b)) {
			r.bad = true
			return
		}
		r.take(int(size))
	}
}

func (r *reader) compactTags() uint64 {
	n := r.uvarint()
	if n > uint64(len(r.b)/2) {
		r.bad = true
		return 0
	}
	return n
}

// throttle skips the throttle time, if it is there: the broker has already waited.
func (r *reader) throttle(there bool) {
	if there {
		r.int32()
	}
}

// done ends a parser: it returns an error if a value did not fit.
func (r *reader) done(what string) error {
	if r.bad {
		return fmt.Errorf("a broker sent %s that does not parse", what)
	}
	return nil
}
