package schemas

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"weir/event"
	"weir/internal/bounded"
)

// maxFile is the size of the largest file of a schema.
const maxFile = 16 << 20

// A File is the one schema of all records of a job.
type File struct {
	Digest string // is the same for equal schemas
	schema *event.Schema
}

// Open reads and parses the schema in a file. message is the full name of the message in a
// file of Protobuf; it may be empty if there is one.
func Open(format event.Format, name, message string) (*File, error) {
	if format == event.Protobuf {
		return openProto(name, message)
	}
	text, err := readText(name)
	if err != nil {
		return nil, err
	}
	s, err := parseAvro(string(text), nil)
	if err != nil {
		return nil, fmt.Errorf("no schema of %s: %w", format, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil { // a file of one word has no quotes
		compact.Reset()
		compact.Write(text)
	}
	return &File{Digest: digest(compact.Bytes()), schema: s}, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// ReadText reads the text of a schema, in Avro or Protobuf without imports, from a file.
func ReadText(name string) (string, error) {
	text, err := readText(name)
	if err != nil {
		return "", err
	}
	if _, err = parseAvro(string(text), nil); err != nil {
		if _, other := parseProto(string(text), nil); other != nil {
			return "", fmt.Errorf("no schema of avro (%w), nor of protobuf (%w)", err, other)
		}
	}
	return string(text), nil
}

// readText reads a file that has a text.
func readText(name string) ([]byte, error) {
	text, err := bounded.ReadFile(name, maxFile)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = errors.New("the file is empty; put the schema into it")
	}
	return text, err
}

// openImport opens a file that one in a directory imports: from there, or from the nearest directory above that has it,
// because the path of an import begins at a root.
func openImport(dir, path string) (io.ReadCloser, error) {
	f, err := openFile(dir, path)
	above, wrong := filepath.Abs(dir)
	for wrong == nil && errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above) {
		above = filepath.Dir(above)
		if found, missing := openFile(above, path); missing == nil {
			return found, nil
		}
	}
	return f, err
}

// openFile opens a file of a directory.
func openFile(dir, path string) (io.ReadCloser, error) {
	text, err := bounded.ReadFile(filepath.Join(dir, filepath.FromSlash(path)), maxFile)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// Schema returns the schema.
func (f *File) Schema(context.Context, event.SchemaID) (*event.Schema, error) { return f.schema, nil }

// HasEvents reports whether records have an array of events at each, as in event.Form.
func (f *File) HasEvents(each string) bool { return f.schema.Events(each) != nil }

// Leads reports whether a path leads to a value of the schema: of a record or, if each is not empty, of
// an event in the array there.
func (f *File) Leads(each, path string) bool {
	of, path := f.schema.Of(each, path)
	return of != nil && of.Leads(path)
}
