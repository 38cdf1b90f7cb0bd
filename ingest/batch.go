package ingest

import (
	"encoding/binary"
	"hash/crc32"
	"math"

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
func (b batch) last() int64      { return b.base() + int64(b.lastDelta()) }
func (b batch) is(attr int) bool { return b.attributes()&attr != 0 }

// split cuts the first batch off a record set and verifies it. A set that
// ends within the batch (brokers cut responses off at their limit) gives a
// nil batch and no error; an error means the bytes are not what was written.
func split(set []byte) (b batch, rest []byte, err error) {
	if len(set) < batchHead {
		return nil, set, nil
	}
	n := int64(int32(be.Uint32(set[8:])))
	if n < batchHeader-batchHead {
		return nil, set, corrupt("a batch of %d bytes", n)
	}
	if n > int64(len(set)-batchHead) {
		return nil, set, nil
	}
	b = batch(set[: batchHead+n : batchHead+n])
	if b[16] != 2 {
		return nil, set, corrupt("magic %d", b[16])
	}
	if got, want := crc32.Checksum(b[21:], castagnoli), be.Uint32(b[17:]); got != want {
		return nil, set, corrupt("checksum %#08x, want %#08x", got, want)
	}
	if b.base() < 0 || b.lastDelta() < 0 || b.base() > math.MaxInt64-1-int64(b.lastDelta()) {
		return nil, set, corrupt("offsets %d + %d", b.base(), b.lastDelta())
	}
	return b, set[batchHead+n:], nil
}

// verify goes over a record set, batch by batch. It returns how many bytes
// hold whole, sound batches and where reading goes on behind them: the last
// batch's base + last offset delta + 1, whatever records it still has. The
// error, if any, is that of the batch after those.
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

// An unpacker turns verified record sets into batches of records. It keeps
// its buffers; nothing is allocated per record.
type unpacker struct {
	decompressor
	records []event.Record
	batch   event.Batch
	active  []int64 // producers whose open transaction was aborted
}

func newUnpacker(limit int) *unpacker {
	return &unpacker{decompressor: decompressor{limit: limit}, records: make([]event.Record, 0, recordsPerBatch)}
}

// unpack yields what p holds from offset p.from on: every offset from there
// to p.to lies in one batch, with its record if a read_committed reader may
// see one. A large record batch is yielded in pieces.
func (u *unpacker) unpack(p *packed, yield func(*event.Batch) error) error {
	next, aborted := p.from, p.aborted
	u.active = u.active[:0]
	fail := func(err error) error { return &BatchError{Partition: p.partition, Offset: next, Reason: err} }
	for rest := p.set; ; {
		// Already verified: the length is in bounds.
		if len(rest) == 0 {
			return nil
		}
		b := batch(rest[:batchHead+be.Uint32(rest[8:])])
		rest = rest[len(b):]
		if b.last() < next { // before what was asked for
			continue
		}
		for len(aborted) > 0 && aborted[0].first <= b.last() {
			u.active = append(u.active, aborted[0].producer)
			aborted = aborted[1:]
		}
		var err error
		u.batch = event.Batch{Partition: p.partition, First: next}
		switch {
		case b.is(attrControl):
			if err := u.control(b); err != nil {
				return fail(err)
			}
		case b.is(attrTransactional) && u.wasAborted(b.producer()):
		case b.records() == 0 && len(b.payload()) == 0: // compacted away; its codec says nothing
		default:
			payload, err := u.decompress(b.attributes()&attrCodec, b.payload())
			if err != nil {
				return fail(err)
			}
			if reason, err := u.walk(b, payload, next, yield); err != nil {
				return err
			} else if reason != nil {
				return fail(reason)
			}
		}
		// What walk has not yielded yet: the tail of the records, and the gap
		// behind them.
		u.batch.Next = b.last() + 1
		if err = yield(&u.batch); err != nil {
			return err
		}
		next = b.last() + 1
	}
}

// walk goes over the records of a batch and yields them in pieces; the last
// piece, perhaps empty, is left in u.batch. reason is what is wrong with the
// batch, err is yield's.
//
// A record is its length, then attributes (1 byte), timestamp delta, offset
// delta, key, value and headers; lengths and deltas are zigzag varints, a
// length of -1 is null.
func (u *unpacker) walk(b batch, payload []byte, from int64, yield func(*event.Batch) error) (reason, err error) {
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
			return corrupt("a record of %d bytes, %d left", n, len(payload)-w), nil
		}
		r := payload[w+1 : w+int(n)] // the attributes mean nothing yet
		payload = payload[w+int(n):]

		timeDelta, w := varint(r)
		if w <= 0 {
			return corrupt("record timestamp"), nil
		}
		r = r[w:]
		delta, w := varint(r)
		if w <= 0 || delta <= previous || delta > lastDelta {
			return corrupt("record offset %d after %d of %d", delta, previous, lastDelta), nil
		}
		previous = delta
		r = r[w:]
		key, w := varint(r)
		if w <= 0 || key < -1 || key > int64(len(r)-w) {
			return corrupt("record key"), nil
		}
		r = r[w+max(int(key), 0):]
		size, w := varint(r)
		if w <= 0 || size < -1 || size > int64(len(r)-w) {
			return corrupt("record value"), nil
		}
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
				return nil, err
			}
			u.batch.First, records = base+delta, records[:0]
		}
		t := firstTime
		if !appendTime {
			t += timeDelta
		}
		records = append(records, event.Record{Offset: base + delta, Time: event.Time(t), Value: value})
	}
	if len(payload) != 0 {
		return corrupt("%d bytes behind the last record", len(payload)), nil
	}
	u.batch.Records = records
	return nil, nil
}

// control reads a transaction's end. Its record's key is a version and a
// type, 0 for abort; compaction may have removed the record.
func (u *unpacker) control(b batch) error {
	if b.records() <= 0 {
		return nil
	}
	payload, err := u.decompress(b.attributes()&attrCodec, b.payload())
	if err != nil {
		return err
	}
	n, w := varint(payload)
	if w <= 0 || n < 1 || n > int64(len(payload)-w) {
		return corrupt("control record")
	}
	r := payload[w+1 : w+int(n)]
	for range 2 { // the deltas
		_, w := varint(r)
		if w <= 0 {
			return corrupt("control record")
		}
		r = r[w:]
	}
	key, w := varint(r)
	if w <= 0 || key < 4 || key > int64(len(r)-w) {
		return corrupt("control record's key")
	}
	if be.Uint16(r[w+2:]) == 0 {
		for i, id := range u.active {
			if id == b.producer() {
				u.active[i] = u.active[len(u.active)-1]
				u.active = u.active[:len(u.active)-1]
				break
			}
		}
	}
	return nil
}

func (u *unpacker) wasAborted(producer int64) bool {
	for _, id := range u.active {
		if id == producer {
			return true
		}
	}
	return false
}

// varint is binary.Varint for the lengths that occur, one to three bytes,
// without its loop: 5 of them per record are most of the walk.
func varint(b []byte) (int64, int) {
	if len(b) > 2 {
		u := uint64(b[0])
		if u < 0x80 {
			return int64(u>>1) ^ -int64(u&1), 1
		}
		u = u&0x7f | uint64(b[1])<<7
		if u < 1<<14 {
			return int64(u>>1) ^ -int64(u&1), 2
		}
		u = u&(1<<14-1) | uint64(b[2])<<14
		if u < 1<<21 {
			return int64(u>>1) ^ -int64(u&1), 3
		}
	}
	return binary.Varint(b)
}
