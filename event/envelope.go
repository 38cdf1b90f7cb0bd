package event

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"
)

// An Envelope is what a Kafka record has beside its value. It is a view into the same
// buffer as the value.
type Envelope struct {
	Key     []byte // nil: null
	Headers Headers
}

// Headers are the headers of a record in the bytes of the record: their number, then for
// each the length of its name, the name, the length of its value and the value. Numbers are
// zigzag varints; a length of -1 is a null value.
type Headers []byte

// Why the envelope of a record was refused.
var (
	ErrHeaders  = errors.New("event: the record's headers are broken")
	ErrKeyValue = errors.New("event: the record's key is no JSON object")
)

// Each calls yield for each header, in order. It returns false if the bytes are no headers.
func (h Headers) Each(yield func(name, value []byte)) bool {
	count, w := binary.Varint(h)
	if w <= 0 || count < 0 {
		return len(h) == 0
	}
	rest := h[w:]
	for ; count > 0; count-- {
		var name, value []byte
		var ok bool
		if name, rest, ok = sized(rest); !ok || name == nil {
			return false
		}
		if value, rest, ok = sized(rest); !ok {
			return false
		}
		yield(name, value)
	}
	return len(rest) == 0
}

// last returns the value of the last header of a name.
func (h Headers) last(name string) (value []byte, ok bool) {
	h.Each(func(n, v []byte) {
		if name == string(n) {
			value, ok = v, true
		}
	})
	return value, ok
}

// sized reads a length and as many bytes; nil for a length of -1.
func sized(b []byte) (text, rest []byte, ok bool) {
	n, w := binary.Varint(b)
	if w <= 0 || n < -1 || n > int64(len(b)-w) {
		return nil, nil, false
	}
	if n < 0 {
		return nil, b[w:], true
	}
	return b[w : w+int(n) : w+int(n)], b[w+int(n):], true
}

// An envelopeReader finds the values of paths that lead into keys and headers.
type envelopeReader struct {
	key     int // slot of the key as a text; -1: not wanted
	keyPath *Scanner
	keyVals []Value
	keyAt   []int // slots of keyVals
	names   []string
	at      []int // slots of the headers of these names
	*scratch
}

// newEnvelopeReader returns nil if no path leads into the envelope, or none but those of keys that
// have a schema.
func newEnvelopeReader(paths []string, keyed bool, texts *scratch) (*envelopeReader, error) {
	e := &envelopeReader{key: -1, scratch: texts}
	var inside []string
	for slot, path := range paths {
		switch in, rest := splitPath(path); {
		case in == inKey && keyed: // a keyReader reads it
		case in == inHeader:
			e.names, e.at = append(e.names, rest), append(e.at, slot)
		case in == inKey && rest == "":
			e.key = slot
		case in == inKey:
			inside, e.keyAt = append(inside, rest), append(e.keyAt, slot)
		}
	}
	if inside != nil {
		var err error
		if e.keyPath, err = NewScanner(inside); err != nil {
			return nil, err
		}
		e.keyPath.scratch = texts
		e.keyVals = make([]Value, len(inside))
	}
	if e.key < 0 && inside == nil && e.names == nil {
		return nil, nil
	}
	return e, nil
}

// read sets the values of the paths that lead into the envelope.
func (e *envelopeReader) read(env *Envelope, vals []Value) error {
	if e.key >= 0 {
		vals[e.key] = Value{}
	}
	for i, slot := range e.keyAt {
		vals[slot], e.keyVals[i] = Value{}, Value{}
	}
	for _, slot := range e.at {
		vals[slot] = Value{}
	}
	if env == nil {
		return nil
	}
	if e.key >= 0 && env.Key != nil {
		vals[e.key] = e.textOf(env.Key)
	}
	if e.keyPath != nil && env.Key != nil {
		if e.keyPath.scan(env.Key, e.keyVals) != nil {
			return ErrKeyValue
		}
		for i, slot := range e.keyAt {
			vals[slot] = e.keyVals[i]
		}
	}
	if e.names == nil {
		return nil
	}
	ok := env.Headers.Each(func(name, value []byte) {
		for i, n := range e.names {
			if n != string(name) {
				continue
			}
			if vals[e.at[i]] = (Value{Type: Null}); value != nil {
				vals[e.at[i]] = e.textOf(value)
			}
		}
	})
	if !ok {
		return ErrHeaders
	}
	return nil
}

// textOf returns a key or a header as a text. One that is none, because it is not UTF-8 or has control characters, is base64
// with padding, as bytes are in Avro: so the numbers and ids that serializers write in bytes are ids like any others.
func (e *envelopeReader) textOf(b []byte) Value {
	if i := plain(b, 0); i < len(b) && (!utf8.Valid(b) || slices.ContainsFunc(b[i:], func(c byte) bool { return c < ' ' && !blank(c) })) {
		from := len(e.text)
		e.text = base64.StdEncoding.AppendEncode(e.text, b)
		b = e.text[from:len(e.text):len(e.text)]
	}
	return Value{String, b}
}
