package counts

import (
	"math/bits"
	"slices"
)

// An order puts words in the order of their keys. Where the keys are neighbours, it puts their
// counts where they belong in an array, and marks them. That takes a third of the time of comparing
// keys, as long as there are no more marks to look at, 64 at a time, than words.
type order struct {
	counts []uint32 // zeros between two calls
	marks  []uint64 // a bit for each count that is not zero
	words  []uint64 // to use again
}

// mostReach bounds the array, which the pool keeps.
const mostReach = 1 << 14

func (o *order) bytes() int { return 4*cap(o.counts) + 8*(cap(o.marks)+cap(o.words)) }

// append appends some words, ascending, those of one key added up. It may change them.
func (o *order) append(dst, words []uint64) []uint64 {
	if len(words) == 0 {
		return dst
	}
	least, most := ends(words)
	if !o.reach(least, most, len(words)) {
		slices.Sort(words)
		return appendSorted(dst, words)
	}
	for _, w := range words {
		at := Key(w) - least
		o.counts[at] += Count(w)
		o.marks[at/64] |= 1 << (at % 64)
	}
	return o.take(dst, least, most)
}

// list is append of a word for each key.
func (o *order) list(dst []uint64, keys []uint32) []uint64 {
	if len(keys) == 0 {
		return dst
	}
	least, most := keyEnds(keys)
	if !o.reach(least, most, len(keys)) {
		o.words = o.words[:0]
		for _, key := range keys {
			o.words = append(o.words, uint64(key)<<32|1)
		}
		slices.Sort(o.words)
		return appendSorted(dst, o.words)
	}
	for _, key := range keys {
		at := key - least
		o.counts[at]++
		o.marks[at/64] |= 1 << (at % 64)
	}
	return o.take(dst, least, most)
}

func keyEnds(keys []uint32) (least, most uint32) {
	least, most = keys[0], keys[0]
	for _, key := range keys {
		least, most = min(least, key), max(most, key)
	}
	return least, most
}

// reach makes room for the counts of the keys from least to most, and reports whether they are close
// enough, of so many words, to be put there.
func (o *order) reach(least, most uint32, words int) bool {
	if int(most-least) >= min(64*words, mostReach) {
		return false
	}
	for n := int(most-least)/64 + 1; len(o.marks) < n; {
		o.marks = append(o.marks, 0)
		o.counts = append(o.counts, make([]uint32, 64)...)
	}
	return true
}

// take appends the words of the marked counts, and leaves zeros.
func (o *order) take(dst []uint64, least, most uint32) []uint64 {
	for i, marks := range o.marks[:(most-least)/64+1] {
		for ; marks != 0; marks &= marks - 1 {
			at := uint32(64*i + bits.TrailingZeros64(marks))
			dst = append(dst, uint64(least+at)<<32|uint64(o.counts[at]))
			o.counts[at] = 0
		}
		o.marks[i] = 0
	}
	return dst
}

func appendSorted(dst, words []uint64) []uint64 {
	for k, w := range words {
		if k > 0 && Key(words[k-1]) == Key(w) {
			dst[len(dst)-1] += uint64(Count(w))
			continue
		}
		dst = append(dst, w)
	}
	return dst
}
