package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync/atomic"

	"weir/event"
)

// A record batch, magic 2 (KIP-98), begins with
//
//	 0  base offset          int64
//	 8  length               int32   of what follows it
//	12  leader epoch         int32
//	16  magic                int8    2
//	17  crc                  uint32  CRC-32C of what follows it
//	21  attributes           int16   0–2 codec · 3 log append time · 4 transactional · 5 control
//	23  last offset delta    int32
//	27  base timestamp       int64
//	35  max timestamp        int64
//	43  producer id          int64
//	51  producer epoch       int16
//	53  base sequence        int32
//	57  number of records    int32
//	61  records, compressed all together
const (
	batchHead   = 12 // base offset and length
	batchHeader = 61

	attrCodec         = 0b111
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A batch is one verified record batch, head included.
type batch []byte

func (b batch) base() int64      { return int64(be.Uint64(b)) }
func (b batch) attributes() int  { return int(be.Uint16(b[21:])) }
func (b batch) lastDelta() int32 { return int32(be.Uint32(b[23:])) }
func (b batch) firstTime() int64 { return int64(be.Uint64(b[27:])) }
func (b batch) maxTime() int64   { return int64(be.Uint64(b[35:])) }
func (b batch) producer() int64  { return int64(be.Uint64(b[43:])) }
func (b batch) records() int32   { return int32(be.Uint32(b[57:])) }
func (b batch) payload() []byte  { return b[batchHeader:] }
func (b batch) is(attr int) bool { return b.attributes()&attr != 0 }

// last returns the last offset of the batch; reading continues after it. A message
// of one of the old formats, 0 and 1, has the same head, followed by
//
//	12  crc         uint32  CRC-32 of what follows it
//	16  magic       int8
//	17  attributes  int8
//	18  timestamp   int64   in format 1
//
// If it contains other messages, compressed, its offset is that of the last of
// them.
func (b batch) last() int64 {
	if b.old() {
		return b.base()
	}
	return b.base() + int64(b.lastDelta())
}

func (b batch) old() bool { return b[16] < 2 }

const oldHeader = 26 // of format 0, with the lengths of key and value

// split takes the first batch from a record set and verifies it. A set that
// ends within the batch (brokers truncate responses at their limit) gives a nil
// batch and no error; an error means that the bytes are not those that were
// written.
func split(set []byte) (b batch, rest []byte, err error) {
	if len(set) < batchHead {
		return nil, set, nil
	}
	n := int64(int32(be.Uint32(set[8:])))
	if n < oldHeader-batchHead {
		return nil, set, corrupt("a batch of %d bytes", n)
	}
	if n > int64(len(set)-batchHead) {
		return nil, set, nil
	}
	b = batch(set[: batchHead+n : batchHead+n])
	var got, want uint32
	switch {
	case b.old():
		got, want = crc32.ChecksumIEEE(b[16:]), be.Uint32(b[12:])
	case b[16] > 2:
		return nil, set, corrupt("record format %d, which is unknown", b[16])
	case len(b) < batchHeader:
		return nil, set, corrupt("a batch of %d bytes", n)
	default:
		got, want = crc32.Checksum(b[21:], castagnoli), be.Uint32(b[17:])
	}
	if got != want {
		return nil, set, corrupt("checksum %#08x, want %#08x", got, want)
	}
	if b.base() < 0 || b.last() < b.base() || b.last() == math.MaxInt64 {
		return nil, set, corrupt("offsets %d to %d", b.base(), b.last())
	}
	return b, set[batchHead+n:], nil
}

// verify checks a record set, batch by batch. It returns how many bytes hold
// whole, correct batches, and the offset after them: the last batch's base +
// last offset delta + 1, also if compaction has removed its last records. The
// error, if any, is that of the next batch.
func verify(set []byte, from int64) (whole int, next int64, err error) {
	next = from
	for rest := set; ; {
		var b batch
		b, rest, err = split(rest)
		if b == nil || err != nil {
			return whole, next, err
		}
		whole += len(b)
		next = max(next, b.last()+1)
	}
}

// A packed is the verified part of one partition in one response: the records of an
// event.Part.
type packed struct {
	partition int32
	from, to  int64  // the offsets that it covers
	set       []byte // whole, verified batches
	aborted   []transaction

	source *Source
	buffer *buffer     // that set points into
	done   atomic.Bool // Done was called
}

// part makes an event.Part of p, which holds its buffer until it is Done.
func (p *packed) part(f *fetched) event.Part {
	p.buffer.hold()
	return event.Part{
		Partition:  p.partition,
		HighWater:  max(f.highWater, p.to), // the broker takes its figures before it reads the log
		LastStable: max(f.lastStable, p.to),
		LogStart:   f.logStart,
		Packed:     p,
	}
}

// Unpack implements event.Packed, on the goroutine of the worker that calls it.
func (p *packed) Unpack(yield func(*event.Batch) error) error {
	u := p.source.unpackers.Get().(*unpacker)
	defer p.source.unpackers.Put(u)
	return u.unpack(p, yield)
}

// Done implements event.Packed.
func (p *packed) Done() {
	if p.done.CompareAndSwap(false, true) {
		p.buffer.drop(p.source.keptBuffer())
	}
}

// An unpacker turns verified record sets into batches of records. It keeps
// its buffers; nothing is allocated per record.
type unpacker struct {
	decompressor
	records []event.Record
	// envelopes are those of records, by index; nil: not asked for.
	envelopes []event.Envelope
	batch     event.Batch
	active    []int64 // producers whose open transaction was aborted
}

func newUnpacker(limit int, envelopes bool) *unpacker {
	u := &unpacker{decompressor: decompressor{limit: limit}, records: make([]event.Record, 0, recordsPerBatch)}
	if envelopes {
		u.envelopes = make([]event.Envelope, recordsPerBatch)
	}
	return u
}

// unpack yields the contents of p from offset p.from on: every offset from
// there to p.to lies in exactly one event.Batch, with its record if a
// read_committed reader may see one. It yields a large record batch in pieces.
// It returns only errors of yield: a batch with a correct checksum but
// unreadable contents is not an error but an outcome of the batch's offsets.
func (u *unpacker) unpack(p *packed, yield func(*event.Batch) error) error {
	next, aborted := p.from, p.aborted
	u.active = u.active[:0]
	for rest := p.set; ; {
		// The set is verified, so the length is in bounds.
		if len(rest) == 0 {
			return nil
		}
		b := batch(rest[:batchHead+be.Uint32(rest[8:])])
		rest = rest[len(b):]
		if b.last() < next { // before the requested offset
			continue
		}
		for len(aborted) > 0 && aborted[0].first <= b.last() {
			u.active = append(u.active, aborted[0].producer)
			aborted = aborted[1:]
		}
		u.batch = event.Batch{Partition: p.partition, First: next}
		var unreadable error // from offset lost on
		var lost int64
		switch {
		case b.old():
			lost, unreadable = next, fmt.Errorf("the record has format %d, from before Kafka 0.11", b[16])
		case b.is(attrControl):
			u.control(b)
		case b.is(attrTransactional) && u.wasAborted(b.producer()):
		case b.records() == 0 && len(b.payload()) == 0: // compacted away; its codec says nothing
		default:
			payload, err := u.decompress(b.attributes()&attrCodec, b.payload())
			if err != nil {
				lost, unreadable = max(b.base(), next), err
				break
			}
			if lost, unreadable, err = u.walk(b, payload, next, yield); err != nil {
				return err
			}
		}
		next = b.last() + 1
		if unreadable != nil && lost < next {
			if u.batch.Next = lost; u.batch.First < lost {
				if err := yield(&u.batch); err != nil {
					return err
				}
			}
			u.batch = event.Batch{Partition: p.partition, First: lost, Unreadable: unreadable.Error(), Time: b.newest()}
		}
		// Yield the rest: the last records, and the gap after them.
		u.batch.Next = next
		if err := yield(&u.batch); err != nil {
			return err
		}
	}
}

// newest returns the greatest record time that a batch's header names.
func (b batch) newest() event.Time {
	switch b[16] {
	case 0:
		return 0 // the format has no time
	case 1:
		return event.Time(be.Uint64(b[18:]))
	}
	return event.Time(b.maxTime())
}

// errNotRecords is the error of a batch whose records end in the middle, are
// more or fewer than its header says, or have offsets out of order.
var errNotRecords = errors.New("the batch does not hold the records that it says it holds")

// walk reads the records of a batch and yields them in pieces; it leaves the
// last piece, perhaps empty, in u.batch. unreadable is the mistake in the
// batch, if any, and lost is the offset of the record after the last good one.
// err is yield's.
//
// A record is its length, then attributes (1 byte), timestamp delta, offset
// delta, key, value and headers; lengths and deltas are zigzag varints, a
// length of -1 is null.
func (u *unpacker) walk(b batch, payload []byte, from int64, yield func(*event.Batch) error) (lost int64, unreadable, err error) {
	base, lastDelta := b.base(), int64(b.lastDelta())
	firstTime, appendTime := b.firstTime(), b.is(attrLogAppendTime)
	if appendTime {
		firstTime = b.maxTime()
	}
	records := u.records[:0]
	previous := int64(-1)
	for left := b.records(); left > 0; left-- {
		n, w := varint(payload)
		if w <= 0 || n < 1 || n > int64(len(payload)-w) {
			return u.broken(records, base+previous+1, from)
		}
		r := payload[w+1 : w+int(n)] // the attributes mean nothing yet
		payload = payload[w+int(n):]

		timeDelta, delta, size, w := usual(r)
		if w == 0 {
			timeDelta, delta, size, w = unusual(r)
		}
		if w <= 0 || delta <= previous || delta > lastDelta || size < -1 || size > int64(len(r)-w) {
			return u.broken(records, base+previous+1, from)
		}
		previous = delta
		if base+delta < from {
			continue
		}
		var value []byte // stays nil for null
		if size >= 0 {
			value = r[w : w+int(size) : w+int(size)]
		}
		if len(records) == recordsPerBatch {
			u.batch.Records, u.batch.Next = records, base+delta
			if err := yield(&u.batch); err != nil {
				return 0, nil, err
			}
			u.batch.First, records = base+delta, records[:0]
		}
		t := firstTime
		if !appendTime {
			t += timeDelta
		}
		records = records[:len(records)+1]
		rec := &records[len(records)-1]
		rec.Offset, rec.Time, rec.Value = base+delta, event.Time(t), value
		if u.envelopes != nil {
			env := &u.envelopes[len(records)-1]
			*env = event.Envelope{Key: recordKey(r), Headers: event.Headers(r[w+len(value):])}
			rec.Envelope = env
		}
	}
	if len(payload) != 0 {
		return u.broken(records, base+previous+1, from)
	}
	u.batch.Records = records
	return 0, nil, nil
}

// broken ends a walk at a record that is not well formed.
func (u *unpacker) broken(records []event.Record, at, from int64) (lost int64, unreadable, err error) {
	u.batch.Records = records
	return max(at, from), errNotRecords, nil
}

// control ends a transaction. A transaction that the broker lists as aborted
// ends with an abort marker. So the first marker of its producer is that one,
// and the record in the marker, which compaction may have removed, need not be
// read.
func (u *unpacker) control(b batch) {
	if i := slices.Index(u.active, b.producer()); i >= 0 {
		u.active[i] = u.active[len(u.active)-1]
		u.active = u.active[:len(u.active)-1]
	}
}

func (u *unpacker) wasAborted(producer int64) bool { return slices.Contains(u.active, producer) }

// unusual reads the fields of a record from the timestamp delta to the length of the value,
// and returns where the value begins. w is 0 if they are not well formed.
func unusual(r []byte) (timeDelta, delta, size int64, w int) {
	for _, field := range [...]*int64{&timeDelta, &delta} {
		v, n := varint(r[w:])
		if n <= 0 {
			return 0, 0, 0, 0
		}
		*field = v
		w += n
	}
	key, n := varint(r[w:])
	if n <= 0 || key < -1 || key > int64(len(r)-w-n) {
		return 0, 0, 0, 0
	}
	w += n + max(int(key), 0)
	size, n = varint(r[w:])
	if n <= 0 {
		return 0, 0, 0, 0
	}
	return timeDelta, delta, size, w + n
}

// recordKey returns the key of a record whose fields usual or unusual has read; nil if it is
// null.
func recordKey(r []byte) []byte {
	w := 0
	for range 2 { // the deltas of timestamp and offset
		_, n := varint(r[w:])
		w += n
	}
	size, n := varint(r[w:])
	if size < 0 {
		return nil
	}
	w += n
	return r[w : w+int(size) : w+int(size)]
}

// usual is unusual for records as most are: with deltas and a length of one or two bytes
// each, and a key of at most 63 bytes or none. It takes them out of a word without a branch
// on their sizes. w is 0 if the record is not like that.
func usual(r []byte) (timeDelta, delta, size int64, w int) {
	if len(r) < 8 {
		return 0, 0, 0, 0
	}
	word := binary.LittleEndian.Uint64(r)
	// two is 1 if a field has a second byte, whose upper bit must be 0.
	two := word >> 7 & 1
	bad := two & (word >> 15)
	t := word&0x7f | word>>1&(two*0x3f80)
	word >>= 8 + 8*two
	n := 3 + two

	two = word >> 7 & 1
	bad |= two & (word >> 15)
	d := word&0x7f | word>>1&(two*0x3f80)
	word >>= 8 + 8*two
	n += two

	if key := word & 0xff; key != 1 { // not null
		bad |= key & 0x81
		n += key >> 1
	}
	if bad != 0 || n+2 > uint64(len(r)) {
		return 0, 0, 0, 0
	}

	length := uint64(binary.LittleEndian.Uint16(r[n:]))
	two = length >> 7 & 1
	if two&(length>>15) != 0 {
		return 0, 0, 0, 0
	}
	l := length&0x7f | length>>1&(two*0x3f80)
	return zigzag(t), zigzag(d), zigzag(l), int(n + 1 + two)
}

func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// varint is binary.Varint without its loop, for lengths of one to three bytes:
// five of them per record take most of the time of walk.
func varint(b []byte) (int64, int) {
	if len(b) > 2 {
		u := uint64(b[0])
		if u < 0x80 {
			return zigzag(u), 1
		}
		u = u&0x7f | uint64(b[1])<<7
		if u < 1<<14 {
			return zigzag(u), 2
		}
		u = u&(1<<14-1) | uint64(b[2])<<14
		if u < 1<<21 {
			return zigzag(u), 3
		}
	}
	return binary.Varint(b)
}
