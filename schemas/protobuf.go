package schemas

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"weir/event"
)

// imports has the files that Confluent's registry lets every schema import without a reference,
// beside the files of google/protobuf, which protocompile has. They have no comments and no
// options of languages. The files of google/type are written after google.golang.org/genproto:
// that module itself would bring the files of thirty services of Google Cloud.
//
//go:embed imports
var imports embed.FS

// maxNesting bounds how deep braces and brackets are nested in a file. Protobuf allows messages 31
// deep, and has no bound for the values of options: 60,000 braces in one, a file of 300 KB, took the
// compiler more than 6 GB.
const maxNesting = 200

var errNesting = fmt.Errorf("braces and brackets are nested more than %d deep", maxNesting)

// nestedTooDeep reports whether braces and brackets outside of texts and comments are nested more
// than maxNesting deep.
func nestedTooDeep(text []byte) bool {
	open := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[', '(', '<':
			if open++; open > maxNesting {
				return true
			}
		case '}', ']', ')', '>':
			open--
		case '"', '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			end := ""
			switch {
			case bytes.HasPrefix(text[i:], []byte("//")):
				end = "\n"
			case bytes.HasPrefix(text[i:], []byte("/*")):
				end = "*/"
			default:
				continue
			}
			n := bytes.Index(text[i+2:], []byte(end))
			if n < 0 {
				return false
			}
			i += 2 + n + len(end) - 1
		}
	}
	return false
}

// shallow returns what a file holds, unless it is nested too deep.
func shallow(f io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	switch {
	case err != nil:
		return nil, err
	case nestedTooDeep(text):
		return nil, errNesting
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// compileProto compiles a file, whose imports open finds.
func compileProto(name string, open func(path string) (io.ReadCloser, error)) (protoreflect.FileDescriptor, error) {
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: func(path string) (io.ReadCloser, error) {
		f, err := shallow(open(path))
		if err != nil && !errors.Is(err, errNesting) {
			if known, missing := imports.Open("imports/" + path); missing == nil {
				return known, nil
			}
		}
		return f, err
	}})}
	var files linker.Files
	files, err := c.Compile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// A protoFile is a Protobuf schema of a registry: a file of messages.
type protoFile struct{ protoreflect.FileDescriptor }

// parseProto parses a Protobuf schema. The name of each source is the path by which others
// import it.
func parseProto(text string, sources []source) (protoFile, error) {
	const name = "the schema"
	f, err := compileProto(name, func(path string) (io.ReadCloser, error) {
		if path == name {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		for _, s := range sources {
			if s.name == path {
				return io.NopCloser(strings.NewReader(s.text)), nil
			}
		}
		return nil, fs.ErrNotExist
	})
	return protoFile{f}, err
}

// schema returns the message that the indexes of a record name: its place among the messages
// of the file, and then of one inside it, and so on. As in Confluent's own library, the
// entries of maps do not count.
func (f protoFile) schema(n event.SchemaName) *event.Schema {
	list := f.Messages()
	var m protoreflect.MessageDescriptor
	for _, index := range n.Message {
		m = nil
		for i := range list.Len() {
			if list.Get(i).IsMapEntry() {
				continue
			}
			if index == 0 {
				m = list.Get(i)
				break
			}
			index--
		}
		if m == nil {
			return &event.Schema{Wrong: fmt.Sprintf("%v has no message with the indexes %v", n, n.Message)}
		}
		list = m.Messages()
	}
	return protoSchema(m)
}

// openProto reads the message of a name in a file. The name may be left out if the file has
// one message.
func openProto(file, message string) (*File, error) {
	dir, base := filepath.Split(file)
	f, err := compileProto(base, func(path string) (io.ReadCloser, error) {
		if path == base {
			return openFile(dir, path)
		}
		return openImport(dir, path)
	})
	if err != nil {
		return nil, fmt.Errorf("no schema of protobuf: %w", err)
	}
	var names []string
	var found protoreflect.MessageDescriptor
	for i := range f.Messages().Len() {
		m := f.Messages().Get(i)
		if names = append(names, string(m.FullName())); string(m.FullName()) == message {
			found = m
		}
	}
	if message == "" && len(names) == 1 {
		found = f.Messages().Get(0)
	}
	switch {
	case found != nil:
	case len(names) == 0:
		return nil, errors.New("it has no message")
	case message == "":
		return nil, fmt.Errorf("it has several messages; say in message which one: %s", strings.Join(names, ", "))
	default:
		return nil, fmt.Errorf("it has no message %s; it has %s", message, strings.Join(names, ", "))
	}
	set := &descriptorpb.FileDescriptorSet{}
	appendFile(set, f, map[string]bool{})
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, err
	}
	return &File{Digest: digest(append(b, found.FullName()...)), schema: protoSchema(found)}, nil
}

