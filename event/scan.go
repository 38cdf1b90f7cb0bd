package event

import (
	"errors"
	"fmt"

	"weir/internal/cacheline"
)

// Limits of a Scanner.
const (
	MaxDepth = 64 // containers open at once, the document itself being the first
	MaxPaths = 64 // paths per scanner
)

// Why a document was refused. The errors are values without detail, so that a
// refusal allocates nothing; ErrOffset says where the fault is.
var (
	ErrEmpty     = errors.New("event: empty document")
	ErrNotObject = errors.New("event: document is not an object")
	ErrSyntax    = errors.New("event: invalid JSON")
	ErrTruncated = errors.New("event: document ends in the middle")
	ErrTrailing  = errors.New("event: bytes after the document")
	ErrNumber    = errors.New("event: invalid number")
	ErrEscape    = errors.New("event: invalid escape in a string")
	ErrControl   = errors.New("event: control character in a string")
	ErrUTF8      = errors.New("event: invalid UTF-8")
	ErrDuplicate = errors.New("event: key occurs twice in an object")
	ErrDepth     = errors.New("event: nested too deeply")
)

// A Type is the type of the value at a path of a document.
type Type uint8

// The types.
const (
	Missing   Type = iota // nothing: the key, or an object on the way to it, is not there
	Null                  // null
	Bool                  // true or false
	Number                // a number; its range is not checked
	String                // a string
	Composite             // an object or an array
	Integer               // a number that is no text: see Reader.TimeOnly
)

// String returns the name of the type in a sentence, such as "number".
func (k Type) String() string {
	switch k {
	case Missing:
		return "missing"
	case Null:
		return "null"
	case Bool:
		return "bool"
	case Number, Integer:
		return "number"
	case String:
		return "string"
	case Composite:
		return "composite"
	}
	return "unknown"
}

// A Value is what a Scanner found at one path. Bytes is a string's contents
// with escapes resolved, or the text of a number, a bool or a composite as it
// stands in the document; nil for Missing and Null. An Integer is eight bytes, the lowest first.
//
// Bytes points into the document, or into scratch if the string
// had escapes: it is valid until the next Scan, or Reader.Begin, or until the document's buffer
// is reused, whichever comes first.
type Value struct {
	Type  Type
	Bytes []byte
}

// A Scanner finds the values at a fixed set of paths in JSON documents. It
// remembers the layouts of earlier documents, so that it mostly compares the
// next one of the same layout instead of parsing it. A known layout changes its
// speed and never a result.
//
// A Scanner serves one goroutine. It does not allocate once its scratch has
// grown to what the documents need.
type Scanner struct {
	_     cacheline.Pad
	root  *branch
	paths int
	doc   []byte // the document being scanned
	vals  []Value
	err   error
	errAt int
	names []name // keys of the objects being scanned, innermost last
	known layouts
	*scratch
	each *eachReader // cuts the array at slot 0 instead of reading it; nil: there is none
	_    cacheline.Pad
}

// A scratch has the texts of values that are no views of a record: strings with their escapes resolved, numbers of
// binary formats. All parts of a Reader share one. Views of it stay valid when it grows, because they keep the old array.
type scratch struct {
	text   []byte
	shared int // the texts before it are what the events of an opened record share
	kept   int // those before it were kept by forget
}

// forget forgets the texts, but for those that are shared.
func (s *scratch) forget() {
	if s.text = s.text[:s.shared]; cap(s.text) > keepText && s.shared == 0 {
		s.text = nil
	}
	s.kept = s.shared
}

// Memory larger than this is freed, so that one hostile record does not raise the memory of a
// process for ever.
const (
	keepText  = 256 << 10
	keepNames = 1 << 10
)

// A branch is an object, an array, or either, on the way to wanted values.
type branch struct {
	keys  []field // of an object
	items []field // of an array
	last  int     // greatest index in items
	over  []field // of an array whose elements are all looked at, in Avro and Protobuf
}

// A field is a key or an element of a branch: either a wanted value or a further
// branch.
type field struct {
	pathStep
	slot int // index of the value in vals; -1 for a branch
	sub  *branch
}

func (b *branch) find(key []byte) *field {
	if b == nil {
		return nil
	}
	for i := range b.keys {
		if b.keys[i].key == string(key) {
			return &b.keys[i]
		}
	}
	return nil
}

// slots appends the slots of the field and of all fields inside it.
func (f *field) slots(to []int) []int {
	if f.sub == nil {
		return append(to, f.slot)
	}
	for i := range f.sub.keys {
		to = f.sub.keys[i].slots(to)
	}
	for i := range f.sub.items {
		to = f.sub.items[i].slots(to)
	}
	for i := range f.sub.over {
		to = f.sub.over[i].slots(to)
	}
	return to
}

// chosenBy returns the slot of the value by which an element is found; -1 if all are meant.
func (f *field) chosenBy() int {
	if f.name == "" {
		return -1
	}
	return f.sub.find([]byte(f.name)).slot // compared has named it
}

func (b *branch) item(index int) *field {
	for i := range b.items {
		if b.items[i].index == index {
			return &b.items[i]
		}
	}
	return nil
}

