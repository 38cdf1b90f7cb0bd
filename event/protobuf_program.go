package event

import "slices"

// What weir compiles from the schema of a message and the wanted paths: for each message on the
// way, which field numbers are wanted, and what to do with them.

// A protoBlock says what to do with the fields of a message.
type protoBlock struct {
	numbers []int32 // of actions, ascending
	actions []protoAction
	small   [64]uint8 // by number: the index in actions, and 1
}

// A protoAction is what to do with a field.
type protoAction struct {
	field    *MessageField
	slot     int         // of the value; -1: it is none
	notes    bool        // its messages are the events of a record
	plain    bool        // a single value, in no oneof
	sub      *protoBlock // of a message that leads to wanted values
	elements []protoAction
	indexes  []int    // of elements, in a repeated field…
	keys     []string // …or a map; of one that is wanted as a whole, and has entries that may be unknown, none
	over     []protoOver
	counter  int   // of a repeated field, in walk.counts; of a timestamp, in walk.times
	clears   []int // slots of the other members of its oneof…
	resets   []int // …and their counters
	inside   []int // for a map: what an entry replaces
	restarts []int
}

// A protoOver looks at all messages of a repeated field, as an avroOver does.
type protoOver struct {
	action   protoAction
	step     *pathStep
	key      int
	slots    []int
	counters []int
}

// A protoProgram reads a type of message.
type protoProgram struct {
	root     *protoBlock
	counters int
	whole    bool // the message itself is wanted, at slot 0
	events   int  // the counter of the events of a record, and 1; 0: it has none
}

type protoCompiler struct {
	p     protoProgram
	each  bool         // the value at slot 0 is the events of a record
	event *MessageType // of these
}

// compileProto compiles the program that reads the wanted values of a message.
func compileProto(t *MessageType, root *branch) *protoProgram {
	c := &protoCompiler{}
	c.p.root = c.block(t, root)
	return &c.p
}

func (c *protoCompiler) block(t *MessageType, to *branch) *protoBlock {
	b := &protoBlock{}
	type member struct{ slots, counters []int }
	members := map[int32]member{} // of oneofs, with wanted values
	for i := range t.Fields {
		f := &t.Fields[i]
		want := to.find([]byte(f.Name))
		if want == nil || f.Kind == ProtoGroup {
			continue
		}
		first := c.p.counters
		b.add(c.action(f, want))
		var counters []int
		for n := first; n < c.p.counters; n++ {
			counters = append(counters, n)
		}
		members[f.Number] = member{want.slots(nil), counters}
	}
	// A member of a oneof takes the place of the others.
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Oneof == 0 {
			continue
		}
		a := protoAction{field: f, slot: -1}
		at := slices.Index(b.numbers, f.Number)
		if at >= 0 {
			a = b.actions[at]
		}
		for k := range t.Fields {
			if o := &t.Fields[k]; o.Oneof == f.Oneof && o.Number != f.Number {
				m := members[o.Number]
				a.clears, a.resets = append(a.clears, m.slots...), append(a.resets, m.counters...)
			}
		}
		switch {
		case len(a.clears) == 0:
		case at >= 0:
			b.actions[at] = a
		default:
			b.add(a)
		}
	}
	return b
}

func (b *protoBlock) add(a protoAction) {
	b.numbers, b.actions = append(b.numbers, a.field.Number), append(b.actions, a)
	if n := a.field.Number; int(n) < len(b.small) && len(b.actions) < 256 {
		b.small[n] = uint8(len(b.actions))
	}
}

// find returns the action of a field number; nil if there is none.
func (b *protoBlock) find(number uint64) *protoAction {
	if number < uint64(len(b.small)) {
		if at := b.small[number]; at > 0 {
			return &b.actions[at-1]
		}
		return nil
	}
	for i, n := range b.numbers {
		if uint64(n) == number {
			return &b.actions[i]
		}
	}
	return nil
}

