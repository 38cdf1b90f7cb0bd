package groupbitmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrState is what every error of Check and Each wraps.
var ErrState = errors.New("not a groupBitmap(UInt32) state")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrState}, args...)...)
}

// A Part is some of a state's values, all with the same upper 16 bits: a
// container of a Roaring bitmap, or a single value of the small form.
type Part struct {
	Key  uint16
	Card int // at least 1

	container container
	data      []byte // a view into the state
}

type container uint8

const (
	asArray  container = iota // Card × u16, ascending
	asBitmap                  // 8192 bytes
	asRuns                    // count u16, then (first, length−1)
)

// Each calls yield for the parts of a state in the order they are stored,
// until it returns false. It first checks the whole state; if that fails it
// returns the error and calls nothing. It allocates nothing.
func Each(state []byte, yield func(Part) bool) error {
	if err := Check(state); err != nil {
		return err
	}
	return walk(state, yield)
}

// Check returns an error, wrapping ErrState, unless the state is well formed to
// the last byte. It checks every count and length in the state, and that no
// byte is left over.
func Check(state []byte) error {
	return walk(state, func(p Part) bool { return true })
}

// Portable returns the Roaring bitmap in a state, in the portable format: a
// view into it. It returns nil for a state of the small form, and for one with
// runs that touch each other, which Roaring libraries do not expect. The error
// is that of Check.
func Portable(state []byte) ([]byte, error) {
	touching := false
	err := walk(state, func(p Part) bool {
		touching = touching || p.container == asRuns && p.touching()
		return true
	})
	if err != nil || touching || state[0] == kindSmall {
		return nil, err
	}
	_, size := binary.Uvarint(state[1:])
	return state[1+size:], nil
}

// walk reads a state and calls yield for each part that is in order.
func walk(state []byte, yield func(Part) bool) error {
	if len(state) < 2 {
		return bad("%d bytes", len(state))
	}
	switch state[0] {
	case kindSmall:
		return walkSmall(state[1:], yield)
	case kindRoaring:
		n, size := binary.Uvarint(state[1:])
		body := state[1+max(size, 0):]
		if size <= 0 || n != uint64(len(body)) {
			return bad("a length of %d before %d bytes", n, len(body))
		}
		return walkRoaring(body, yield)
	}
	return bad("kind %d", state[0])
}

func walkSmall(b []byte, yield func(Part) bool) error {
	n := int(b[0])
	b = b[1:]
	if n > SmallMax || len(b) != 4*n {
		return bad("%d values in %d bytes", n, len(b))
	}
	for ; len(b) > 0; b = b[4:] {
		// A single value is an array container of one: its lower half.
		if !yield(Part{Key: binary.LittleEndian.Uint16(b[2:]), Card: 1, data: b[:2]}) {
			return nil
		}
	}
	return nil
}

