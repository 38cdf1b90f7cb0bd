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
	"os"

	"weir/event"
)

// maxFile is the size of the largest file of a schema.
const maxFile = 16 << 20

// A File is the one schema of all records of a job.
type File struct {
	Digest string // is the same for equal schemas
	schema *event.Schema
}

// Open reads and parses the schema in a file.
func Open(format event.Format, name string) (*File, error) {
	text, err := readFile(name)
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
	sum := sha256.Sum256(compact.Bytes())
	return &File{Digest: hex.EncodeToString(sum[:16]), schema: s}, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("more than %d MiB", maxFile>>20)
	}
	return text, err
}

// Schema returns the schema.
func (f *File) Schema(context.Context, event.SchemaID) (*event.Schema, error) { return f.schema, nil }

// Leads reports whether a path leads to a value of the schema.
func (f *File) Leads(path string) bool { return f.schema.Leads(path) }
