package event

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
)

// A message of Protocol Buffers is a list of fields, each with its number and a wire type that
// says how long it is. From the schema and the wanted paths weir compiles, for each message on
// the way, which numbers are wanted and what to do with them. Everything else is skipped by
// its length.
//
// A field may come several times: of a single value the last one counts, messages are merged,
// and the elements of a repeated field add up, packed or not.

// A MessageType is a type of message. Messages may contain themselves.
type MessageType struct {
	Fields []MessageField
	Known  ProtoKnown
}

// A ProtoKnown is a message of Google's that has a form of its own in JSON.
type ProtoKnown uint8

// The messages. Others of Google's are read as they are.
const (
	ProtoPlain     ProtoKnown = iota
	ProtoTimestamp            // its time as RFC 3339 has it, in UTC
	ProtoWrapper              // the value in it, also if that is 0
)

// A MessageField is a field of a message.
type MessageField struct {
	Name     string
	Number   int32
	Kind     ProtoKind
	Repeated bool             // also a map
	Map      bool             // its messages are entries: key has the number 1, value the number 2
	Message  *MessageType     // of a message
	Symbols  map[int32]string // of an enum
	Closed   bool             // an enum that has no other numbers than its symbols
	Default  int32            // the number of an enum's first symbol
	Oneof    int              // the oneof that it belongs to, from 1; 0: to none
}

// A ProtoKind is the type of a field.
type ProtoKind uint8

// The kinds.
const (
	ProtoBool ProtoKind = iota
	ProtoInt32
	ProtoSint32
	ProtoUint32
	ProtoInt64
	ProtoSint64
	ProtoUint64
	ProtoFixed32
	ProtoSfixed32
	ProtoFloat
	ProtoFixed64
	ProtoSfixed64
	ProtoDouble
	ProtoEnum
	ProtoString
	ProtoBytes
	ProtoMessage
	ProtoGroup // is skipped
)

// Why bytes were refused as a message.
var (
	ErrProtoEnd    = errors.New("event: Protobuf: the message ends in the middle")
	ErrProtoVarint = errors.New("event: Protobuf: a number of more than 64 bits")
	ErrProtoField  = errors.New("event: Protobuf: a field number out of range: it is no message, or not of this schema")
	ErrProtoWire   = errors.New("event: Protobuf: a wire type that does not exist: it is no message, or not of this schema")
	ErrProtoGroup  = errors.New("event: Protobuf: a group that is not closed, or not opened")
	ErrProtoDepth  = errors.New("event: Protobuf: nested too deeply")
)

// The wire types.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wireStart  = 3
	wireEnd    = 4
	wire32     = 5
)

// wires are the wire types of the kinds that are no varints.
var wires = [...]int{ProtoFixed32: wire32, ProtoSfixed32: wire32, ProtoFloat: wire32, ProtoFixed64: wire64, ProtoSfixed64: wire64, ProtoDouble: wire64,
	ProtoString: wireBytes, ProtoBytes: wireBytes, ProtoMessage: wireBytes, ProtoGroup: wireStart}

// wireOf returns the wire type of a kind.
func (k ProtoKind) wireOf() int { return wires[k] }

// A protoTime is a timestamp: its parts may come one after the other.
type protoTime struct{ seconds, nanos int64 }

// readProto sets the wanted values of a message.
func (w *walk) readProto(p *protoProgram) error {
	if len(w.counts) < p.counters {
		w.counts, w.times = make([]int, p.counters), make([]protoTime, p.counters)
	}
	clear(w.counts)
	clear(w.times)
	if p.whole {
		w.vals[0] = Value{Type: Composite}
	}
	if w.message(p.root, 0, len(w.data), 0) < 0 {
		return w.err
	}
	return nil
}

// tag reads a field number and a wire type at i.
func (w *walk) tag(i, end int) (number uint64, wire, next int) {
	if w.data[i] < 0x80 {
		number, next = uint64(w.data[i]), i+1
	} else if number, next = w.varint(i, end); next < 0 {
		return 0, 0, -1
	}
	wire = int(number & 7)
	if number >>= 3; number == 0 || number > 1<<29-1 {
		return 0, 0, w.fail(ErrProtoField)
	}
	return number, wire, next
}

