package event

import (
	"encoding/binary"
	"math/bits"
)

// Events of one producer have their keys in the same order, with the same
// spaces. So the bytes between their values, `{"event_id":`, `,"ts":`, `}`, are
// the same in every event: the literals. The scanner remembers the literals of
// each document that the grammar accepted, its layout. A later document of the
// same literals, with valid values between them, is valid too, and has its
// wanted values in the same places. Equal literals also prove that no key
// occurs twice, which the grammar finds out at a high price.
//
// The literals of several layouts make a tree (optional keys, two producers):
// a step has a literal, what value follows it, the step after that value, and
// another step to try if the literal does not match. Objects and arrays on the way
// to a wanted value are part of the literals; others are values. What follows the
// last wanted element of an array is one value too, so that arrays of different
// lengths have the same layout.
//
// The tree can only prove that a document is valid. The grammar reads a
// document that does not match; only the grammar refuses documents and names
// reasons.

// What a step does with its value, if it is not the index of a wanted one.
const (
	unwanted     = -1 // skip it
	blocked      = -2 // skip it; it must not be an object, which would be a branch
	blockedArray = -3 // the same for an array
	blockedBoth  = -4 // the same for both
	tail         = -5 // no value: the document ends
	rest         = -6 // the further elements of an array, up to its closing bracket
)

// Bounds of what is remembered: about 25 KB per scanner.
const (
	maxSteps   = 256     // what a uint8 can index
	maxLiteral = 8 << 10 // bytes of all literals together
	maxOthers  = 8       // steps to choose from at one place
	maxMarks   = 64      // values per document, beyond which it is not learned
	fullMisses = 4096    // unlearned documents after which a full tree is cleared
)

type step struct {
	lo, hi uint64   // the first and the last eight bytes of the literal, for the loop
	mask   uint64   // of lo and hi: all ones, or fewer bytes if it is shorter
	absent uint64   // tail only: the wanted values this layout does not have
	first  [16]byte // of the literal, for stride
	bits   uint16   // a bit for each byte in first
	usual  int16    // slot, or tail if stride does not take this step
	from   uint16   // the literal is bytes[from : from+size] of layouts
	size   uint16
	last   uint16 // where in the literal hi is: size-8, or 0 if it is shorter
	slot   int16  // of the value after the literal
	depth  uint8  // of the containers around that value
	next   uint8  // step after the value
	other  uint8  // step to try instead; 0 for none
}

// A mark is one value of the document being scanned.
type mark struct {
	start, end int
	slot       int16
	depth      uint8
}

// A span is a wanted value that stride has found, doc[from:to].
type span struct {
	from, to uint32
	typ      Type
	_        [7]byte
}

type layouts struct {
	steps  [maxSteps]step // steps[0] is the root: its next is the first step, and stride stops at it
	spans  [MaxPaths]span
	size   int    // steps in use
	bytes  []byte // the literals
	marks  []mark
	misses int
}

func (l *layouts) clear() {
	l.steps[0] = step{usual: tail}
	l.size = 1
	l.bytes = l.bytes[:0]
	l.misses = 0
}

// scanKnown scans doc if it has a known layout. If it returns false, nothing
// is known about doc, and vals hold rubbish.
//
// Most of the time per event is spent here. On amd64, stride takes the usual steps
// and the loop the others. The loop takes all steps elsewhere. So its loops over the
// plain part of strings and over digits are written out, because a call for each would
// cost as much as the loop.
func (s *Scanner) scanKnown(doc []byte, vals []Value) bool {
	l := &s.known
	i, at := 0, l.steps[0].next
	for at != 0 {
		if striding && len(doc) > 0 {
			var found uint64
			var ended bool
			i, at, found, ended = stride(&l.steps[0], &l.spans[0], &doc[0], len(doc), i, at)
			for ; found != 0; found &= found - 1 {
				slot := bits.TrailingZeros64(found)
				of := &l.spans[slot]
				vals[slot] = Value{of.typ, doc[of.from:of.to]}
			}
			if at == 0 {
				break
			}
			if ended {
				l.absent(at, vals)
				return true
			}
		}
		st := &l.steps[at]
		last := i + int(st.last)
		if last+8 > len(doc) || st.size > 16 {
			// Keys are short, so this is mostly the end of the document.
			if !l.match(st, doc, i) {
				at = st.other
				continue
			}
		} else {
			// Two loads compare up to sixteen bytes.
			lo, hi := binary.LittleEndian.Uint64(doc[i:i+8]), binary.LittleEndian.Uint64(doc[last:last+8])
			if ((lo^st.lo)|(hi^st.hi))&st.mask != 0 {
				at = st.other
				continue
			}
		}
		j, slot := i+int(st.size), int(st.slot)
		if slot <= tail || j == len(doc) {
			if slot == rest {
				if i = s.knownRest(doc, j, st); i < 0 {
					return false
				}
				at = st.next
				continue
			}
			if slot != tail || j != len(doc) {
				at = st.other
				continue
			}
			l.absent(at, vals)
			return true
		}
		c, k := doc[j], j+1
		if c == '"' {
			for k+8 <= len(doc) {
				if m := special(binary.LittleEndian.Uint64(doc[k : k+8])); m != 0 {
					k += bits.TrailingZeros64(m) >> 3
					break
				}
				k += 8
			}
			if k < len(doc) && doc[k] == '"' {
				if slot >= 0 {
					vals[slot] = Value{String, doc[j+1 : k]}
				}
				i, at = k+1, st.next
				continue
			}
		} else if c-'1' < 9 {
			for k+8 <= len(doc) {
				if m := nondigit(binary.LittleEndian.Uint64(doc[k : k+8])); m != 0 {
					k += bits.TrailingZeros64(m) >> 3
					break
				}
				k += 8
			}
			if k < len(doc) && (doc[k] == ',' || doc[k] == '}') {
				if slot >= 0 {
					vals[slot] = Value{Number, doc[j:k]}
				}
				i, at = k, st.next
				continue
			}
		} else if c <= ' ' || c == ']' || slot <= blocked && opens(c, slot) {
			// Another step has the longer literal that matches here.
			at = st.other
			continue
		}
		// The value has an escape, UTF-8, a fraction or a fault, is of another type,
		// or lies in the last few bytes of the document.
		if i = s.knownValue(doc, vals, j, st); i < 0 {
			return false
		}
		at = st.next
	}
	return false
}

