package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// A producer may send its events in batches: the value of a record is an array of events, or
// an object that has such an array at a path, and fields beside it that hold for all of them:
// {"sentAt":"…","batch":[{"type":"track"},{"type":"page"}]}. Form.Each names the array.
//
// What is around the array is read as a record of one event is. The array itself is only cut into
// its elements, and each piece is then read by itself. So a fault in an event makes this event
// malformed and no other one, and a fault anywhere else makes the record malformed. JSON is cut here,
// at the commas that are outside of texts and brackets; each_binary.go has Avro and Protobuf.

// Whole stands in Form.Each for the value itself, where it is the array.
const Whole = "$"

// MaxEvents is how many events a record may have. The bound decides what is counted, so it is
// a constant and not a setting.
const MaxEvents = 1<<18 - 1

// OfRecord begins a path that leads to a field of the record, beside the array: record:sentAt. It
// does so only with Form.Each: without it, such a path begins with a key of that spelling.
const OfRecord = "record:"

// Why the events of a record cannot be told.
var (
	ErrNotArray = errors.New("event: document is not an array")
	ErrEvents   = fmt.Errorf("event: more than %d events in a record", MaxEvents)
)

// keepPieces bounds the pieces that are kept for the next record: 128 KiB of memory.
const keepPieces = 16 << 10

// A piece is an element of an array: doc[start:end], without the space around it.
type piece struct{ start, end uint32 }

// CheckEach says what is wrong with a path of Form.Each; nil if nothing is. It is Whole, except
// for Protobuf, or the path of a value: see CheckPath.
func CheckEach(format Format, path string) error {
	switch {
	case (path == Whole || strings.HasPrefix(path, Whole+everyOne)) && format == Protobuf:
		return errors.New("event: a message of Protobuf is no array")
	case path == Whole:
		return nil
	case format.HasSchema() && strings.HasPrefix(path, Whole+everyOne):
		return errors.New("event: arrays in a value that is an array")
	case InEnvelope(path):
		return fmt.Errorf("event: the array of events at %q is not in the record's value", path)
	}
	_, err := pathSteps(strings.TrimPrefix(path, Whole+everyOne+"."))
	if _, _, _, ok := cutElement(path); err == nil && ok {
		err = fmt.Errorf("event: the array of events at %q is in a text, or in an element that is found by a key", path)
	}
	return err
}

// everyOne behind the path of an array leads into all of its elements: resourceSpans[].scopeSpans[].spans.
const everyOne = "[]"

// CutEach splits a path of Form.Each behind the outermost array. inner is empty if this is the only one.
func CutEach(path string) (outer, inner string) {
	outer, _, inner, _ = cutAt(path, func(_ pathStep, in string) bool { return in == everyOne })
	return outer, inner
}

// An eachReader finds the events of a record, and what they share.
type eachReader struct {
	outer    *Scanner  // of what is around the array, in JSON; nil: nothing is
	binary   *eachWalk // the same in Avro and Protobuf
	found    []Value   // around the events: their array, then the fields beside it
	at       []int     // slots of these fields
	fixed    []int     // slots of all values that the events of a record share
	shared   []Value   // these values, by slot
	missing  error
	notArray error

	inner []*Scanner // of the arrays in elements of arrays, from the outside in, in JSON

	doc    []byte
	pieces []piece
	above  []piece // the elements of the level above
	first  int     // how many pieces are of arrays before
	base   uint32  // where the document of the level begins in doc
}

