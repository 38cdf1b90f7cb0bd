// Package groupbitmap writes and reads the state of ClickHouse's
// AggregateFunction(groupBitmap, UInt32), the form in which weir stores
// activity bitmaps and the bits of its Bloom filters.
//
// A state is one of (ClickHouse, AggregateFunctionGroupBitmapData.h):
//
//	00, count (one byte, at most 32), count × u32 little-endian
//	01, length (varint), a Roaring bitmap in the portable format of that length
//
// What this package writes is a function of the set alone: the small form for
// at most 32 values, ascending; above that Roaring with each container in its
// shortest form. Equal sets give equal bytes whatever the history.
//
// What it reads may come from anywhere: it checks every count against the bytes
// that are there before it uses it.
package groupbitmap

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// SmallMax is the largest set that the small form holds.
const SmallMax = 32

const (
	kindSmall   = 0
	kindRoaring = 1

	cookiePlain   = 12346 // no run containers: then count u32
	cookieRuns    = 12347 // low half; the high half is count-1, then a bit per container
	offsetsFrom   = 4     // with runs, the offset table is left out below this many containers
	arrayMax      = 4096  // an array container holds at most this many
	wordsPerChunk = 1024
	bitmapBytes   = 8 * wordsPerChunk
)

// A Chunk is the part of a set that shares the upper 16 bits: Key. It holds
// Card values, in one of two forms: Low has the lower halves in ascending
// order, or, where Words is not nil, bit v%64 of Words[v/64] is set for each
// lower half v. Words may be shorter than 1024; what is missing is zero.
type Chunk struct {
	Key   uint16
	Card  int
	Low   []uint16
	Words []uint64
}

// AppendSmall appends the state of at most SmallMax values, which must be
// ascending and distinct.
func AppendSmall(dst []byte, ascending []uint32) []byte {
	dst = append(dst, kindSmall, byte(len(ascending)))
	for _, v := range ascending {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

// Append appends the state of the chunks, which must be in ascending order of
// Key, none of them empty. No chunks give the empty state.
func Append(dst []byte, chunks []Chunk) []byte {
	total := 0
	for i := range chunks {
		total += chunks[i].Card
	}
	if total > SmallMax {
		return appendRoaring(dst, chunks)
	}
	dst = append(dst, kindSmall, byte(total))
	for i := range chunks {
		c := &chunks[i]
		for v := range c.values {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Key)<<16|uint32(v))
		}
	}
	return dst
}

// values calls yield for every lower half in ascending order.
func (c *Chunk) values(yield func(uint16) bool) {
	if c.Words == nil {
		for _, v := range c.Low {
			if !yield(v) {
				return
			}
		}
		return
	}
	for i, w := range c.Words {
		for ; w != 0; w &= w - 1 {
			if !yield(uint16(i<<6 | bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// runs counts the maximal runs of consecutive values.
func (c *Chunk) runs() int {
	n := 0
	if c.Words == nil {
		for i, v := range c.Low {
			if i == 0 || v != c.Low[i-1]+1 {
				n++
			}
		}
		return n
	}
	var before uint64 // the last bit of the word before
	for _, w := range c.Words {
		n += bits.OnesCount64(w &^ (w<<1 | before))
		before = w >> 63
	}
	return n
}

// form is how a container is stored.
type form struct {
	runs  int // the number of runs if it is stored as runs, else 0
	bytes int
}

// shortest chooses the form with the fewest bytes; at a tie runs give way.
// That is the choice of the Roaring libraries' run optimisation.
func (c *Chunk) shortest() form {
	f := form{bytes: 2 * c.Card}
	if c.Card > arrayMax {
		f.bytes = bitmapBytes
	}
	if f.bytes <= 2+4 { // as long as one run, or shorter
		return f
	}
	if runs := c.runs(); 2+4*runs < f.bytes {
		return form{runs, 2 + 4*runs}
	}
	return f
}

// appendRoaring writes kind, length and the portable format:
//
//	cookie [count] [run flags] | key, card-1 per container | offsets | containers
func appendRoaring(dst []byte, chunks []Chunk) []byte {
	var room [256]form // so that few chunks need no memory
	forms := room[:0]
	if len(chunks) > len(room) {
		forms = make([]form, 0, len(chunks))
	}
	forms = forms[:len(chunks)]
	anyRun := false
	body := 0
	for i := range chunks {
		forms[i] = chunks[i].shortest()
		anyRun = anyRun || forms[i].runs > 0
		body += forms[i].bytes
	}
	head := 8 + 8*len(chunks)
	if anyRun {
		head = 4 + (len(chunks)+7)/8 + 4*len(chunks)
		if len(chunks) >= offsetsFrom {
			head += 4 * len(chunks)
		}
	}
	dst = slices.Grow(dst, 1+binary.MaxVarintLen64+head+body)
	dst = append(dst, kindRoaring)
	dst = binary.AppendUvarint(dst, uint64(head+body))

	le := binary.LittleEndian
	if anyRun {
		dst = le.AppendUint32(dst, cookieRuns|uint32(len(chunks)-1)<<16)
		flags := len(dst)
		for range (len(chunks) + 7) / 8 {
			dst = append(dst, 0)
		}
		for i, f := range forms {
			if f.runs > 0 {
				dst[flags+i/8] |= 1 << (i % 8)
			}
		}
	} else {
		dst = le.AppendUint32(dst, cookiePlain)
		dst = le.AppendUint32(dst, uint32(len(chunks)))
	}
	for i := range chunks {
		dst = le.AppendUint16(dst, chunks[i].Key)
		dst = le.AppendUint16(dst, uint16(chunks[i].Card-1))
	}
	if !anyRun || len(chunks) >= offsetsFrom {
		at := head
		for _, f := range forms {
			dst = le.AppendUint32(dst, uint32(at))
			at += f.bytes
		}
	}
	for i := range chunks {
		c := &chunks[i]
		switch {
		case forms[i].runs > 0:
			dst = appendRuns(dst, c, forms[i].runs)
		case c.Card > arrayMax:
			dst = appendBitmap(dst, c)
		case c.Words == nil:
			for _, v := range c.Low {
				dst = le.AppendUint16(dst, v)
			}
		default:
			for v := range c.values {
				dst = le.AppendUint16(dst, v)
			}
		}
	}
	return dst
}

// appendRuns writes the number of runs, then (first, length-1) of each.
func appendRuns(dst []byte, c *Chunk, runs int) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint16(dst, uint16(runs))
	first, last := -1, -1
	for v := range c.values {
		if int(v) == last+1 && first >= 0 {
			last = int(v)
			continue
		}
		if first >= 0 {
			dst = le.AppendUint16(dst, uint16(first))
			dst = le.AppendUint16(dst, uint16(last-first))
		}
		first, last = int(v), int(v)
	}
	dst = le.AppendUint16(dst, uint16(first))
	return le.AppendUint16(dst, uint16(last-first))
}

// appendBitmap writes 1024 words.
func appendBitmap(dst []byte, c *Chunk) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, bitmapBytes)...)
	for i, w := range c.Words {
		binary.LittleEndian.PutUint64(dst[at+8*i:], w)
	}
	for _, v := range c.Low {
		dst[at+int(v>>3)] |= 1 << (v & 7)
	}
	return dst
}
