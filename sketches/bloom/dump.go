package bloom

import (
	"encoding/binary"
	"errors"
	"math"
)

// A dump is a header and then the bits of all layers, oldest first, in pieces.
// The header, little-endian, without padding:
//
//	size u64, layers u32, options u32, growth u32, then for each layer
//	bytes u64, bits u64, size u64, error f64, bpe f64, hashes u32, capacity u64, n2 u8
const (
	headerBytes      = 20
	headerLayerBytes = 53
	dumpChunk        = 16 << 20
)

// The text of these errors is what RedisBloom prints after "ERR ".
var (
	ErrBadData = errors.New("received bad data")
	ErrNoLayer = errors.New("invalid offset - no link found")
	ErrTooBig  = errors.New("invalid chunk - Too big for current filter")
)

// Dump returns a piece of the dump, and the number with which to ask for the
// next piece. Number 0 gives the header; every other number is one that Dump
// returned. After the last piece it returns 0 and no bytes. The piece is a view
// into the filter, valid until the next change. (BF.SCANDUMP)
func (s *Scalable) Dump(iter int64) (next int64, piece []byte) {
	if iter == 0 {
		return 1, s.header()
	}
	l, at := s.find(iter - 1)
	if l == nil {
		return 0, nil
	}
	l.whole()
	piece = l.bits[at:min(at+dumpChunk, l.bytes)]
	return iter + int64(len(piece)), piece
}

// find returns the layer that byte off of the dump's bits lies in, and where
// in it.
func (s *Scalable) find(off int64) (l *layer, at uint64) {
	if off < 0 {
		return nil, 0
	}
	at = uint64(off)
	for i := range s.layers {
		if at < s.layers[i].bytes {
			return &s.layers[i], at
		}
		at -= s.layers[i].bytes
	}
	return nil, 0
}

func (s *Scalable) header() []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, headerBytes+headerLayerBytes*len(s.layers))
	b = le.AppendUint64(b, s.size)
	b = le.AppendUint32(b, uint32(len(s.layers)))
	b = le.AppendUint32(b, s.options)
	b = le.AppendUint32(b, s.growth)
	for i := range s.layers {
		l := &s.layers[i]
		b = le.AppendUint64(b, l.bytes)
		b = le.AppendUint64(b, 8*l.bytes)
		b = le.AppendUint64(b, l.size)
		b = le.AppendUint64(b, math.Float64bits(l.err))
		b = le.AppendUint64(b, math.Float64bits(l.bpe))
		b = le.AppendUint32(b, l.hashes)
		b = le.AppendUint64(b, l.capacity)
		b = append(b, l.n2)
	}
	return b
}

// LoadHeader makes a filter from the header of a dump; LoadChunk then fills it.
// maxBytes is the most memory that its layers may take, 0 meaning 4 GiB;
// LoadHeader allocates none of it, LoadChunk does. The error is ErrBadData if
// the header is not one that a filter of this layout can have: besides what
// RedisBloom checks, filters with 32-bit hashes (before its version 2.0) are
// refused. (BF.LOADCHUNK key 1 data)
func LoadHeader(data []byte, maxBytes uint64) (*Scalable, error) {
	if maxBytes == 0 {
		maxBytes = defaultMaxBytes
	}
	if len(data) < headerBytes {
		return nil, ErrBadData
	}
	le := binary.LittleEndian
	s := &Scalable{
		size:     le.Uint64(data),
		options:  le.Uint32(data[12:]),
		growth:   le.Uint32(data[16:]),
		maxBytes: maxBytes,
	}
	n := uint64(le.Uint32(data[8:]))
	body := data[headerBytes:]
	if n == 0 || uint64(len(body)) != n*headerLayerBytes ||
		s.options&^(optNoRound|optEntsIsBits|optForce64|optNoScaling) != 0 ||
		s.options&optForce64 == 0 {
		return nil, ErrBadData
	}
	var items, total uint64
	for ; len(body) > 0; body = body[headerLayerBytes:] {
		l := layer{
			bytes:    le.Uint64(body),
			modulus:  le.Uint64(body[8:]),
			size:     le.Uint64(body[16:]),
			err:      math.Float64frombits(le.Uint64(body[24:])),
			bpe:      math.Float64frombits(le.Uint64(body[32:])),
			hashes:   le.Uint32(body[40:]),
			capacity: le.Uint64(body[44:]),
			n2:       body[52],
		}
		// Each sum below is of numbers at most maxBytes and the size of the
		// header, so none wraps around.
		if l.bytes == 0 || l.bytes > maxBytes-min(total, maxBytes) || l.modulus != 8*l.bytes ||
			!(l.err > 0 && l.err < 1) || !(l.bpe > 0 && l.bpe < maxBitsPerItem) || l.hashes != hashesFor(l.bpe) ||
			l.capacity == 0 || l.size > s.size-items || l.n2 > 63 || l.n2 > 0 && l.modulus < 1<<l.n2 {
			return nil, ErrBadData
		}
		if l.n2 > 0 {
			l.modulus = 1 << l.n2
		}
		total += l.bytes
		items += l.size
		s.layers = append(s.layers, l)
	}
	if items != s.size {
		return nil, ErrBadData
	}
	return s, nil
}

// maxBitsPerItem is the number that the smallest error, 2^-1074, needs, rounded
// up. It bounds the number of hashes that a header can claim.
const maxBitsPerItem = 1600

// LoadChunk puts a later piece of a dump in its place; iter is the number that
// Dump returned with it. A piece that ends beyond its layer gives ErrTooBig,
// one that begins beyond the last layer ErrNoLayer, and an impossible number
// ErrBadData; an error changes nothing. (BF.LOADCHUNK)
func (s *Scalable) LoadChunk(iter int64, data []byte) error {
	if iter <= 0 || uint64(iter) < uint64(len(data)) {
		return ErrBadData
	}
	l, at := s.find(iter - int64(len(data)) - 1)
	switch {
	case l == nil:
		return ErrNoLayer
	case uint64(len(data)) > l.bytes-at:
		return ErrTooBig
	}
	l.whole()
	copy(l.bits[at:], data)
	return nil
}
