package event

import (
	"errors"
	"slices"
	"strings"
)

// In Avro and Protobuf a second walk reads what is around the events, and notes where each of
// them is. Protobuf says how long an element is, so it is not looked into. Avro does not: there
// an element ends where the program ends that skips it. So bytes that do not fit the schema
// make an Avro record malformed as a whole, and contents that are not right, such as a text
// that is not UTF-8, make the event malformed that has them.

// ErrNotRecord is the error of an element of an array of events in Avro that has no fields.
var ErrNotRecord = errors.New("event: Avro: the event is no record")

// ErrEventTypes is the error of a record whose arrays have events of several types, which one program cannot read.
var ErrEventTypes = errors.New("event: Avro: arrays of events of several types in a record")

// openedArray is the value of an array whose elements have been noted.
var openedArray = Value{Composite, []byte("[")}

// An eachWalk finds the events of records of Avro or Protobuf.
type eachWalk struct {
	around *branch // slot 0 is the array; nil: the array is the whole value
	walk   walk
	avro   *avroBlock // of the events of the opened record
}

func newEachWalk(e *eachReader, around *branch, texts *scratch) *eachWalk {
	return &eachWalk{around: around, walk: walk{each: e, scratch: texts}}
}

// openWalked finds the events of the selected record.
func (r *Reader) openWalked() error {
	p, e := r.program, r.each
	switch {
	case r.err != nil:
		return r.err
	case p.wrong != nil:
		return p.wrong
	}
	e.begin(r.body)
	w := &e.binary.walk
	w.begin(r.body, e.found)
	var err error
	if p.avro != nil {
		err = w.readAvro(p.avro)
	} else if err = w.readProto(p.proto); err == nil && p.proto.events > 0 {
		// A field of no elements is not on the wire.
		e.found[0], e.pieces = openedArray, e.pieces[:w.counts[p.proto.events-1]]
	}
	w.end()
	if err != nil {
		return err
	}
	return e.opened()
}

// walkedEvent reads an event of the opened record.
func (r *Reader) walkedEvent(i int, vals []Value) (err error) {
	w := &r.walk
	w.begin(r.each.event(i), vals)
	if r.program.avro != nil {
		err = w.readAvro(r.each.binary.avro)
	} else {
		err = w.readProto(r.program.event)
	}
	w.end()
	return err
}

// compileAvroEach compiles the program that reads what is around the events of a record, and
// notes the events.
func compileAvroEach(t *AvroType, around, event *branch) *avroBlock {
	c := newAvroCompiler()
	c.event = event
	b := &avroBlock{}
	if around == nil {
		c.read(b, t, 0)
	} else {
		c.walk(b, t, around)
	}
	return b
}

// events adds the step that notes the elements of an array.
func (c *avroCompiler) events(b *avroBlock, t *AvroType) {
	s := avroStep{op: noteEvents, blocks: []*avroBlock{{}, {}}}
	c.skip(s.blocks[0], t.Items)
	inner := newAvroCompiler()
	inner.element(s.blocks[1], t.Items, c.event)
	b.add(s)
}

// element adds the steps that read an event.
func (c *avroCompiler) element(b *avroBlock, t *AvroType, to *branch) {
	switch t.Kind {
	case AvroUnion:
		b.add(c.union(t, func(b *avroBlock, t *AvroType) { c.element(b, t, to) }))
	case AvroRecord, AvroMap:
		c.walk(b, t, to)
	default:
		b.add(avroStep{op: refuseEvent})
	}
}

// openEvents notes that there is an array of events, or one that leads to such arrays. One that an entry of the same key
// replaces is forgotten.
func (w *walk) openEvents() {
	if w.vals[0].Type == Missing {
		w.vals[0], w.each.pieces = openedArray, w.each.pieces[:0]
	}
}

// events notes the next n elements of the array of events.
func (w *walk) events(s *avroStep, i int, n int64, calls int) int {
	e := w.each
	if n > int64(MaxEvents-len(e.pieces)) {
		return w.fail(ErrEvents)
	}
	for ; n > 0; n-- {
		from := i
		if i = w.avro(s.blocks[0], i, calls); i < 0 {
			return -1
		}
		e.pieces = append(e.pieces, piece{uint32(from), uint32(i)})
	}
	return i
}

// compileProtoEach compiles the programs that read what is around the events of a message, and
// an event; event is nil if the message has none.
func compileProtoEach(t *MessageType, around, root *branch) (record, event *protoProgram) {
	c := &protoCompiler{each: true}
	c.p.root = c.block(t, around)
	if c.event != nil {
		event = compileProto(c.event, root)
	}
	return &c.p, event
}

// events returns the action that notes the elements of a repeated field.
func (c *protoCompiler) events(f *MessageField) protoAction {
	a := protoAction{field: f, slot: -1, counter: c.counter(), notes: true}
	c.p.events, c.event = a.counter+1, f.Message
	return a
}

// note notes data[from:to] as an event.
func (w *walk) note(a *protoAction, from, to int) int {
	e, n := w.each, w.counts[a.counter]
	if n == MaxEvents {
		return w.fail(ErrEvents)
	}
	w.counts[a.counter]++
	e.pieces = append(e.pieces[:n], piece{uint32(from), uint32(to)})
	return to
}

// Events returns the schema of the events in the array at a path, or in the one that is the Whole; nil if
// there is no array of records.
func (s *Schema) Events(each string) *Schema {
	var steps []pathStep
	if each = strings.TrimSuffix(each, everyOne); each != Whole {
		var err error
		if steps, err = pathSteps(each); err != nil {
			return nil
		}
	}
	if s.Avro != nil {
		if of := s.Avro.events(steps); len(of) > 0 {
			return &Schema{Avro: &AvroType{Kind: AvroUnion, Branches: of}}
		}
		return nil
	}
	if m := s.Message.events(steps); m != nil {
		return &Schema{Message: m}
	}
	return nil
}

// Of returns the schema that has a path of a job, and the path in it: that of records or, if
// each is not empty, of the events in the array there; nil if there are none.
func (s *Schema) Of(each, path string) (*Schema, string) {
	if each == "" {
		return s, path
	}
	if beside, ok := strings.CutPrefix(path, OfRecord); ok {
		return s, beside
	}
	return s.Events(each), path
}

// events returns the types of events in the arrays to which steps lead.
func (t *AvroType) events(steps []pathStep) (of []*AvroType) {
	t.follow(steps, func(t *AvroType) {
		if t.Kind == AvroArray && t.Items.hasFields() {
			of = append(of, t.Items)
		}
	})
	return of
}

// hasFields reports whether values of a type can have fields.
func (t *AvroType) hasFields() bool {
	return t.Kind == AvroRecord || t.Kind == AvroMap || t.Kind == AvroUnion && slices.ContainsFunc(t.Branches, (*AvroType).hasFields)
}

// events returns the type of the events in the repeated field to which steps lead; nil if there is
// none.
func (t *MessageType) events(steps []pathStep) *MessageType {
	if len(steps) == 0 {
		return nil
	}
	f, rest := t.step(steps)
	if f == nil || f.Kind != ProtoMessage {
		return nil
	}
	if len(rest) == 0 {
		if f.Repeated && !f.Map {
			return f.Message
		}
		return nil
	}
	return f.Message.events(rest)
}
