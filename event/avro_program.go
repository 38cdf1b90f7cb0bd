package event

// What weir compiles from a schema of Avro and the wanted paths: a list of steps for each record
// on the way, and how a path leads through a type.

// An avroOp is what a step does.
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
	openEvents    // the outermost of arrays that lead to events
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
	over    []avroOver
}

// An avroOver looks at all elements of an array: it reads each or, with a key, the first that has its text there.
type avroOver struct {
	step  *pathStep
	block *avroBlock
	key   int   // slot of the value at the key; -1: each is read
	slots []int // that are set
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
	case t.Kind == AvroArray && (to.items != nil || to.over != nil):
		s := avroStep{op: readItems, more: &avroMore{}, blocks: []*avroBlock{{}}}
		c.skip(s.blocks[0], t.Items)
		for i := range to.items {
			of := &avroBlock{}
			c.member(of, t.Items, &to.items[i])
			s.more.indexes, s.blocks = append(s.more.indexes, to.items[i].index), append(s.blocks, of)
		}
		for i := range to.over {
			f, of := &to.over[i], &avroBlock{}
			if c.member(of, t.Items, f); f.name == "" {
				b.add(avroStep{op: openEvents})
			}
			s.more.over = append(s.more.over, avroOver{&f.pathStep, of, f.chosenBy(), f.slots(nil)})
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
