package histogram

import (
	"encoding/binary"
	"slices"
)

// A packed histogram has the words of a stored one in a quarter of their bytes, for memory: how many
// words there are, and for each how far its bucket is below the one before, which begins at the
// greatest bucket of all, and its count, all as varints. Equal words have equal bytes.

// Pack appends a stored histogram as a packed one. Its words are well formed: see Read.
func Pack(dst, state []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(state)/wordBytes))
	before := uint32(mostBucket)
	for ; len(state) > 0; state = state[wordBytes:] {
		dst, before = appendPacked(dst, before, binary.BigEndian.Uint64(state))
	}
	return dst
}

const mostBucket = 1<<32 - 1

func appendPacked(dst []byte, before uint32, word uint64) ([]byte, uint32) {
	bucket := uint32(bucketOf(word))
	if below, n := before-bucket, countOf(word); below < 1<<7 && n < 1<<7 {
		return append(dst, byte(below), byte(n)), bucket
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(before-bucket)), countOf(word)), bucket
}

// PackedLen returns how many bytes Unpack appends.
func PackedLen(packed []byte) int {
	n, _ := binary.Uvarint(packed)
	return int(n) * wordBytes
}

// Unpack appends a packed histogram as a stored one.
func Unpack(dst, packed []byte) []byte {
	if len(packed) == 0 {
		return dst
	}
	dst = slices.Grow(dst, PackedLen(packed))
	_, at := binary.Uvarint(packed)
	bucket := uint32(mostBucket)
	for packed = packed[at:]; len(packed) > 0; {
		below, n := uint64(packed[0]), uint64(packed[1])
		if below < 1<<7 && n < 1<<7 {
			packed = packed[2:]
		} else {
			below, at = binary.Uvarint(packed)
			packed = packed[at:]
			n, at = binary.Uvarint(packed)
			packed = packed[at:]
		}
		bucket -= uint32(below)
		dst = binary.BigEndian.AppendUint64(dst, uint64(bucket)<<32|n)
	}
	return dst
}

// AppendPacked appends histogram i packed, and returns how many numbers it has, too.
func (p *Pool) AppendPacked(dst []byte, i uint32) (packed []byte, numbers uint64) {
	p.words = p.bags.Append(p.words[:0], i)
	dst = binary.AppendUvarint(dst, uint64(len(p.words)))
	before := uint32(mostBucket)
	for _, w := range slices.Backward(p.words) {
		numbers += countOf(w)
		dst, before = appendPacked(dst, before, w)
	}
	return dst, numbers
}