// knownValue reads any value by the grammar.
func (s *Scanner) knownValue(doc []byte, vals []Value, i int, st *step) int {
	s.doc, s.vals, s.names = doc, vals, s.names[:0]
	end, typ, escaped := s.slotted(i, int(st.depth), int(st.slot))
	if end >= 0 && st.slot >= 0 {
		s.store(int(st.slot), i, end, typ, escaped)
	}
	s.doc, s.vals = nil, nil
	return end
}

// knownRest reads the further elements of an array by the grammar.
func (s *Scanner) knownRest(doc []byte, i int, st *step) int {
	s.doc, s.names = doc, s.names[:0]
	end := s.rest(i, int(st.depth))
	s.doc = nil
	return end
}

// absent sets the values that the layout which ends with this step does not have.
func (l *layouts) absent(at uint8, vals []Value) {
	for m := l.steps[at].absent; m != 0; m &= m - 1 {
		vals[bits.TrailingZeros64(m)] = Value{}
	}
}

// opens reports whether a value that begins with c would be a branch where the
// step's document had none.
func opens(c byte, slot int) bool {
	return c == '{' && slot != blockedArray || c == '[' && slot != blocked
}

// match compares the whole literal. It must not be inlined: it would take the
// registers that its caller needs.
//
//go:noinline
func (l *layouts) match(st *step, doc []byte, i int) bool {
	return string(doc[i:min(i+int(st.size), len(doc))]) == string(l.literal(st))
}

func (l *layouts) literal(st *step) []byte {
	return l.bytes[st.from : int(st.from)+int(st.size)]
}

// begin forgets the marks of the last document.
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
	at, from := uint8(0), 0
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
		if vals[i].Type == Missing {
			absent |= 1 << i
		}
	}
	l.steps[at].absent = absent
}

// full counts documents that the tree had no room for. Producers change, so
// after fullMisses such documents the tree is cleared. It is not cleared
// earlier, because the scanner would then learn traffic without any order again
// and again for nothing.
func (l *layouts) full() {
	if l.misses++; l.misses >= fullMisses {
		l.clear()
	}
}

// follow returns the step after step at that has this literal and slot, made
// if need be, or 0 if there is no room. The depth follows from the literals.
func (l *layouts) follow(at uint8, lit []byte, slot int16, depth uint8) uint8 {
	link, others := &l.steps[at].next, 0
	for *link != 0 {
		st := &l.steps[*link]
		if st.slot == slot && string(l.literal(st)) == string(lit) {
			return *link
		}
		link = &st.other
		others++
	}
	if others >= maxOthers || l.size == maxSteps || len(l.bytes)+len(lit) > maxLiteral {
		return 0
	}
	st := step{from: uint16(len(l.bytes)), size: uint16(len(lit)), slot: slot, usual: slot, depth: depth, mask: ^uint64(0)}
	st.bits = uint16(1<<copy(st.first[:], lit) - 1)
	if slot < tail || len(lit) > len(st.first) {
		st.usual = tail
	}
	l.bytes = append(l.bytes, lit...)
	var word [8]byte
	copy(word[:], lit)
	st.lo = binary.LittleEndian.Uint64(word[:])
	st.hi = st.lo
	if n := len(lit); n < 8 {
		st.mask >>= 8 * (8 - n)
	} else {
		st.last = uint16(n - 8)
		st.hi = binary.LittleEndian.Uint64(lit[n-8:])
	}
	*link = uint8(l.size)
	l.steps[l.size] = st
	l.size++
	return *link
}