// element returns the field of a step over all elements.
func (b *branch) element(st *pathStep) *field {
	for i := range b.over {
		if f := &b.over[i]; f.name == st.name && f.text == st.text {
			return f
		}
	}
	return nil
}

// blocked returns the slot of a value that is there instead of the branch.
func (b *branch) blocked() int {
	switch {
	case b.items == nil:
		return blocked
	case b.keys == nil:
		return blockedArray
	}
	return blockedBoth
}

// NewScanner compiles paths: see CheckPath. Paths are compared byte by byte, so
// case matters. A repeated path, or one that leads through another ("a" and "a.b"),
// is an error.
func NewScanner(paths []string) (*Scanner, error) {
	for _, path := range paths {
		if _, step, _, ok := cutAt(path, func(s pathStep, _ string) bool { return s.name != "" || s.index == everyElement }); ok {
			return nil, fmt.Errorf("event: path %q has [%s], which a Reader reads", path, step.name)
		}
	}
	root, err := newBranch(paths, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	return scannerOf(root, len(paths), new(scratch)), nil
}

func scannerOf(root *branch, paths int, texts *scratch) *Scanner {
	s := &Scanner{root: root, paths: paths, scratch: texts}
	s.known.clear()
	return s
}

// newBranch compiles those paths that are wanted; their slots are the indexes in paths.
func newBranch(paths []string, wanted func(string) bool) (*branch, error) {
	if len(paths) > MaxPaths {
		return nil, fmt.Errorf("event: %d paths, at most %d", len(paths), MaxPaths)
	}
	root := &branch{}
	for slot, path := range paths {
		if !wanted(path) {
			continue
		}
		if err := root.insert(path, slot); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// A PathConflict is the error of a path that leads through another one, or the other way round.
type PathConflict struct{ Path, text string }

func (c *PathConflict) Error() string { return PathText(c.Path) + " " + c.text }

func (b *branch) insert(path string, slot int) error {
	steps, err := pathSteps(path)
	if err != nil {
		return err
	}
	for i, st := range steps {
		of, f := &b.keys, b.find([]byte(st.key))
		switch {
		case st.name != "" || st.index == everyElement:
			of, f = &b.over, b.element(&st)
		case st.key == "":
			of, f = &b.items, b.item(st.index)
			b.last = max(b.last, st.index)
		}
		last := i == len(steps)-1
		switch {
		case f == nil && last:
			*of = append(*of, field{pathStep: st, slot: slot})
			return nil
		case f == nil:
			*of = append(*of, field{pathStep: st, slot: -1, sub: &branch{}})
			f = &(*of)[len(*of)-1]
		case last && f.sub == nil:
			return fmt.Errorf("event: path %q is given twice", path)
		case last:
			return &PathConflict{path, "is read as a value, and another path leads through it"}
		case f.sub == nil:
			return &PathConflict{path, "leads through " + PathText(path[:st.end]) + ", which is read as a value"}
		}
		b = f.sub
	}
	return nil
}

// Scan reads the whole of doc, one JSON object, and sets vals[i] to the value
// at the i-th path. It panics unless len(vals) is the number of paths.
//
// A document is refused if it is not valid JSON (RFC 8259) in valid UTF-8 (RFC
// 3629), if a string escapes half of a surrogate pair, if any object, wanted or
// not, has the same key twice (RFC 7493; keys are compared with their escapes
// resolved), if it is not an object, or if it is nested deeper than MaxDepth.
// Then the error is one of this package's, and all of vals are Missing: Scan
// never returns half an event.
//
// A document may have several faults. Which one the error names depends on the
// document alone, and may change between versions.
func (s *Scanner) Scan(doc []byte, vals []Value) error {
	if len(vals) != s.paths {
		panic(fmt.Sprintf("event: Scan of %d values, the scanner has %d paths", len(vals), s.paths))
	}
	s.forget()
	return s.scan(doc, vals)
}

// scan is Scan that keeps the texts of values that were read before.
func (s *Scanner) scan(doc []byte, vals []Value) error {
	if s.scanKnown(doc, vals) {
		return nil
	}
	return s.scanNew(doc, vals)
}

// scanNew parses a document whose layout is not known, and learns the layout.
func (s *Scanner) scanNew(doc []byte, vals []Value) error {
	clear(vals)
	s.doc, s.vals, s.err, s.errAt = doc, vals, nil, 0
	s.names = s.names[:0]
	s.known.begin()
	ok := s.document()
	if ok {
		s.known.learn(doc, vals)
	} else {
		clear(vals)
	}
	s.doc, s.vals = nil, nil
	if cap(s.names) > keepNames {
		s.names = nil
	}
	return s.err
}

// ErrOffset returns the offset of the fault in the document of the last failed
// Scan: at most the length of the document.
func (s *Scanner) ErrOffset() int { return s.errAt }

// fail notes the first fault found.
func (s *Scanner) fail(at int, err error) int {
	if s.err == nil {
		s.err, s.errAt = err, min(at, len(s.doc))
	}
	return -1
}
