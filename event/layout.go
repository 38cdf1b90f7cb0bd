package event

import (
	"encoding/binary"
	"math/bits"
)

// Events of one producer have their keys in the same order and spaced in the
// same way. What stands between their values, `{"event_id":`, `,"ts":`, `}`,
// is therefore the same bytes in every event, and need only be compared. Once
// a document has been scanned, that is remembered: the next one that consists
// of the same literals, with valid values between them, is as valid, and has
// its wanted values in the same places. Comparing also settles that no key
// occurs twice, which would be dear to find out anew.
//
// The literals of several layouts make a tree (optional keys, two producers):
// a step has a literal, what value follows it, the step after that value, and
// another step to try if the literal does not match. Objects on the way to a
// wanted value are part of the literals; other objects, and arrays, are
// values.
//
// The tree only ever proves that a document is fine. Whatever does not match
// goes to the grammar, which alone refuses documents and names reasons.

// What a step does with its value, if it is not the index of a wanted one.
const (
	unwanted = -1 // nothing
	blocked  = -2 // nothing, but it must not be an object: that would be a branch
	tail     = -3 // there is none, the document ends
)

// Bounds of what is remembered: about 20 KB per scanner.
const (
	maxSteps   = 256
	maxLiteral = 8 << 10 // bytes of all literals together
	maxOthers  = 8       // steps to choose from at one place
	maxMarks   = 64      // values per document, beyond which it is not learned
	fullMisses = 4096    // unlearned documents after which a full tree is cleared
)

type step struct {
	lo, hi uint64 // the first and the last eight bytes of lit
	mask   uint64 // of lo and hi: all ones, or fewer bytes for a shorter lit
	lit    []byte
	absent uint64 // tail only: the wanted values this layout does not have
	slot   int16  // of the value after lit
	depth  uint8  // of the containers around that value
	next   uint16 // step after the value
	other  uint16 // step to try instead; 0 for none
}

// A mark is one value of the document being scanned.
type mark struct {
	start, end int
	slot       int16
	depth      uint8
}

type layouts struct {
	steps  []step // steps[0] is the root: its next is the first step
	bytes  []byte // the literals
	marks  []mark
	misses int
}

func (l *layouts) clear() {
	if l.steps == nil {
		l.steps = make([]step, 0, maxSteps)
		l.bytes = make([]byte, 0, maxLiteral)
		l.marks = make([]mark, 0, maxMarks+1)
	}
	l.steps = append(l.steps[:0], step{})
	l.bytes = l.bytes[:0]
	l.misses = 0
}

// scanKnown scans doc if it has a known layout. If it returns false, nothing
// is known about doc, and vals hold rubbish.
func (s *Scanner) scanKnown(doc []byte, vals []Value) bool {
	steps := s.known.steps
	i, at := 0, int(steps[0].next)
	for at != 0 {
		st := &steps[at]
		j := i + len(st.lit)
		if !st.match(doc, i) {
			at = int(st.other)
			continue
		}
		if j >= len(doc) {
			if st.slot == tail {
				for m := st.absent; m != 0; m &= m - 1 {
					vals[bits.TrailingZeros64(m)] = Value{}
				}
				return true
			}
			at = int(st.other)
			continue
		}
		slot := int(st.slot)
		switch c := doc[j]; {
		case slot == tail:
			at = int(st.other)
			continue
		case c == '"':
			j++
			end := plain(doc, j)
			if end >= len(doc) {
				return false
			}
			if doc[end] == '"' {
				if slot >= 0 {
					vals[slot] = Value{String, doc[j:end]}
				}
				i = end + 1
				break
			}
			if i = s.knownValue(doc, vals, j-1, st); i < 0 {
				return false
			}
		case c-'0' < 10, c == '-':
			if i = number(doc, j); i < 0 {
				return false
			}
			if slot >= 0 {
				vals[slot] = Value{Number, doc[j:i]}
			}
		case c == '{' && slot == blocked, c <= ' ':
			// Another step has the longer literal that matches here.
			at = int(st.other)
			continue
		default:
			if i = s.knownValue(doc, vals, j, st); i < 0 {
				return false
			}
		}
		at = int(st.next)
	}
	return false
}

// knownValue reads the values that are neither plain strings nor numbers.
func (s *Scanner) knownValue(doc []byte, vals []Value, i int, st *step) int {
	s.doc, s.vals, s.names = doc, vals, s.names[:0]
	end, kind, escaped := s.value(i, int(st.depth))
	if end >= 0 && st.slot >= 0 {
		s.store(int(st.slot), i, end, kind, escaped)
	}
	s.doc, s.vals = nil, nil
	return end
}

// match reports whether doc has the literal at i. Keys are short: two loads
// settle up to sixteen bytes.
func (st *step) match(doc []byte, i int) bool {
	n := len(st.lit)
	if n > 16 || i+max(n, 8) > len(doc) {
		return i+n <= len(doc) && string(doc[i:i+n]) == string(st.lit)
	}
	return binary.LittleEndian.Uint64(doc[i:])&st.mask == st.lo &&
		binary.LittleEndian.Uint64(doc[i+max(n, 8)-8:])&st.mask == st.hi
}

// begin forgets the marks of the document before.
func (l *layouts) begin() { l.marks = l.marks[:0] }

// mark notes a value while the grammar reads a document.
func (l *layouts) mark(start, end, slot, depth int) {
	if len(l.marks) <= maxMarks {
		l.marks = append(l.marks, mark{start, end, int16(slot), uint8(depth)})
	}
}

// learn adds the layout of a document the grammar has accepted.
func (l *layouts) learn(doc []byte, vals []Value) {
	if len(l.marks) > maxMarks {
		return
	}
	at, from := 0, 0
	for _, m := range l.marks {
		if at = l.follow(at, doc[from:m.start], m.slot, m.depth); at == 0 {
			l.full()
			return
		}
		from = m.end
	}
	if at = l.follow(at, doc[from:], tail, 0); at == 0 {
		l.full()
		return
	}
	var absent uint64
	for i := range vals {
		if vals[i].Kind == Missing {
			absent |= 1 << i
		}
	}
	l.steps[at].absent = absent
}

// full counts documents that could not be learned. Producers change, so a
// tree that keeps missing is dropped in the end; not at once, because traffic
// without any order would then be learned for nothing again and again.
func (l *layouts) full() {
	if l.misses++; l.misses >= fullMisses {
		l.clear()
	}
}

// follow returns the step after step at that has this literal and value, made
// if need be, or 0 if there is no room.
func (l *layouts) follow(at int, lit []byte, slot int16, depth uint8) int {
	link, others := &l.steps[at].next, 0
	for *link != 0 {
		st := &l.steps[*link]
		if st.slot == slot && st.depth == depth && string(st.lit) == string(lit) {
			return int(*link)
		}
		link = &st.other
		others++
	}
	if others >= maxOthers || len(l.steps) == maxSteps || len(l.bytes)+len(lit) > maxLiteral {
		return 0
	}
	from := len(l.bytes)
	l.bytes = append(l.bytes, lit...)
	st := step{lit: l.bytes[from:len(l.bytes):len(l.bytes)], slot: slot, depth: depth}
	var word [16]byte
	copy(word[:], lit)
	st.lo = binary.LittleEndian.Uint64(word[:])
	st.hi, st.mask = st.lo, ^uint64(0)
	switch n := len(lit); {
	case n < 8:
		st.mask >>= 8 * (8 - n)
	case n <= 16:
		st.hi = binary.LittleEndian.Uint64(lit[n-8:])
	}
	*link = uint16(len(l.steps))
	l.steps = append(l.steps, st)
	return int(*link)
}
