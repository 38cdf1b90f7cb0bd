package event

// Omitted returns the value that producers do not write at a path: 0, false, an empty text
// or the first symbol of an enum, of a field of Protobuf without presence, as the plain ones
// of proto3 are. ok is false if the path leads to no such field. each is that of the job.
func (s *Schema) Omitted(each, path string) (zero Value, ok bool) {
	if s.Message == nil {
		return Value{}, false
	}
	s, path = s.Of(each, path)
	steps, err := pathSteps(path)
	if _, _, in := cutInside(path); in || InEnvelope(path) || s == nil || err != nil {
		return Value{}, false
	}
	for t := s.Message; ; {
		f, rest := t.step(steps)
		switch {
		case f == nil:
			return Value{}, false
		case len(rest) == 0:
			return f.zero(), f.Plain
		case f.Kind != ProtoMessage || f.Message.Known == ProtoWrapper:
			return Value{}, false
		}
		t, steps = f.Message, rest
	}
}

// zero returns the value of a field without presence that is not on the wire.
func (f *MessageField) zero() Value {
	switch f.Kind {
	case ProtoBool:
		return Value{Kind: Bool, Bytes: []byte("false")}
	case ProtoString, ProtoBytes:
		return Value{Kind: String}
	case ProtoEnum:
		return Value{Kind: String, Bytes: []byte(f.Symbols[f.Default])}
	}
	return Value{Kind: Number, Bytes: []byte("0")}
}
