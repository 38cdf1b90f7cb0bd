package event

import (
	"slices"
	"strings"
)

// A Leaf is a value that a schema has.
type Leaf struct {
	Path string
	Unit Unit // of a time, if its type says that it is one; RecordTime: it does not
}

// Bounds of what Leaves looks at. Types may contain themselves, or each other many times.
const (
	leafDepth  = 8
	leafVisits = 20_000
)

// Leaves returns the values that records of the schema may have, in the order of the schema,
// at most that many; more says that there are others. No path leads through another one, so that one
// Reader can have MaxPaths of them. Arrays, maps and repeated fields are one value each. A type inside itself, and what
// is more than eight records deep, is left out.
func (s *Schema) Leaves(most int) (leaves []Leaf, more bool) {
	l := &leafList{most: most, seen: map[string]bool{}}
	switch {
	case s.Avro != nil:
		l.avro(s.Avro, "", nil)
	case s.Message != nil:
		l.message(s.Message, "", nil)
	}
	// A path that leads on is no value, as that of a union of a record and a text.
	return slices.DeleteFunc(l.all, func(leaf Leaf) bool {
		return slices.ContainsFunc(l.all, func(o Leaf) bool { return strings.HasPrefix(o.Path, leaf.Path+".") })
	}), l.more
}

type leafList struct {
	most   int
	all    []Leaf
	seen   map[string]bool
	visits int
	more   bool
}

func (l *leafList) add(path string, unit Unit) {
	switch {
	case path == "" || l.seen[path] || CheckPath(path) != nil:
	case len(l.all) == l.most:
		l.more = true
	default:
		l.seen[path] = true
		l.all = append(l.all, Leaf{path, unit})
	}
}

// enter reports whether the fields of a type at that depth are looked at.
func (l *leafList) enter(depth int) bool {
	if l.visits++; depth > leafDepth || l.visits > leafVisits {
		l.more = true
		return false
	}
	return true
}

// joinLeaf returns the path of a field; empty if no path can name it.
func joinLeaf(path, name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, ".[]:"):
		return ""
	case path == "":
		return name
	}
	return path + "." + name
}

// avro adds the values of a type. around are the records that it is in.
func (l *leafList) avro(t *AvroType, path string, around []*AvroType) {
	switch t.Kind {
	case AvroNull:
	case AvroUnion:
		for _, b := range t.Branches {
			l.avro(b, path, around)
		}
	case AvroRecord:
		if slices.Contains(around, t) || !l.enter(len(around)) {
			return
		}
		for _, f := range t.Fields {
			if at := joinLeaf(path, f.Name); at != "" {
				l.avro(f.Type, at, append(around, t))
			}
		}
	default:
		unit := RecordTime
		switch t.Logical {
		case AvroMillis:
			unit = Millis
		case AvroMicros:
			unit = Micros
		case AvroNanos:
			unit = Nanos
		}
		l.add(path, unit)
	}
}

// message adds the values of a message. around are the messages that it is in.
func (l *leafList) message(t *MessageType, path string, around []*MessageType) {
	if slices.Contains(around, t) || !l.enter(len(around)) {
		return
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		at := joinLeaf(path, f.Name)
		switch {
		case at == "" || f.Kind == ProtoGroup:
		case f.Kind != ProtoMessage || f.Repeated || f.Message.Known == ProtoWrapper:
			l.add(at, RecordTime)
		case f.Message.Known == ProtoTimestamp:
			l.add(at, RFC3339)
		default:
			l.message(f.Message, at, append(around, t))
		}
	}
}
