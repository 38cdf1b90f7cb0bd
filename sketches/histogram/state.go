package histogram

import (
	"encoding/binary"
	"errors"
	"slices"
)

// A histogram is stored as words of 8 bytes, big-endian: a bucket in the upper half and its
// count in the lower one. They are in descending order. Where a count is greater than that of a
// word, its bucket has several words, which add up; all but the last have the greatest count.
//
// So of two histograms, that is the greater one in the order of bytes that has more numbers in
// the highest bucket in which they differ. This order stays if the same numbers are added to both:
// a sum of histograms never falls while its summands grow.
const (
	wordBytes = 8
	mostCount = 1<<32 - 1
)

func bucketOf(word uint64) Bucket { return Bucket(word >> 32) }
func countOf(word uint64) uint64  { return word & mostCount }

// AppendState appends the histogram as it is stored.
func (c Counts) AppendState(dst []byte) []byte {
	for _, e := range slices.Backward(c) {
		rest, full := e.N%mostCount, e.N/mostCount
		for range full {
			dst = binary.BigEndian.AppendUint64(dst, uint64(e.Bucket)<<32|mostCount)
		}
		if rest > 0 {
			dst = binary.BigEndian.AppendUint64(dst, uint64(e.Bucket)<<32|rest)
		}
	}
	return dst
}

var errState = errors.New("histogram: words of 8 bytes, descending, none of them without a count")

// Read appends a histogram that AppendState has stored. It returns an error if the bytes are
// not well formed.
func Read(dst Counts, state []byte) (Counts, error) {
	if len(state)%wordBytes != 0 {
		return dst, errState
	}
	before, begin := uint64(0), len(dst)
	for ; len(state) > 0; state = state[:len(state)-wordBytes] {
		w := binary.BigEndian.Uint64(state[len(state)-wordBytes:])
		if w < before || countOf(w) == 0 {
			return dst[:begin], errState
		}
		before = w
		if last := len(dst) - 1; last >= begin && dst[last].Bucket == bucketOf(w) {
			dst[last].N += countOf(w)
			continue
		}
		dst = append(dst, Count{bucketOf(w), countOf(w)})
	}
	return dst, nil
}