// counter makes a number of walk.counts.
func (c *protoCompiler) counter() int {
	c.p.counters++
	return c.p.counters - 1
}

// action compiles what to do with a wanted field.
func (c *protoCompiler) action(f *MessageField, want *field) protoAction {
	switch {
	case c.each && want.sub == nil && want.slot == 0 && f.Kind == ProtoMessage && f.Repeated && !f.Map:
		return c.events(f)
	case f.Map && (want.sub != nil || f.entry().Closed):
		if want.sub == nil { // whether it has an entry
			return protoAction{field: f, slot: want.slot, keys: []string{}}
		}
		a := protoAction{field: f, slot: -1}
		value := f.entry()
		for i := range want.sub.keys {
			first := c.p.counters
			e := c.action(value, &want.sub.keys[i])
			e.inside = want.sub.keys[i].slots(nil)
			for n := first; n < c.p.counters; n++ {
				e.restarts = append(e.restarts, n)
			}
			a.keys, a.elements = append(a.keys, want.sub.keys[i].key), append(a.elements, e)
		}
		return a
	case f.Repeated && want.sub != nil:
		a := protoAction{field: f, slot: -1, counter: c.counter()}
		one := *f
		one.Repeated = false
		for i := range want.sub.items {
			a.indexes, a.elements = append(a.indexes, want.sub.items[i].index), append(a.elements, c.action(&one, &want.sub.items[i]))
		}
		for i := range want.sub.over {
			w := &want.sub.over[i]
			o := protoOver{step: &w.pathStep, key: w.chosenBy(), slots: w.slots(nil)}
			first := c.p.counters
			o.action = c.action(&one, w)
			for n := first; n < c.p.counters; n++ {
				o.counters = append(o.counters, n)
			}
			a.over = append(a.over, o)
		}
		return a
	}
	return c.single(f, want)
}

// entry returns the field of the values of a map.
func (f *MessageField) entry() *MessageField {
	return &f.Message.Fields[slices.IndexFunc(f.Message.Fields, func(v MessageField) bool { return v.Number == 2 })]
}

// single compiles what to do with a value that is not repeated, or is wanted as a whole.
func (c *protoCompiler) single(f *MessageField, want *field) protoAction {
	a := protoAction{field: f, slot: -1}
	switch {
	case want.sub == nil:
		a.slot, a.plain = want.slot, !f.Repeated && f.Oneof == 0
		if f.Kind != ProtoMessage || f.Repeated {
			break
		}
		switch f.Message.Known {
		case ProtoTimestamp:
			a.counter = c.counter()
		case ProtoWrapper:
			value := &branch{keys: []field{{pathStep: pathStep{key: "value"}, slot: want.slot}}}
			a.sub = c.block(f.Message, value)
		}
	case f.Kind == ProtoMessage && want.sub.keys != nil:
		a.sub = c.block(f.Message, want.sub)
	}
	return a
}

// leads reports whether steps lead from a message to another value.
func (t *MessageType) leads(steps []pathStep) bool {
	f, rest := t.step(steps)
	return f != nil && (len(rest) == 0 || f.Kind == ProtoMessage && rest[0].key != "" && f.Message.leads(rest))
}

// step follows the first of steps, and a key or an index behind it. It returns the field, or what
// is in it, and the other steps; nil if they lead nowhere.
func (t *MessageType) step(steps []pathStep) (*MessageField, []pathStep) {
	i := slices.IndexFunc(t.Fields, func(f MessageField) bool { return f.Name == steps[0].key })
	if i < 0 || t.Fields[i].Kind == ProtoGroup {
		return nil, nil
	}
	f, rest := &t.Fields[i], steps[1:]
	switch {
	case !f.Repeated || len(rest) == 0:
		return f, rest
	case f.Map != (rest[0].key != ""):
		return nil, nil
	case f.Map:
		return f.entry(), rest[1:]
	}
	one := *f
	one.Repeated = false
	return &one, rest[1:]
}