func (w *walk) varint(i, end int) (uint64, int) {
	u, next := varintAt(w.data[:end], i)
	if next < 0 {
		if end-i >= binary.MaxVarintLen64 {
			return 0, w.fail(ErrProtoVarint)
		}
		return 0, w.fail(ErrProtoEnd)
	}
	return u, next
}

// span reads a length at i that ends at most at end, and returns where its bytes begin and end.
func (w *walk) span(i, end int) (from, to int) {
	n, from := w.varint(i, end)
	if from < 0 {
		return 0, -1
	}
	if n > uint64(end-from) {
		return 0, w.fail(ErrProtoEnd)
	}
	return from, from + int(n)
}

// message reads the fields of a message in data[i:end].
func (w *walk) message(b *protoBlock, i, end, depth int) int {
	if depth > maxCalls {
		return w.fail(ErrProtoDepth)
	}
	data := w.data[:end]
	for i < end {
		// Most fields have a number below 16, and most of them are short texts.
		if c := data[i]; c < 0x80 && c&7 == wireBytes && c>>3 != 0 && i+1 < end && data[i+1] < 0x80 {
			from := i + 2
			to := from + int(data[i+1])
			if to > end {
				return w.fail(ErrProtoEnd)
			}
			at := b.small[c>>3]
			if at == 0 {
				i = to
				continue
			}
			if a := &b.actions[at-1]; a.plain && a.field.Kind == ProtoString {
				text := data[from:to:to]
				if !valid(text) {
					return w.fail(ErrUTF8)
				}
				w.vals[a.slot] = Value{String, text}
				i = to
				continue
			}
		}
		number, wire, next := w.tag(i, end)
		if next < 0 {
			return -1
		}
		a := b.find(number)
		if a != nil && a.plain && wire == wireVarint && a.field.Kind.wireOf() == wireVarint {
			var raw uint64
			if raw, i = w.varint(next, end); i < 0 {
				return -1
			}
			if a.field.Kind == ProtoInt64 {
				w.integer(a.slot, int64(raw))
			} else {
				w.set(a, raw, nil)
			}
			continue
		}
		if a != nil && a.field.Kind == ProtoGroup && wire == wireStart {
			w.clear(a.clears)
			w.restart(a.resets)
			a = nil
		}
		if a == nil || a.field.Kind == ProtoGroup || wire != a.field.Kind.wireOf() && !(wire == wireBytes && a.field.Repeated && a.field.Kind.wireOf() != wireBytes) {
			if i = w.skip(number, wire, next, end, depth); i < 0 {
				return -1
			}
			continue
		}
		if i = w.field(a, wire, next, end, depth); i < 0 {
			return -1
		}
	}
	return i
}

// skip skips the value of a field.
func (w *walk) skip(number uint64, wire, i, end, depth int) int {
	switch wire {
	case wireVarint:
		_, i = w.varint(i, end)
		return i
	case wire64:
		i += 8
	case wire32:
		i += 4
	case wireBytes:
		_, i = w.span(i, end)
		return i
	case wireStart:
		if depth > maxCalls {
			return w.fail(ErrProtoDepth)
		}
		for i < end {
			n, wire, next := w.tag(i, end)
			if next < 0 {
				return -1
			}
			if wire == wireEnd {
				if n != number {
					return w.fail(ErrProtoGroup)
				}
				return next
			}
			if i = w.skip(n, wire, next, end, depth+1); i < 0 {
				return -1
			}
		}
		return w.fail(ErrProtoEnd)
	case wireEnd:
		return w.fail(ErrProtoGroup)
	default:
		return w.fail(ErrProtoWire)
	}
	if i > end {
		return w.fail(ErrProtoEnd)
	}
	return i
}

// field reads the value of a wanted field at i and returns the index after it.
func (w *walk) field(a *protoAction, wire, i, end, depth int) int {
	kind := a.field.Kind
	if wire == wireBytes {
		from, to := w.span(i, end)
		if to < 0 {
			return -1
		}
		if kind.wireOf() != wireBytes { // packed
			for from < to {
				raw, next := w.raw(kind, from, to)
				if next < 0 {
					return -1
				}
				w.set(a, raw, nil)
				from = next
			}
			return to
		}
		if kind != ProtoMessage {
			return w.text8(a, from, to)
		}
		return w.nested(a, from, to, depth)
	}
	raw, next := w.raw(kind, i, end)
	if next < 0 {
		return -1
	}
	w.set(a, raw, nil)
	return next
}