// walkRoaring reads a Roaring bitmap in the portable format; appendRoaring
// shows its layout.
func walkRoaring(b []byte, yield func(Part) bool) error {
	le := binary.LittleEndian
	whole := len(b)
	if len(b) < 4 {
		return bad("a bitmap of %d bytes", len(b))
	}
	var n int
	var runFlags []byte
	cookie := le.Uint32(b)
	b = b[4:]
	switch {
	case cookie == cookiePlain:
		if len(b) < 4 {
			return bad("no number of containers")
		}
		count := le.Uint32(b)
		if count > 1<<16 {
			return bad("%d containers", count)
		}
		n, b = int(count), b[4:]
	case cookie&0xffff == cookieRuns:
		n = int(cookie>>16) + 1
		size := (n + 7) / 8
		if len(b) < size {
			return bad("%d containers in %d bytes", n, len(b))
		}
		runFlags, b = b[:size], b[size:]
	default:
		return bad("cookie %d", cookie)
	}
	offsets := runFlags == nil || n >= offsetsFrom
	head := 4 * n
	if offsets {
		head += 4 * n
	}
	if len(b) < head {
		return bad("%d containers in %d bytes", n, len(b))
	}
	keys, table, b := b[:4*n], b[4*n:head], b[head:]
	last := -1
	for i := range n {
		key, card := int(le.Uint16(keys[4*i:])), int(le.Uint16(keys[4*i+2:]))+1
		if key <= last {
			return bad("container %d has key %d after %d", i, key, last)
		}
		last = key
		if offsets {
			if at := le.Uint32(table[4*i:]); at != uint32(whole-len(b)) {
				return bad("container %d at %d, not %d", i, at, whole-len(b))
			}
		}
		p := Part{Key: uint16(key), Card: card, container: asArray}
		size := 2 * card
		switch {
		case runFlags != nil && runFlags[i/8]>>(i%8)&1 != 0:
			if len(b) < 2 {
				return bad("container %d is cut off", i)
			}
			p.container, size = asRuns, 2+4*int(le.Uint16(b))
		case card > arrayMax:
			p.container, size = asBitmap, bitmapBytes
		}
		if len(b) < size {
			return bad("container %d of %d bytes, %d are left", i, size, len(b))
		}
		p.data, b = b[:size], b[size:]
		if got := p.ascending(); got != card {
			return bad("container %d is out of order or does not hold %d values", i, card)
		}
		if !yield(p) {
			return nil
		}
	}
	if len(b) != 0 {
		return bad("%d bytes left over", len(b))
	}
	return nil
}

// ascending counts the values, or returns −1 if they are not in order.
func (p *Part) ascending() int {
	le := binary.LittleEndian
	n, last := 0, -1
	switch p.container {
	case asArray:
		for at := 0; at < len(p.data); at += 2 {
			v := int(le.Uint16(p.data[at:]))
			if v <= last {
				return -1
			}
			last = v
			n++
		}
	case asBitmap:
		for at := 0; at < len(p.data); at += 8 {
			n += bits.OnesCount64(le.Uint64(p.data[at:]))
		}
	case asRuns:
		for at := 2; at < len(p.data); at += 4 {
			first, more := int(le.Uint16(p.data[at:])), int(le.Uint16(p.data[at+2:]))
			if first <= last || first+more > 0xffff {
				return -1
			}
			last = first + more
			n += more + 1
		}
	}
	return n
}

// touching reports whether a run begins where the one before it ends.
func (p *Part) touching() bool {
	le := binary.LittleEndian
	for at := 6; at < len(p.data); at += 4 {
		if le.Uint16(p.data[at:]) == le.Uint16(p.data[at-4:])+le.Uint16(p.data[at-2:])+1 {
			return true
		}
	}
	return false
}

// Values calls yield for the lower half of every value, in ascending order.
func (p Part) Values(yield func(uint16) bool) {
	le := binary.LittleEndian
	switch p.container {
	case asArray:
		for at := 0; at < len(p.data); at += 2 {
			if !yield(le.Uint16(p.data[at:])) {
				return
			}
		}
	case asBitmap:
		for at := 0; at < len(p.data); at += 8 {
			for w := le.Uint64(p.data[at:]); w != 0; w &= w - 1 {
				if !yield(uint16(at<<3 | bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	case asRuns:
		for at := 2; at < len(p.data); at += 4 {
			first, more := int(le.Uint16(p.data[at:])), int(le.Uint16(p.data[at+2:]))
			for v := first; v <= first+more; v++ {
				if !yield(uint16(v)) {
					return
				}
			}
		}
	}
}

// Or sets the bits of the values in words: value v is bit v%64 of words[v/64].
// Values beyond the end of words are left out.
func (p Part) Or(words []uint64) {
	if p.container == asBitmap {
		for i := range min(len(words), wordsPerChunk) {
			words[i] |= binary.LittleEndian.Uint64(p.data[8*i:])
		}
		return
	}
	for v := range p.Values {
		if int(v>>6) < len(words) {
			words[v>>6] |= 1 << (v & 63)
		}
	}
}