// newEachReader compiles the paths that do not lead into events.
func newEachReader(form *Form, paths []string, texts *scratch) (*eachReader, error) {
	if err := CheckEach(form.Format, form.Each); err != nil {
		return nil, err
	}
	each, inner := strings.TrimSuffix(form.Each, everyOne), ""
	if !form.Format.HasSchema() {
		each, inner = CutEach(each)
	}
	e := &eachReader{shared: make([]Value, len(paths)), notArray: ErrNotArray}
	around := []string{each}
	for slot, path := range paths {
		if rest, ok := strings.CutPrefix(path, OfRecord); ok {
			around, e.at = append(around, rest), append(e.at, slot)
		}
		if strings.HasPrefix(path, OfRecord) || InEnvelope(path) {
			e.fixed = append(e.fixed, slot)
		}
	}
	e.found = make([]Value, len(around))
	var root *branch
	if each == Whole {
		if e.at != nil {
			return nil, fmt.Errorf("event: path %q: nothing is beside an array that is the whole value", paths[e.at[0]])
		}
	} else {
		e.missing = errors.New("event: field " + PathText(each) + " is missing")
		e.notArray = errors.New("event: field " + PathText(each) + " is not an array")
		var err error
		if root, err = newBranch(around, func(string) bool { return true }); err != nil {
			return nil, err
		}
	}
	switch {
	case form.Format.HasSchema():
		e.binary = newEachWalk(e, root, texts)
	case each != Whole:
		e.outer = scannerOf(root, len(around), texts)
		e.outer.each = e
	}
	for each != "" && inner != "" {
		each, inner = CutEach(inner)
		s, err := NewScanner([]string{each})
		if err != nil {
			return nil, err
		}
		s.each, s.scratch = e, texts
		e.inner = append(e.inner, s)
	}
	return e, nil
}

// begin readies the reader for a record.
func (e *eachReader) begin(doc []byte) {
	if e.pieces = e.pieces[:0]; cap(e.pieces) > keepPieces {
		e.pieces, e.above = nil, nil
	}
	e.doc, e.first, e.base = doc, 0, 0
}

// open finds the events in a document.
func (e *eachReader) open(doc []byte) error {
	e.begin(doc)
	var err error
	if e.outer == nil {
		err = e.whole()
	} else if err = e.outer.scan(doc, e.found); err == nil {
		err = e.opened()
	}
	for _, s := range e.inner {
		if err == nil {
			err = e.descend(s)
		}
	}
	return err
}

// descend puts the elements of the arrays in the elements in their place. An array that is missing or null has none.
func (e *eachReader) descend(s *Scanner) error {
	e.above, e.pieces = e.pieces, e.above[:0]
	var found [1]Value
	for _, p := range e.above {
		e.first, e.base = len(e.pieces), p.start
		if err := s.scan(e.doc[p.start:p.end:p.end], found[:]); err != nil {
			return err
		}
		if t := found[0].Type; t > Null && (t != Composite || found[0].Bytes[0] != '[') {
			return e.notArray
		}
	}
	return nil
}

// opened notes the fields beside the array, and reports what is wrong with what was found in place of it.
func (e *eachReader) opened() error {
	for i, slot := range e.at {
		e.shared[slot] = e.found[1+i]
	}
	switch array := &e.found[0]; {
	case array.Type <= Null && e.missing != nil:
		return e.missing
	case array.Type != Composite || len(array.Bytes) == 0 || array.Bytes[0] != '[':
		return e.notArray
	}
	return nil
}

// whole finds the events in a document that is the array of them.
func (e *eachReader) whole() error {
	i := space(e.doc, 0)
	if i == len(e.doc) {
		return ErrEmpty
	}
	if e.doc[i] != '[' {
		return ErrNotArray
	}
	i, err := e.cut(e.doc, i+1)
	if err == nil && space(e.doc, i) != len(e.doc) {
		err = ErrTrailing
	}
	return err
}

// event returns the text of event i.
func (e *eachReader) event(i int) []byte {
	p := e.pieces[i]
	return e.doc[p.start:p.end:p.end]
}

// What a byte outside of texts means to cut.
const (
	none = iota
	quote
	opening
	shutting
	comma
)

var marks = [256]uint8{'"': quote, '{': opening, '[': opening, '}': shutting, ']': shutting, ',': comma}