// raw reads a number of a kind.
func (w *walk) raw(kind ProtoKind, i, end int) (uint64, int) {
	switch kind.wireOf() {
	case wire32:
		if end-i < 4 {
			return 0, w.fail(ErrProtoEnd)
		}
		return uint64(binary.LittleEndian.Uint32(w.data[i:])), i + 4
	case wire64:
		if end-i < 8 {
			return 0, w.fail(ErrProtoEnd)
		}
		return binary.LittleEndian.Uint64(w.data[i:]), i + 8
	}
	return w.varint(i, end)
}

// text8 reads a string or bytes in data[from:to].
func (w *walk) text8(a *protoAction, from, to int) int {
	b := w.data[from:to:to]
	if w.wanted(a) && a.field.Kind == ProtoString && !valid(b) {
		return w.fail(ErrUTF8)
	}
	w.set(a, 0, b)
	return to
}

// wanted reports whether the next value of a field is read.
func (w *walk) wanted(a *protoAction) bool {
	return a.slot >= 0 || a.elements != nil && slices.Contains(a.indexes, w.counts[a.counter])
}

// set sets what is wanted of a number or of text; of a field that only ends another member of
// its oneof that is nothing.
func (w *walk) set(a *protoAction, raw uint64, text []byte) {
	f := a.field
	if f.Kind == ProtoEnum && f.Closed && f.Symbols[int32(raw)] == "" {
		return // it counts as unknown
	}
	w.clear(a.clears)
	w.restart(a.resets)
	switch {
	case a.elements != nil:
		if at := slices.Index(a.indexes, w.counts[a.counter]); at >= 0 {
			w.set(&a.elements[at], raw, text)
		}
		w.counts[a.counter]++
	case a.slot >= 0 && f.Repeated:
		w.vals[a.slot] = Value{Type: Composite}
	case a.slot >= 0:
		w.protoValue(a.slot, f, raw, text)
	}
}

// restart sets counters to 0.
func (w *walk) restart(counters []int) {
	for _, n := range counters {
		w.counts[n], w.times[n] = 0, protoTime{}
	}
}

// protoValue makes a value of a field's type.
func (w *walk) protoValue(slot int, f *MessageField, raw uint64, text []byte) {
	switch f.Kind {
	case ProtoBool:
		w.boolean(slot, raw != 0)
	case ProtoUint64, ProtoFixed64:
		from := len(w.text)
		w.text = strconv.AppendUint(w.text, raw, 10)
		w.number(slot, from)
	case ProtoFloat:
		w.float(slot, float64(math.Float32frombits(uint32(raw))), 32)
	case ProtoDouble:
		w.float(slot, math.Float64frombits(raw), 64)
	case ProtoEnum:
		if symbol, ok := f.Symbols[int32(raw)]; ok {
			from := len(w.text)
			w.text = append(w.text, symbol...)
			w.vals[slot] = Value{String, w.text[from:len(w.text):len(w.text)]}
		} else {
			w.integer(slot, int64(int32(raw)))
		}
	case ProtoString:
		w.vals[slot] = Value{String, text}
	case ProtoBytes:
		w.base64(slot, text)
	default:
		w.integer(slot, f.Kind.signed(raw))
	}
}

// signed returns a number of a kind whose values an int64 holds.
func (k ProtoKind) signed(raw uint64) int64 {
	switch k {
	case ProtoInt32, ProtoSfixed32:
		return int64(int32(raw))
	case ProtoSint32:
		return int64(int32(uint32(raw)>>1) ^ -int32(raw&1))
	case ProtoUint32, ProtoFixed32:
		return int64(uint32(raw))
	case ProtoSint64:
		return int64(raw>>1) ^ -int64(raw&1)
	}
	return int64(raw)
}