// appendFile appends a file and those that it imports, without comments.
func appendFile(set *descriptorpb.FileDescriptorSet, f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		appendFile(set, f.Imports().Get(i).FileDescriptor, seen)
	}
	d := protodesc.ToFileDescriptorProto(f)
	d.SourceCodeInfo = nil
	set.File = append(set.File, d)
}

// protoTypes has the messages that are converted, by name.
type protoTypes map[protoreflect.FullName]*event.MessageType

var protoKinds = map[protoreflect.Kind]event.ProtoKind{
	protoreflect.BoolKind: event.ProtoBool, protoreflect.EnumKind: event.ProtoEnum, protoreflect.Int32Kind: event.ProtoInt32, protoreflect.Sint32Kind: event.ProtoSint32,
	protoreflect.Uint32Kind: event.ProtoUint32, protoreflect.Int64Kind: event.ProtoInt64, protoreflect.Sint64Kind: event.ProtoSint64, protoreflect.Uint64Kind: event.ProtoUint64,
	protoreflect.Sfixed32Kind: event.ProtoSfixed32, protoreflect.Fixed32Kind: event.ProtoFixed32, protoreflect.FloatKind: event.ProtoFloat, protoreflect.Sfixed64Kind: event.ProtoSfixed64,
	protoreflect.Fixed64Kind: event.ProtoFixed64, protoreflect.DoubleKind: event.ProtoDouble, protoreflect.StringKind: event.ProtoString, protoreflect.BytesKind: event.ProtoBytes,
	protoreflect.MessageKind: event.ProtoMessage, protoreflect.GroupKind: event.ProtoGroup,
}

// wrappers are the messages that stand for one value.
var wrappers = []protoreflect.FullName{"google.protobuf.BoolValue", "google.protobuf.BytesValue", "google.protobuf.DoubleValue", "google.protobuf.FloatValue",
	"google.protobuf.Int32Value", "google.protobuf.Int64Value", "google.protobuf.StringValue", "google.protobuf.UInt32Value", "google.protobuf.UInt64Value"}

// of returns a message in the form of package event.
func (c protoTypes) of(m protoreflect.MessageDescriptor) *event.MessageType {
	if t := c[m.FullName()]; t != nil {
		return t
	}
	t := &event.MessageType{}
	c[m.FullName()] = t
	switch {
	case m.FullName() == "google.protobuf.Timestamp":
		t.Known = event.ProtoTimestamp
	case slices.Contains(wrappers, m.FullName()):
		t.Known = event.ProtoWrapper
	}
	for i := range m.Fields().Len() {
		d := m.Fields().Get(i)
		f := event.MessageField{Name: string(d.Name()), Number: int32(d.Number()), Kind: protoKinds[d.Kind()], Repeated: d.Cardinality() == protoreflect.Repeated, Map: d.IsMap()}
		if o := d.ContainingOneof(); o != nil && !o.IsSynthetic() {
			f.Oneof = o.Index() + 1
		}
		if d.Message() != nil {
			f.Message = c.of(d.Message())
		}
		if e := d.Enum(); e != nil {
			f.Closed, f.Default, f.Symbols = e.IsClosed(), int32(e.Values().Get(0).Number()), map[int32]string{}
			for k := range e.Values().Len() {
				v := e.Values().Get(k)
				if _, known := f.Symbols[int32(v.Number())]; !known {
					f.Symbols[int32(v.Number())] = string(v.Name())
				}
			}
		}
		t.Fields = append(t.Fields, f)
	}
	return t
}
