package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// anyBroker sends a call to whichever of the configured brokers answers.
const anyBroker = -1

// A call is one request to one broker, in bytes both ways. It is what
// kafka-go's Transport calls a RawExchanger: the Transport chooses the
// connection (and dials, encrypts, authenticates and pools it), we write and
// read on it.
//
// The call that ended with a context belongs to the exchange for ever: it may
// still be writing into response. Its buffers must not be used again.
type call struct {
	api      protocol.ApiKey
	broker   int32  // its id, or anyBroker
	request  []byte // everything after the length, which beginRequest leaves room for
	response []byte // without its length; capacity is reused
	limit    int    // of the response
}

// exchange sends the call and waits for the whole response.
func (s *Source) exchange(ctx context.Context, c *call, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := s.transport.RoundTrip(ctx, s.bootstrap, c)
	if errors.Is(err, errMuted) {
		return nil // the response is whole
	}
	return err
}

// errMuted closes a connection on which the broker will hear nothing for a
// while (KIP-219): it has throttled this client, and said for how long in its
// response. The Transport would give the connection to the next request to
// that broker, and a heartbeat that is not heard costs the membership.
var errMuted = errors.New("the broker does not listen on this connection")

// muteLimit is how long a connection may be muted and kept: a request that
// waits for so long does no harm.
const muteLimit = time.Second

// muted reports whether the response says so. Only fetches are throttled for
// long, by the bytes that they take.
func (c *call) muted() bool {
	if c.api != protocol.Fetch {
		return false
	}
	var f fetchResponse
	r := f.begin(c.response)
	return !r.bad && time.Duration(f.throttle)*time.Millisecond >= muteLimit
}

func (c *call) ApiKey() protocol.ApiKey { return c.api }

// Broker implements protocol.BrokerMessage. The Transport knows the address;
// which id leads a partition is known better here (see metadata.go).
func (c *call) Broker(protocol.Cluster) (protocol.Broker, error) {
	return protocol.Broker{ID: c.broker}, nil
}

// Required implements protocol.RawExchanger.
func (c *call) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements protocol.RawExchanger. An error closes the
// connection, so it is returned only for what leaves the connection unusable.
func (c *call) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if _, err := rw.Write(c.request); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(rw, length[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(length[:])))
	if n < 4 || n > c.limit {
		return nil, &sizeError{api: c.api, size: n, limit: c.limit}
	}
	if cap(c.response) < n {
		c.response = make([]byte, n+n/8)
	}
	c.response = c.response[:n]
	if _, err := io.ReadFull(rw, c.response); err != nil {
		return nil, err
	}
	if got := binary.BigEndian.Uint32(c.response); got != correlation {
		return nil, fmt.Errorf("a broker answered request %d with response %d", correlation, got)
	}
	if c.muted() {
		return nil, errMuted
	}
	return c, nil
}

// correlation matches responses with requests; a connection carries one at a
// time, so one number will do.
const correlation = 0x77656972

// beginRequest starts a request with its header: version 2 (flexible, ends
// with tagged fields) or version 1. The length is set by endRequest.
func beginRequest(b []byte, api protocol.ApiKey, version int16, clientID string, flexible bool) []byte {
	b = append(b[:0], 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(api))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, correlation)
	b = appendString(b, clientID)
	if flexible {
		b = append(b, 0)
	}
	return b
}

func endRequest(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func appendBytes(b, v []byte) []byte { return append(appendInt32(b, int32(len(v))), v...) }

// appendCompact writes a length as flexible versions do: plus one, 0 for null.
func appendCompact(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)+1) }

// A reader takes primitive types off a response. What does not fit sets bad
// and reads as zero from then on, so a parser checks once, at its end. No
// length is believed beyond the bytes that are there.
type reader struct {
	b   []byte
	bad bool
}

// take is the next n bytes, as a view, or nil.
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

// string is a text; null reads as the empty one.
func (r *reader) string() string {
	n := int(r.int16())
	if n == -1 {
		return ""
	}
	return string(r.take(n))
}

// bytes are a byte string, as a view; null reads as none.
func (r *reader) bytes() []byte {
	n := int(r.int32())
	if n == -1 {
		return nil
	}
	return r.take(n)
}

// count is the length of an array whose items have at least least bytes; an
// array that cannot be there makes the reader bad before anybody allocates.
func (r *reader) count(least int) int { return r.fits(int64(r.int32()), least) }

// compact is count, or a byte string's length, as flexible versions write it;
// null counts as 0.
func (r *reader) compact(least int) int {
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

func (r *reader) compactBytes() []byte { return r.take(r.compact(1)) }

// tags skips the tagged fields that end every structure of a flexible version.
func (r *reader) tags() {
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

// done is the parser's one check.
func (r *reader) done(what string) error {
	if r.bad {
		return fmt.Errorf("a broker sent %s that does not parse", what)
	}
	return nil
}

// A switchboard dials for kafka-go's Transport, and keeps its connections, so
// that Close can cut what it would leave waiting: a long poll, a join that other
// members delay.
type switchboard struct {
	dialer  net.Dialer
	inClear bool // no TLS: what is read is Kafka's protocol, or should be
	mu      sync.Mutex
	open    map[*line]struct{} // nil after hangUp
}

type line struct {
	net.Conn
	board   *switchboard
	checked bool // the first bytes were a response's
}

func newSwitchboard(inClear bool) *switchboard {
	return &switchboard{
		dialer:  net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second},
		inClear: inClear,
		open:    make(map[*line]struct{}),
	}
}

func (b *switchboard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := b.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: c, board: b, checked: !b.inClear}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		c.Close()
		return nil, ErrClosed
	}
	b.open[l] = struct{}{}
	return l, nil
}

// Read looks at the first bytes before kafka-go does: it would take the length
// they seem to announce, and the number of items after it, at their word, and
// be busy for a long time with an HTTP server's answer.
func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if !l.checked && n >= 4 {
		l.checked = true
		const plausible = 1 << 20 // of the first response, a list of versions; about 600 bytes
		switch length := binary.BigEndian.Uint32(b); {
		case length>>16 == 0x1503, length>>16 == 0x1603: // an alert or a handshake record
			return 0, errSpeaksTLS
		case length > plausible:
			return 0, fmt.Errorf("%w: it says %q", errNotKafka, b[:min(n, 20)])
		}
	}
	return n, err
}

func (l *line) Close() error {
	l.board.mu.Lock()
	delete(l.board.open, l)
	l.board.mu.Unlock()
	return l.Conn.Close()
}

// hangUp closes every connection and lets none be made again.
func (b *switchboard) hangUp() {
	b.mu.Lock()
	open := b.open
	b.open = nil
	b.mu.Unlock()
	for l := range open {
		l.Conn.Close()
	}
}

var (
	_ protocol.RawExchanger  = (*call)(nil)
	_ protocol.BrokerMessage = (*call)(nil)
)
