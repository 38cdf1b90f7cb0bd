package bitmap

// A FieldKind is one of BITFIELD's subcommands.
type FieldKind uint8

// The subcommands of BITFIELD that read or write a field.
const (
	FieldGet FieldKind = iota
	FieldSet
	FieldIncrBy
)

// A FieldOp is one subcommand of BITFIELD, with the OVERFLOW mode that holds
// for it.
type FieldOp struct {
	Kind     FieldKind
	Overflow Overflow // of FieldSet and FieldIncrBy
	Type     FieldType
	Offset   uint64
	Value    int64 // of FieldSet: the new value; of FieldIncrBy: what to add
}

// A FieldReply answers one FieldOp: the value (FieldGet), the old value
// (FieldSet) or the new value (FieldIncrBy). Null means that OVERFLOW FAIL
// kept the field as it was.
type FieldReply struct {
	Value int64
	Null  bool
}

// ParseFieldOps reads the arguments of BITFIELD after the key. Redis reads
// all of them before it writes anything, so an error means that nothing was
// done. With readOnly it reads those of BITFIELD_RO.
func ParseFieldOps(args []string, readOnly bool) ([]FieldOp, error) {
	var ops []FieldOp
	mode, writes := Wrap, false
	for len(args) > 0 {
		var op FieldOp
		var n int // arguments it takes, itself included
		switch upper(args[0]) {
		case "GET":
			op.Kind, n = FieldGet, 3
		case "SET":
			op.Kind, n = FieldSet, 4
		case "INCRBY":
			op.Kind, n = FieldIncrBy, 4
		case "OVERFLOW":
			if len(args) < 2 {
				return nil, ErrSyntax
			}
			var err error
			if mode, err = ParseOverflow(args[1]); err != nil {
				return nil, err
			}
			args = args[2:]
			continue
		}
		if n == 0 || len(args) < n {
			return nil, ErrSyntax
		}
		var err error
		if op.Type, err = ParseFieldType(args[1]); err != nil {
			return nil, err
		}
		if op.Offset, err = ParseFieldOffset(args[2], op.Type); err != nil {
			return nil, err
		}
		if n == 4 {
			writes = true
			op.Overflow = mode
			if op.Value, err = ParseInt(args[3]); err != nil {
				return nil, err
			}
		}
		ops = append(ops, op)
		args = args[n:]
	}
	if readOnly && writes {
		return nil, ErrReadOnly
	}
	return ops, nil
}

// Fields runs BITFIELD's subcommands in order and appends one reply for each to
// replies. b grows first, once, to the last bit that any of them may write,
// even where OVERFLOW FAIL then prevents the write; see SetBit about the memory
// it writes to. If none of them writes, b stays as it is.
//
// changes is the number that Redis adds to its count of changes: one for each
// write that changed a field, or one for each write if b has grown.
func Fields(b []byte, ops []FieldOp, replies []FieldReply) (out []byte, _ []FieldReply, changes int) {
	size := len(b)
	for _, op := range ops {
		if op.Kind != FieldGet {
			b = growField(b, op.Type, op.Offset)
		}
	}
	grown := len(b) > size
	for _, op := range ops {
		old := GetField(b, op.Type, op.Offset)
		r := FieldReply{Value: old}
		ok := true
		switch op.Kind {
		case FieldSet:
			b, _, ok = SetField(b, op.Type, op.Offset, op.Value, op.Overflow)
		case FieldIncrBy:
			b, r.Value, ok = AddField(b, op.Type, op.Offset, op.Value, op.Overflow)
		}
		if !ok {
			r = FieldReply{Null: true}
		} else if op.Kind != FieldGet && (grown || GetField(b, op.Type, op.Offset) != old) {
			changes++
		}
		replies = append(replies, r)
	}
	return b, replies, changes
}
