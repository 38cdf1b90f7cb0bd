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

// An AvroLogical is a logical type that changes the value that weir reads, or says that it is
// a time.
type AvroLogical uint8

// The logical types. Of times and all others weir reads the number or the bytes.
const (
	AvroPlain   AvroLogical = iota
	AvroDecimal             // of bytes or fixed: a number
	AvroUUID                // of fixed(16): its text
	AvroMillis              // of long: a time in milliseconds,
	AvroMicros              // in microseconds
	AvroNanos               // or in nanoseconds since 1970, in UTC
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

type avroOp uint8

const (
	skipFixed  avroOp = iota // n bytes
	skipLong                 // n varints
	skipText                 // a length and as many bytes
	skipUnion                // a branch number, then a block of it
	skipBlocks               // an array or map: blocks[0] for each element
	callBlock                // blocks[0]
	sameBlock                // blocks[0], which other steps have too
	readBool
	readInt
	readLong
	readFloat
	readDouble
	readText
	readBytes    // n: size of a fixed, or -1
	readUnscaled // of a decimal, like readBytes
	readUUID
	readEnum
	readComposite // says that there is something; steps that skip it follow
	readItems     // an array of which elements are wanted: blocks[0] for the others
	readEntries   // a map of which keys are wanted: blocks[0] for the others
	noteEvents    // the array of events: blocks[0] skips one, blocks[1] reads one
	refuseEvent   // an event that is no record
)

// An avroStep is one step of a program.
type avroStep struct {
	op     avroOp
	slot   int16
	n      int32
	scale  int32
	more   *avroMore // of the steps that have one
	blocks []*avroBlock
}

type avroMore struct {
	symbols [][]byte
	indexes []int    // of the elements that blocks[1:] read
	keys    []string // the same for a map…
	slots   [][]int  // …and the slots that each of them sets
}

// An avroBlock is a list of steps. Blocks of types that contain themselves have a cycle.
type avroBlock struct{ steps []avroStep }

// compileAvro compiles the program that reads the wanted values of the type.
func compileAvro(t *AvroType, root *branch) *avroBlock {
	b := &avroBlock{}
	newAvroCompiler().walk(b, t, root)
	return b
}

type avroCompiler struct {
	skips map[*AvroType]*avroBlock // of records
	done  map[*AvroType]bool       // those of them that are compiled
	walks map[avroWalk]*avroBlock  // of records that lead to wanted values
	event *branch                  // of the events in the array at slot 0; nil: a record is one event
}

// An avroWalk is a record at a place in the wanted paths. Unions may lead to it in many ways, whose number
// grows with each step of a path, so it is compiled once.
type avroWalk struct {
	of *AvroType
	to *branch
}

func newAvroCompiler() *avroCompiler {
	return &avroCompiler{skips: map[*AvroType]*avroBlock{}, done: map[*AvroType]bool{}, walks: map[avroWalk]*avroBlock{}}
}

const (
	// inlined is how many steps of a record are copied into the record around it.
	inlined = 16
	// longest is beyond the size of any record.
	longest = 1 << 30
)

func (b *avroBlock) add(s avroStep) {
	if n := len(b.steps); n > 0 && (s.op == skipFixed || s.op == skipLong) && b.steps[n-1].op == s.op && b.steps[n-1].n < 1<<24 {
		b.steps[n-1].n += s.n
		return
	}
	b.steps = append(b.steps, s)
}

// skip adds the steps that skip a value.
func (c *avroCompiler) skip(b *avroBlock, t *AvroType) {
	switch t.Kind {
	case AvroNull:
	case AvroBoolean:
		b.add(avroStep{op: skipFixed, n: 1})
	case AvroInt, AvroLong, AvroEnum:
		b.add(avroStep{op: skipLong, n: 1})
	case AvroFloat:
		b.add(avroStep{op: skipFixed, n: 4})
	case AvroDouble:
		b.add(avroStep{op: skipFixed, n: 8})
	case AvroFixed:
		if t.Size > 0 {
			b.add(avroStep{op: skipFixed, n: int32(min(t.Size, longest))})
		}
	case AvroBytes, AvroString:
		b.add(avroStep{op: skipText})
	case AvroRecord:
		of, known := c.skips[t]
		if !known {
			of = &avroBlock{}
			c.skips[t] = of
			for _, f := range t.Fields {
				c.skip(of, f.Type)
			}
			c.done[t] = true
		}
		if !c.done[t] || len(of.steps) > inlined {
			b.add(avroStep{op: callBlock, blocks: []*avroBlock{of}})
			return
		}
		for _, s := range of.steps {
			b.add(s)
		}
	case AvroArray, AvroMap:
		of := &avroBlock{}
		if t.Kind == AvroMap {
			c.skip(of, &AvroType{Kind: AvroString})
		}
		c.skip(of, t.Items)
		b.add(avroStep{op: skipBlocks, blocks: []*avroBlock{of}})
	case AvroUnion:
		b.add(c.union(t, c.skip))
	}
}

// union returns the step of a union, with the steps of each branch.
func (c *avroCompiler) union(t *AvroType, each func(*avroBlock, *AvroType)) avroStep {
	s := avroStep{op: skipUnion}
	for _, branch := range t.Branches {
		of := &avroBlock{}
		each(of, branch)
		s.blocks = append(s.blocks, of)
	}
	return s
}

// walk adds the steps for a value that leads to wanted ones.
func (c *avroCompiler) walk(b *avroBlock, t *AvroType, to *branch) {
	switch {
	case t.Kind == AvroUnion:
		b.add(c.union(t, func(b *avroBlock, t *AvroType) { c.walk(b, t, to) }))
	case t.Kind == AvroRecord && to.keys != nil:
		if of := c.walks[avroWalk{t, to}]; of != nil {
			b.add(avroStep{op: sameBlock, blocks: []*avroBlock{of}})
			return
		}
		of := &avroBlock{}
		for _, f := range t.Fields {
			c.member(of, f.Type, to.find([]byte(f.Name)))
		}
		c.walks[avroWalk{t, to}] = of
		for _, s := range of.steps {
			b.add(s)
		}
	case t.Kind == AvroMap && to.keys != nil:
		s := avroStep{op: readEntries, more: &avroMore{}, blocks: []*avroBlock{{}}}
		c.skip(s.blocks[0], t.Items)
		for i := range to.keys {
			of := &avroBlock{}
			c.member(of, t.Items, &to.keys[i])
			s.more.keys, s.blocks = append(s.more.keys, to.keys[i].key), append(s.blocks, of)
			s.more.slots = append(s.more.slots, to.keys[i].slots(nil))
		}
		b.add(s)
	case t.Kind == AvroArray && to.items != nil:
		s := avroStep{op: readItems, more: &avroMore{}, blocks: []*avroBlock{{}}}
		c.skip(s.blocks[0], t.Items)
		for i := range to.items {
			of := &avroBlock{}
			c.member(of, t.Items, &to.items[i])
			s.more.indexes, s.blocks = append(s.more.indexes, to.items[i].index), append(s.blocks, of)
		}
		b.add(s)
	default:
		c.skip(b, t)
	}
}

// member adds the steps for a field, an element or an entry; f is nil if it is not wanted.
func (c *avroCompiler) member(b *avroBlock, t *AvroType, f *field) {
	switch {
	case f == nil:
		c.skip(b, t)
	case f.sub != nil:
		c.walk(b, t, f.sub)
	default:
		c.read(b, t, int16(f.slot))
	}
}

// read adds the steps that read a wanted value.
func (c *avroCompiler) read(b *avroBlock, t *AvroType, slot int16) {
	s := avroStep{slot: slot, n: -1, scale: int32(t.Scale)}
	if t.Kind == AvroFixed {
		s.n = int32(min(t.Size, longest))
	}
	switch t.Kind {
	case AvroNull:
		return
	case AvroBoolean:
		s.op = readBool
	case AvroInt:
		s.op = readInt
	case AvroLong:
		s.op = readLong
	case AvroFloat:
		s.op = readFloat
	case AvroDouble:
		s.op = readDouble
	case AvroString:
		s.op = readText
	case AvroBytes, AvroFixed:
		switch {
		case t.Logical == AvroDecimal:
			s.op = readUnscaled
		case t.Logical == AvroUUID && t.Size == 16:
			s.op = readUUID
		default:
			s.op = readBytes
		}
	case AvroEnum:
		s.op, s.more = readEnum, &avroMore{}
		for _, symbol := range t.Symbols {
			s.more.symbols = append(s.more.symbols, []byte(symbol))
		}
	case AvroUnion:
		b.add(c.union(t, func(b *avroBlock, t *AvroType) { c.read(b, t, slot) }))
		return
	case AvroArray:
		if c.event != nil && slot == 0 {
			c.events(b, t)
			return
		}
		fallthrough
	default:
		s.op = readComposite
		b.add(s)
		c.skip(b, t)
		return
	}
	b.add(s)
}

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
		case noteEvents:
			e := w.each
			w.vals[s.slot], e.pieces, e.binary.avro = openedArray, e.pieces[:0], s.blocks[1]
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
			w.vals[s.slot] = Value{Kind: Composite}
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

// follow passes the types to which steps lead to each, every one once. Unions may lead to it in many ways.
func (t *AvroType) follow(steps []pathStep, each func(*AvroType)) {
	type place struct {
		of   *AvroType
		left int
	}
	seen := map[place]bool{}
	var walk func(t *AvroType, steps []pathStep)
	walk = func(t *AvroType, steps []pathStep) {
		at := place{t, len(steps)}
		if seen[at] {
			return
		}
		seen[at] = true
		switch {
		case t.Kind == AvroUnion:
			for _, b := range t.Branches {
				walk(b, steps)
			}
		case len(steps) == 0:
			each(t)
		case t.Kind == AvroRecord && steps[0].key != "":
			for _, f := range t.Fields {
				if f.Name == steps[0].key {
					walk(f.Type, steps[1:])
				}
			}
		case t.Kind == AvroMap && steps[0].key != "", t.Kind == AvroArray && steps[0].key == "":
			walk(t.Items, steps[1:])
		}
	}
	walk(t, steps)
}

// leads reports whether steps lead from a type to another one.
func (t *AvroType) leads(steps []pathStep) (leads bool) {
	t.follow(steps, func(*AvroType) { leads = true })
	return leads
}
