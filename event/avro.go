package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Avro's binary encoding has no names, lengths or types in it: it can be read only with the
// schema of its writer. From that schema and the wanted paths weir compiles a program, a
// list of steps that skip or read. There is no step for a null, and neighbouring steps that
// skip are one where their lengths are known.
//
// A program is as strict as is free: it checks lengths, counts and the numbers of branches
// everywhere, and contents only where they are wanted.

// An AvroType is a type of an Avro schema. Named types may contain themselves.
type AvroType struct {
	Kind     AvroKind
	Logical  AvroLogical
	Scale    int         // of a decimal: digits after the point
	Size     int         // of a fixed
	Symbols  []string    // of an enum
	Fields   []AvroField // of a record
	Items    *AvroType   // of an array; of a map the values
	Branches []*AvroType // of a union
}

// An AvroField is a field of a record.
type AvroField struct {
	Name string
	Type *AvroType
}

// An AvroKind is a kind of type in Avro.
type AvroKind uint8

// The kinds.
const (
	AvroNull AvroKind = iota
	AvroBoolean
	AvroInt
	AvroLong
	AvroFloat
	AvroDouble
	AvroBytes
	AvroString
	AvroFixed
	AvroEnum
	AvroRecord
	AvroArray
	AvroMap
	AvroUnion
)

// An AvroLogical is a logical type that changes the value that weir reads.
type AvroLogical uint8

// The logical types. Of all others, such as times, weir reads the number or the bytes.
const (
	AvroPlain   AvroLogical = iota
	AvroDecimal             // of bytes or fixed: a number
	AvroUUID                // of fixed(16): its text
)

// Why bytes were refused as Avro.
var (
	ErrAvroEnd     = errors.New("event: Avro: the value ends in the middle")
	ErrAvroTrail   = errors.New("event: Avro: bytes after the value: it was not written with this schema")
	ErrAvroVarint  = errors.New("event: Avro: a number of more than 64 bits")
	ErrAvroInt     = errors.New("event: Avro: an int beyond 32 bits")
	ErrAvroLength  = errors.New("event: Avro: a negative length")
	ErrAvroBlock   = errors.New("event: Avro: a block of another length than it says")
	ErrAvroBranch  = errors.New("event: Avro: a union has no branch of this number")
	ErrAvroSymbol  = errors.New("event: Avro: an enum has no symbol of this number")
	ErrAvroDecimal = errors.New("event: Avro: a decimal of more than 32 bytes")
	ErrAvroDepth   = errors.New("event: Avro: nested too deeply")
)

// maxCalls bounds how deep values of a type that contains itself are nested.
const maxCalls = 1000

// readAvro sets the wanted values of a value that was written with the program's schema.
func (w *walk) readAvro(b *avroBlock) error {
	i := w.avro(b, 0, 0)
	if i < 0 {
		return w.err
	}
	if i != len(w.data) {
		return ErrAvroTrail
	}
	return nil
}

// avro follows the steps of a block from index i on. It returns the index after the last one,
// or -1 after noting the fault.
func (w *walk) avro(b *avroBlock, i, calls int) int {
	if calls > maxCalls {
		return w.fail(ErrAvroDepth)
	}
	data := w.data
	for k := range b.steps {
		s := &b.steps[k]
		switch s.op {
		case skipFixed:
			if i += int(s.n); i > len(data) {
				return w.fail(ErrAvroEnd)
			}
		case skipLong:
			for range s.n {
				if i < len(data) && data[i] < 0x80 {
					i++
				} else if _, i = w.long(i); i < 0 {
					return -1
				}
			}
		case skipText:
			if i < len(data) && data[i] < 0x80 && data[i]&1 == 0 { // a short one
				if i += 1 + int(data[i]>>1); i > len(data) {
					return w.fail(ErrAvroEnd)
				}
				continue
			}
			var n int
			if n, i = w.length(i); i < 0 {
				return -1
			}
			i += n
		case skipUnion:
			var n int64
			if n, i = w.long(i); i < 0 {
				return -1
			}
			if uint64(n) >= uint64(len(s.blocks)) {
				return w.fail(ErrAvroBranch)
			}
			if of := s.blocks[n]; len(of.steps) > 0 {
				if i = w.avro(of, i, calls); i < 0 {
					return -1
				}
			}
		case skipBlocks, readItems, readEntries:
			if i = w.blocks(s, i, calls); i < 0 {
				return -1
			}
		case openEvents:
			w.openEvents()
		case noteEvents:
			if w.openEvents(); len(w.each.pieces) > 0 && w.each.binary.avro != s.blocks[1] {
				return w.fail(ErrEventTypes)
			}
			w.each.binary.avro = s.blocks[1]
			if i = w.blocks(s, i, calls); i < 0 {
				return -1
			}
		case callBlock:
			if i = w.avro(s.blocks[0], i, calls+1); i < 0 {
				return -1
			}
		case sameBlock:
			if i = w.avro(s.blocks[0], i, calls); i < 0 {
				return -1
			}
		case readInt, readLong:
			var n int64
			if n, i = w.long(i); i < 0 {
				return -1
			}
			if s.op == readInt && n != int64(int32(n)) {
				return w.fail(ErrAvroInt)
			}
			w.integer(int(s.slot), n)
		case readText:
			n := 0
			if i < len(data) && data[i] < 0x80 && data[i]&1 == 0 && int(data[i]>>1) < len(data)-i { // a short one
				n = int(data[i] >> 1)
				i++
			} else if n, i = w.length(i); i < 0 {
				return -1
			}
			text := data[i : i+n : i+n]
			if !valid(text) {
				return w.fail(ErrUTF8)
			}
			w.vals[s.slot] = Value{String, text}
			i += n
		case readComposite:
			w.vals[s.slot] = Value{Type: Composite}
		default:
			if i = w.scalar(s, i); i < 0 {
				return -1
			}
		}
	}
	return i
}