// nested reads a message in data[from:to].
func (w *walk) nested(a *protoAction, from, to, depth int) int {
	w.clear(a.clears)
	w.restart(a.resets)
	switch {
	case a.notes:
		return w.note(a, from, to)
	case a.keys != nil:
		return w.entry(a, from, to, depth)
	case a.elements != nil || a.over != nil:
		for k := range a.over {
			o := &a.over[k]
			if o.key >= 0 && w.vals[o.key].Type != Missing { // an element before is the one
				continue
			}
			if w.nested(&o.action, from, to, depth) < 0 {
				return -1
			}
			if o.key >= 0 && !o.step.is(w.vals[o.key]) {
				w.clear(o.slots)
				w.restart(o.counters)
			}
		}
		at := slices.Index(a.indexes, w.counts[a.counter])
		w.counts[a.counter]++
		if at < 0 {
			return to
		}
		return w.nested(&a.elements[at], from, to, depth)
	case a.slot >= 0 && !a.field.Repeated && a.field.Message.Known == ProtoTimestamp:
		return w.timestamp(a, from, to, depth)
	case a.slot >= 0 && a.sub != nil: // a wrapper
		if w.vals[a.slot].Type == Missing {
			w.protoValue(a.slot, a.sub.actions[0].field, 0, []byte{})
		}
	case a.slot >= 0:
		w.vals[a.slot] = Value{Type: Composite}
	}
	if a.sub == nil {
		return to
	}
	return w.message(a.sub, from, to, depth+1)
}

// entry reads an entry of a map in data[from:to]. It takes the place of an earlier one of the
// same key. What is not on the wire is 0 or empty, of an enum the first symbol. An entry whose value is a number that a
// closed enum does not have counts as unknown.
func (w *walk) entry(a *protoAction, from, to, depth int) int {
	var key, value *MessageField
	for i := range a.field.Message.Fields {
		switch f := &a.field.Message.Fields[i]; f.Number {
		case 1:
			key = f
		case 2:
			value = f
		}
	}
	var text []byte
	var digits [24]byte
	number, unknown := uint64(0), false
	for i := from; i < to; {
		n, wire, next := w.tag(i, to)
		if next < 0 {
			return -1
		}
		switch {
		case n == 2 && wire == wireVarint && value.Kind == ProtoEnum && value.Closed:
			var raw uint64
			raw, i = w.varint(next, to)
			unknown = value.Symbols[int32(raw)] == ""
		case n != 1 || wire != key.Kind.wireOf():
			i = w.skip(n, wire, next, to, depth)
		case wire == wireBytes:
			var begin int
			if begin, i = w.span(next, to); i >= 0 {
				text = w.data[begin:i]
			}
		default:
			number, i = w.raw(key.Kind, next, to)
		}
		if i < 0 {
			return -1
		}
	}
	if unknown {
		return to
	}
	if a.slot >= 0 {
		w.vals[a.slot] = Value{Type: Composite}
	}
	switch key.Kind {
	case ProtoString:
	case ProtoBool:
		text = strconv.AppendBool(digits[:0], number != 0)
	case ProtoUint64, ProtoFixed64:
		text = strconv.AppendUint(digits[:0], number, 10)
	default:
		text = strconv.AppendInt(digits[:0], key.Kind.signed(number), 10)
	}
	for k := range a.keys {
		if a.keys[k] != string(text) {
			continue
		}
		e := &a.elements[k]
		w.clear(e.inside)
		w.restart(e.restarts)
		switch {
		case e.slot >= 0 && value.Kind == ProtoMessage:
			if w.nested(e, to, to, depth) < 0 {
				return -1
			}
		case e.slot >= 0 && value.Kind == ProtoEnum:
			w.protoValue(e.slot, value, uint64(value.Default), nil)
		case e.slot >= 0:
			w.protoValue(e.slot, value, 0, []byte{})
		}
		for i := from; i < to; {
			n, wire, next := w.tag(i, to)
			if next < 0 {
				return -1
			}
			if n == 2 && wire == value.Kind.wireOf() {
				i = w.field(e, wire, next, to, depth)
			} else {
				i = w.skip(n, wire, next, to, depth)
			}
			if i < 0 {
				return -1
			}
		}
	}
	return to
}

// timestamp reads a google.protobuf.Timestamp in data[from:to].
func (w *walk) timestamp(a *protoAction, from, to, depth int) int {
	t := &w.times[a.counter]
	for i := from; i < to; {
		n, wire, next := w.tag(i, to)
		if next < 0 {
			return -1
		}
		if n > 2 || wire != wireVarint {
			i = w.skip(n, wire, next, to, depth)
		} else {
			var raw uint64
			if raw, i = w.varint(next, to); n == 1 {
				t.seconds = int64(raw)
			} else {
				t.nanos = int64(int32(raw))
			}
		}
		if i < 0 {
			return -1
		}
	}
	w.rfc3339(a.slot, t.seconds, t.nanos)
	return to
}
