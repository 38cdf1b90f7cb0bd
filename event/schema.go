package event

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// A Schema says what the bytes of a value are, in one of Avro and Message; or Wrong is the
// reason why no record can be read with it.
type Schema struct {
	Avro    *AvroType
	Message *MessageType
	Wrong   string

	// Tree returns a value with all that is in it, as encoding/json with UseNumber reads a document. It is
	// for a first look: Readers tell what is counted. It is nil if Wrong is not empty.
	Tree func(value []byte) (any, error)
}

// Leads reports whether a path can lead to a value of the schema, or leads into the envelope.
func (s *Schema) Leads(path string) bool {
	path, _, _ = cutInside(path)
	steps, err := pathSteps(path)
	switch {
	case InEnvelope(path):
		return true
	case err != nil:
		return false
	case s.Avro != nil:
		return s.Avro.leads(steps)
	}
	return s.Message.leads(steps)
}

// A SchemaID names a schema as records do: a byte that is 0, then four bytes of a number, or
// a byte that is 1, then the sixteen of a GUID; or, with AWS Glue, 3, how the rest is compressed, and
// the sixteen of a GUID. With Protobuf, the indexes of a message
// follow. The empty id is the one schema of a job that has a file of it.
type SchemaID string

// A SchemaName is a SchemaID taken apart.
type SchemaName struct {
	Number  uint32
	GUID    string // as text, with hyphens; empty: it has a number
	Glue    bool   // it is a version of a schema of AWS Glue
	Message []int  // which message of a Protobuf file: its index, then that of one inside it, and so on
}

// Name takes an id apart. Only ids that a Reader asks for are well formed.
func (id SchemaID) Name() SchemaName {
	b, n := []byte(id), SchemaName{}
	if len(b) == 0 {
		return n
	}
	if b[0] == glueMagic {
		n.GUID, n.Glue = guidText(b[2:glueSize]), true
		return n
	}
	size := frameSize(b[0])
	if b[0] == 0 {
		n.Number = uint32(b[1])<<24 | uint32(b[2])<<16 | uint32(b[3])<<8 | uint32(b[4])
	} else {
		n.GUID = guidText(b[1:size])
	}
	n.Message = messageIndexes(b[size:])
	return n
}

// guidText writes sixteen bytes as the text of a GUID.
func guidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// NameOf returns the name of a schema from its Key.
func NameOf(key string, glue bool) SchemaName {
	if number, err := strconv.ParseUint(key, 10, 32); err == nil {
		return SchemaName{Number: uint32(number)}
	}
	return SchemaName{GUID: key, Glue: glue}
}

// Key returns the number or the GUID as a text.
func (n SchemaName) Key() string {
	if n.GUID != "" {
		return n.GUID
	}
	return strconv.FormatUint(uint64(n.Number), 10)
}

// String returns the schema's name in words.
func (n SchemaName) String() string {
	switch {
	case n.Glue:
		return "schema version " + n.GUID + " of AWS Glue"
	case n.GUID != "":
		return "schema " + n.GUID
	}
	return fmt.Sprintf("schema id %d", n.Number)
}

// An UnknownSchema is the error of an operator that needs a schema to go on: of the record at
// Offset. It goes on after it has learned the schema.
type UnknownSchema struct {
	ID        SchemaID
	Partition int32
	Offset    int64
}

func (u *UnknownSchema) Error() string {
	return fmt.Sprintf("event: the record at offset %d of partition %d needs %v", u.Offset, u.Partition, u.ID.Name())
}

// Why no schema could be found for a record, or why its schema does not fit.
var (
	ErrNoFrame  = errors.New("event: the record names no schema: it begins with neither 0 and an id nor 1 and a GUID")
	ErrApicurio = errors.New("event: the record names its schema in a header of Apicurio, which is not read: set apicurio.registry.headers.enabled to false, and apicurio.registry.as-confluent to true, in the producers")
	ErrFramed   = errors.New("event: the value is no JSON: it begins with the name of a schema; the job's format may be json-schema, avro or protobuf")
	ErrFrame    = errors.New("event: the indexes of the record's message are broken")
)

// schemaHeader is the header that names the schema, if the value does not.
const schemaHeader = "__value_schema_id"

// apicurioHeader begins the headers in which Apicurio's serializers name the schema of a value.
var apicurioHeader = []byte("apicurio.value.")

// frameSize returns the length of a magic byte with the id behind it; 0 for no magic byte.
func frameSize(magic byte) int {
	switch magic {
	case 0:
		return 1 + 4
	case 1:
		return 1 + 16
	}
	return 0
}

// frame splits the name of a schema from what follows it.
func frame(b []byte, indexes bool) (id, rest []byte, err error) {
	size := 0
	if len(b) > 0 {
		size = frameSize(b[0])
	}
	if size == 0 || len(b) < size {
		return nil, nil, ErrNoFrame
	}
	if indexes {
		n := indexesSize(b[size:])
		if n < 0 {
			return nil, nil, ErrFrame
		}
		size += n
	}
	return b[:size], b[size:], nil
}

// maxIndexes is how deep messages can be nested in a Protobuf file, for the indexes of one.
const maxIndexes = 32

// messageIndexes reads the indexes of a message, zigzag varints behind their number. A single
// 0 stands for the first message.
func messageIndexes(b []byte) []int {
	count, at := zigzagAt(b, 0)
	if at < 0 || count == 0 {
		return []int{0}
	}
	var indexes []int
	for range count {
		var index int64
		index, at = zigzagAt(b, at)
		indexes = append(indexes, int(index))
	}
	return indexes
}

// indexesSize returns the length of the indexes that b begins with; -1 if they are broken.
func indexesSize(b []byte) int {
	count, at := zigzagAt(b, 0)
	if at < 0 || count < 0 || count > maxIndexes {
		return -1
	}
	for range count {
		var index int64
		if index, at = zigzagAt(b, at); at < 0 || index < 0 || index > 1<<20 {
			return -1
		}
	}
	return at
}

// zigzagAt reads a zigzag varint at i and returns the index after it; -1 if it is broken.
func zigzagAt(b []byte, i int) (int64, int) {
	u, i := varintAt(b, i)
	return int64(u>>1) ^ -int64(u&1), i
}

// varintAt reads a varint at i and returns the index after it; -1 if the bytes end in it, or
// it has more than 64 bits.
func varintAt(b []byte, i int) (uint64, int) {
	var u uint64
	for shift := 0; shift < 70 && uint(i) < uint(len(b)); shift += 7 {
		c := b[i]
		i++
		if c < 0x80 {
			if shift == 63 && c > 1 {
				return 0, -1
			}
			return u | uint64(c)<<shift, i
		}
		u |= uint64(c&0x7f) << shift
	}
	return 0, -1
}