// scalar reads the less frequent types.
func (w *walk) scalar(s *avroStep, i int) int {
	data, slot := w.data, int(s.slot)
	size := int(s.n)
	switch s.op {
	case refuseEvent:
		return w.fail(ErrNotRecord)
	case readBool:
		size = 1
	case readFloat:
		size = 4
	case readDouble:
		size = 8
	case readEnum:
		n, i := w.long(i)
		switch {
		case i < 0:
			return -1
		case uint64(n) >= uint64(len(s.more.symbols)):
			return w.fail(ErrAvroSymbol)
		}
		w.vals[slot] = Value{String, s.more.symbols[n]}
		return i
	}
	if size < 0 {
		if size, i = w.length(i); i < 0 {
			return -1
		}
	}
	if size > len(data)-i {
		return w.fail(ErrAvroEnd)
	}
	b := data[i : i+size : i+size]
	switch s.op {
	case readBool:
		w.boolean(slot, b[0] == 1)
	case readFloat:
		w.float(slot, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case readDouble:
		w.float(slot, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	case readBytes:
		w.base64(slot, b)
	case readUUID:
		w.uuid(slot, b)
	case readUnscaled:
		if len(b) > maxDecimal {
			return w.fail(ErrAvroDecimal)
		}
		w.decimal(slot, b, int(s.scale))
	default:
		panic(fmt.Sprintf("event: step %d of Avro", s.op))
	}
	return i + size
}

// blocks reads an array or a map: blocks of elements, each with their number, until a block of
// none. Behind a negative number is the length of the block in bytes.
func (w *walk) blocks(s *avroStep, i, calls int) int {
	for element := int64(0); ; {
		n, end := int64(0), -1
		if n, i = w.long(i); i < 0 {
			return -1
		}
		if n == 0 {
			return i
		}
		if n < 0 {
			size := int64(0)
			if size, i = w.long(i); i < 0 {
				return -1
			}
			if size < 0 || size > int64(len(w.data)-i) {
				return w.fail(ErrAvroBlock)
			}
			if n, end = -n, i+int(size); n < 0 {
				return w.fail(ErrAvroLength)
			}
		}
		switch {
		case s.op == readEntries:
			i = w.entries(s, i, n, calls)
		case s.op == noteEvents:
			i = w.events(s, i, n, calls)
		case len(s.blocks[0].steps) == 0:
			// The elements take no bytes, so there may be any number of them.
			i = w.bare(s, i, element, n, calls)
		default:
			i = w.elements(s, i, element, n, calls)
		}
		if i < 0 {
			return -1
		}
		if end >= 0 && i != end {
			return w.fail(ErrAvroBlock)
		}
		element = min(element+min(n, MaxIndex+1), MaxIndex+1)
	}
}

// elements reads the next n elements of an array or, to skip them, a map.
func (w *walk) elements(s *avroStep, i int, element, n int64, calls int) int {
	for ; n > 0 && i >= 0; n-- {
		of := s.blocks[0]
		if s.more != nil {
			for k := range s.more.over {
				o := &s.more.over[k]
				if o.key >= 0 && w.vals[o.key].Type != Missing { // an element before is the one
					continue
				}
				if w.avro(o.block, i, calls) < 0 {
					return -1
				}
				if o.key >= 0 && !o.step.is(w.vals[o.key]) {
					w.clear(o.slots)
				}
			}
			if at := slices.Index(s.more.indexes, int(min(element, MaxIndex+1))); at >= 0 {
				of = s.blocks[at+1]
			}
		}
		i = w.avro(of, i, calls)
		element++
	}
	return i
}

// bare reads the wanted ones of the next n elements, which take no bytes.
func (w *walk) bare(s *avroStep, i int, element, n int64, calls int) int {
	if s.more == nil {
		return i
	}
	for at, index := range s.more.indexes {
		if from := int64(index) - element; from >= 0 && from < n && i >= 0 {
			i = w.avro(s.blocks[at+1], i, calls)
		}
	}
	return i
}

// entries reads the next n entries of a map. Of entries of the same key the last one counts.
func (w *walk) entries(s *avroStep, i int, n int64, calls int) int {
	for ; n > 0 && i >= 0; n-- {
		size := 0
		if size, i = w.length(i); i < 0 {
			return -1
		}
		key, of := w.data[i:i+size], s.blocks[0]
		for at, k := range s.more.keys {
			if k == string(key) {
				of = s.blocks[at+1]
				w.clear(s.more.slots[at])
			}
		}
		i = w.avro(of, i+size, calls)
	}
	return i
}
