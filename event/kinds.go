package event

// Kinds is a set of the kinds that a value can have where it is neither missing nor null.
type Kinds uint8

// The kinds of a value, and any of them.
const (
	Bools Kinds = 1 << iota
	Numbers
	Strings
	Composites
	AnyKind = Bools | Numbers | Strings | Composites
)

// Kinds returns the kinds that the value at a path can have in records of the schema. It is any of them where
// the schema does not say it: in the envelope, and inside of a text.
func (s *Schema) Kinds(path string) (kinds Kinds) {
	if _, _, in := cutInside(path); in || InEnvelope(path) {
		return AnyKind
	}
	steps, err := pathSteps(path)
	switch {
	case err != nil:
		return AnyKind
	case s.Avro != nil:
		s.Avro.follow(steps, func(t *AvroType) { kinds |= t.kinds() })
	case s.Message != nil:
		kinds = s.Message.kinds(steps)
	}
	return kinds
}

// kinds returns the kinds of values of a type that is no union.
func (t *AvroType) kinds() Kinds {
	switch t.Kind {
	case AvroNull:
		return 0
	case AvroBoolean:
		return Bools
	case AvroInt, AvroLong:
		return Numbers
	case AvroFloat, AvroDouble:
		return Numbers | Strings // NaN
	case AvroBytes, AvroFixed:
		if t.Logical == AvroDecimal {
			return Numbers
		}
		return Strings
	case AvroString, AvroEnum:
		return Strings
	}
	return Composites
}

// kinds returns the kinds of values where steps lead.
func (t *MessageType) kinds(steps []pathStep) Kinds {
	f, rest := t.step(steps)
	switch {
	case f == nil:
		return 0
	case len(rest) > 0:
		if f.Kind != ProtoMessage {
			return 0
		}
		return f.Message.kinds(rest)
	case f.Repeated:
		return Composites
	}
	switch f.Kind {
	case ProtoBool:
		return Bools
	case ProtoFloat, ProtoDouble: // NaN
		return Numbers | Strings
	case ProtoEnum: // a number without a symbol
		return Numbers | Strings
	case ProtoString, ProtoBytes:
		return Strings
	case ProtoMessage:
		switch f.Message.Known {
		case ProtoTimestamp:
			return Strings | Composites // beyond the year 9999
		case ProtoWrapper:
			return f.Message.kinds([]pathStep{{key: "value"}})
		}
		return Composites
	}
	return Numbers
}