// cut notes the elements of the array whose first byte behind the bracket is doc[i]. It
// returns the index behind the closing bracket. It does not look at what is in the elements.
func (e *eachReader) cut(doc []byte, i int) (int, error) {
	pieces := e.pieces[:e.first]
	e.pieces = pieces
	if i = space(doc, i); i < len(doc) && doc[i] == ']' {
		return i + 1, nil
	}
	for from, open := i, 0; ; i++ {
		for i < len(doc) && (marks[doc[i]] == none || open > 0 && doc[i] == ',') {
			i++
		}
		if i >= len(doc) {
			return 0, ErrTruncated
		}
		switch marks[doc[i]] {
		case quote:
			// Most texts are short: the loop is written out, because a call would cost as much.
			for i++; i+8 <= len(doc); i += 8 {
				if m := special(binary.LittleEndian.Uint64(doc[i : i+8])); m != 0 {
					i += bits.TrailingZeros64(m) >> 3
					break
				}
			}
			if i < len(doc) && doc[i] == '"' {
				continue
			}
			if i = textEnd(doc, i); i < 0 {
				return 0, ErrTruncated
			}
			continue
		case opening:
			open++
			continue
		case shutting:
			if open > 0 {
				open--
				continue
			}
			if doc[i] == '}' {
				return 0, ErrSyntax
			}
		}
		// The end of an element.
		if len(pieces) == MaxEvents {
			return 0, ErrEvents
		}
		end := i
		for end > from && (doc[end-1] == ' ' || doc[end-1] == '\n' || doc[end-1] == '\t' || doc[end-1] == '\r') {
			end--
		}
		pieces = append(pieces, piece{e.base + uint32(from), e.base + uint32(end)})
		if doc[i] == ']' {
			e.pieces = pieces
			return i + 1, nil
		}
		from = space(doc, i+1)
		i = from - 1
	}
}

// textEnd returns the index of the quote that ends the text in which doc[i] is; -1 if there is
// none. It does not look at what is in the text.
func textEnd(doc []byte, i int) int {
	for i < len(doc) {
		if i+8 <= len(doc) {
			m := special(binary.LittleEndian.Uint64(doc[i : i+8]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch doc[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	return -1
}

// Open finds the events of a record, and reads what they share. It returns how many there
// are, at most MaxEvents. If it returns an error, the record is malformed: none of its events
// can be read. The form must have Each.
func (r *Reader) Open(rec *Record) (events int, err error) {
	if r.each.binary != nil {
		err = r.openWalked()
	} else {
		var doc []byte
		if doc, err = r.document(rec.Value); err == nil {
			err = r.each.open(doc)
		}
	}
	if err == nil && r.envelope != nil {
		err = r.envelope.read(rec.Envelope, r.each.shared)
	}
	if err == nil && r.key != nil {
		err = r.key.read(r.each.shared)
	}
	if err != nil {
		return 0, err
	}
	r.shared = len(r.text)
	return len(r.each.pieces), nil
}

// NoArray reports whether an error of Open says that the array of events is missing or null.
func (r *Reader) NoArray(err error) bool {
	return r.each.missing != nil && errors.Is(err, r.each.missing)
}

// Around sets vals for a record without a value, or one of which Open has said that it has NoArray: those of its key and its
// headers, and of what is beside the array. All others are missing.
func (r *Reader) Around(rec *Record, vals []Value) error {
	found := vals
	if r.inside != nil {
		found = r.inside.found
	}
	clear(found)
	if r.each != nil && len(rec.Value) > 0 {
		for _, slot := range r.each.at {
			found[slot] = r.each.shared[slot]
		}
	}
	return r.readBeside(rec, found, vals)
}

// Event returns the bytes of event i of the opened record, from 0. They are a view of the
// record's value.
func (r *Reader) Event(i int) []byte { return r.each.event(i) }

// ReadEvent sets vals as Read does, for event i of the opened record. If it returns an error,
// this event is malformed.
func (r *Reader) ReadEvent(i int, vals []Value) error {
	found := vals
	if r.inside != nil {
		found = r.inside.found
	}
	var err error
	if r.each.binary != nil {
		err = r.walkedEvent(i, found)
	} else {
		err = r.json.scan(r.each.event(i), found)
	}
	if err != nil {
		return err
	}
	for _, slot := range r.each.fixed {
		found[slot] = r.each.shared[slot]
	}
	if r.inside != nil {
		return r.inside.read(vals)
	}
	return nil
}

// HasEach reports whether records of the format can be arrays of events.
func (f Format) HasEach() bool { return !f.HasColumns() && f != None }

// EachFormats returns the names of the formats that HasEach.
func EachFormats() []string {
	return slices.DeleteFunc(slices.Clone(Formats()), func(name string) bool {
		f, _ := ParseFormat(name) // of a name from Formats
		return !f.HasEach()
	})
}
