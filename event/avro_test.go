package event

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var (
	avroLong   = &AvroType{Kind: AvroLong}
	avroString = &AvroType{Kind: AvroString}
)

func avroRecord(fields ...AvroField) *AvroType { return &AvroType{Kind: AvroRecord, Fields: fields} }

// readAvro reads one value and returns the wanted values as text.
func readAvro(t *testing.T, of *AvroType, data []byte, paths ...string) (string, error) {
	t.Helper()
	r, err := NewReader(Form{Format: Avro}, paths)
	if err != nil {
		t.Fatal(err)
	}
	r.Learn("", &Schema{Avro: of})
	rec, vals := Record{Value: data}, make([]Value, len(paths))
	if _, ok := r.Select(&rec); !ok {
		t.Fatal("the schema is not known")
	}
	if err := r.Read(&rec, vals); err != nil {
		return "", err
	}
	var texts []string
	for _, v := range vals {
		texts = append(texts, strings.TrimSpace(v.Type.String()+" "+string(v.Bytes)))
	}
	return strings.Join(texts, ", "), nil
}

func varints(all ...int64) (b []byte) {
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// TestAvroFaults: what a value must not be, each with its reason.
func TestAvroFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *AvroType
		data []byte
		err  error
	}{
		{"nothing", avroLong, []byte{}, ErrAvroEnd},
		{"half a number", avroLong, []byte{0x80}, ErrAvroEnd},
		{"a number without an end", avroLong, []byte(strings.Repeat("\x80", 11)), ErrAvroVarint},
		{"a number of 65 bits", avroLong, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), ErrAvroVarint},
		{"bytes behind", avroLong, []byte{0, 0}, ErrAvroTrail},
		{"an int of 33 bits", &AvroType{Kind: AvroInt}, varints(1 << 31), ErrAvroInt},
		{"a text that is longer than the value", avroString, varints(4, 0), ErrAvroEnd},
		{"a text of a negative length", avroString, varints(-1), ErrAvroLength},
		{"a text of the greatest length", avroString, varints(1<<63-1, 0), ErrAvroEnd},
		{"a text of no UTF-8", avroString, []byte{2, 0xff}, ErrUTF8},
		{"a branch that is not there", &AvroType{Kind: AvroUnion, Branches: []*AvroType{avroLong}}, varints(1), ErrAvroBranch},
		{"a negative branch", &AvroType{Kind: AvroUnion, Branches: []*AvroType{avroLong}}, varints(-1), ErrAvroBranch},
		{"a symbol that is not there", &AvroType{Kind: AvroEnum, Symbols: []string{"a"}}, varints(1), ErrAvroSymbol},
		{"a short double", &AvroType{Kind: AvroDouble}, make([]byte, 7), ErrAvroEnd},
		{"a short fixed", &AvroType{Kind: AvroFixed, Size: 3}, make([]byte, 2), ErrAvroEnd},
		{"a huge fixed", &AvroType{Kind: AvroFixed, Size: 1 << 40}, make([]byte, 2), ErrAvroEnd},
		{"a long decimal", &AvroType{Kind: AvroBytes, Logical: AvroDecimal}, append(varints(33), make([]byte, 33)...), ErrAvroDecimal},
		{"an array without an end", &AvroType{Kind: AvroArray, Items: avroLong}, varints(1, 5), ErrAvroEnd},
		{"an array of more elements than there are", &AvroType{Kind: AvroArray, Items: avroLong}, varints(1<<62, 5), ErrAvroEnd},
		{"a block that is shorter than it says", &AvroType{Kind: AvroArray, Items: avroLong}, varints(-1, 2, 5, 0), ErrAvroBlock},
		{"a block that is longer than it says", &AvroType{Kind: AvroArray, Items: avroString}, append(varints(-1, 1), "\x04ab\x00"...), ErrAvroBlock},
		{"a block that is longer than the value", &AvroType{Kind: AvroArray, Items: avroLong}, varints(-1, 100, 5, 0), ErrAvroBlock},
		{"a block of the least number of elements", &AvroType{Kind: AvroArray, Items: avroLong}, varints(-1<<63, 0), ErrAvroLength},
	} {
		for _, wanted := range []bool{true, false} {
			if !wanted && (c.err == ErrUTF8 || c.err == ErrAvroInt || c.err == ErrAvroSymbol || c.err == ErrAvroDecimal) { //nolint:errorlint // of this table
				continue // contents are checked where they are wanted
			}
			path := "a"
			if !wanted {
				path = "b"
			}
			if got, err := readAvro(t, avroRecord(AvroField{"a", c.of}), c.data, path); !errors.Is(err, c.err) {
				t.Errorf("%s, wanted %v: %s, %v; want %v", c.name, wanted, got, err, c.err)
			}
		}
	}
}

// TestAvroBlocks: arrays and maps in several blocks, with and without their lengths, and
// arrays whose elements take no bytes, of which there may be any number.
func TestAvroBlocks(t *testing.T) {
	list := avroRecord(AvroField{"a", &AvroType{Kind: AvroArray, Items: avroLong}}, AvroField{"n", avroLong})
	for _, data := range [][]byte{
		varints(3, 10, 11, 12, 0, 7),
		varints(1, 10, 2, 11, 12, 0, 7),
		varints(-3, 3, 10, 11, 12, 0, 7),
		varints(1, 10, -1, 1, 11, 1, 12, 0, 7),
	} {
		if got, err := readAvro(t, list, data, "a[0]", "a[2]", "a[3]", "n"); got != "number 10, number 12, missing, number 7" {
			t.Errorf("%x: %s, %v", data, got, err)
		}
	}
	named := avroRecord(AvroField{"m", &AvroType{Kind: AvroMap, Items: avroRecord(AvroField{"x", &AvroType{Kind: AvroUnion, Branches: []*AvroType{{}, avroLong}}})}}, AvroField{"n", avroLong})
	twice := []byte("\x02\x02k\x02\x0a\x02\x02k\x00\x00\x0e") // k: 5, and then k: null
	if got, err := readAvro(t, named, twice, "m.k.x", "n"); got != "missing, number 7" {
		t.Errorf("%s, %v", got, err)
	}
	for _, bare := range []*AvroType{{Kind: AvroNull}, avroRecord(), {Kind: AvroFixed}} {
		of := avroRecord(AvroField{"a", &AvroType{Kind: AvroArray, Items: bare}}, AvroField{"n", avroLong})
		got, err := readAvro(t, of, varints(1<<62, -(1<<62), 0, 0, 7), "n", "a[5]", "a[6].x")
		want := map[AvroKind]string{AvroNull: "number 7, missing, missing", AvroRecord: "number 7, composite, missing", AvroFixed: "number 7, string, missing"}[bare.Kind]
		if got != want {
			t.Errorf("%v: %s, %v; want %s", bare.Kind, got, err, want)
		}
	}
}

// TestAvroDepth: a type that contains itself is followed to a depth, and no further.
func TestAvroDepth(t *testing.T) {
	node := avroRecord()
	node.Fields = []AvroField{{"n", avroLong}, {"next", &AvroType{Kind: AvroUnion, Branches: []*AvroType{{Kind: AvroNull}, node}}}}
	of := avroRecord(AvroField{"list", node}, AvroField{"last", avroLong})
	nested := func(depth int) []byte {
		return append(slices.Repeat([]byte{2, 2}, depth-1), 2, 0, 14)
	}
	if got, err := readAvro(t, of, nested(900), "last", "list.next.next.n"); got != "number 7, number 1" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := readAvro(t, of, nested(1_000_000), "last"); !errors.Is(err, ErrAvroDepth) {
		t.Errorf("%s, %v", got, err)
	}
	endless := avroRecord()
	endless.Fields = []AvroField{{"me", endless}}
	if got, err := readAvro(t, endless, []byte{0}, "x"); !errors.Is(err, ErrAvroDepth) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestAvroDoesNotAllocate: not even for texts that are made of numbers and bytes.
func TestAvroDoesNotAllocate(t *testing.T) {
	of := avroRecord(AvroField{"n", avroLong}, AvroField{"f", &AvroType{Kind: AvroDouble}}, AvroField{"s", avroString}, AvroField{"b", &AvroType{Kind: AvroBytes}},
		AvroField{"p", &AvroType{Kind: AvroBytes, Logical: AvroDecimal, Scale: 2}}, AvroField{"m", &AvroType{Kind: AvroMap, Items: avroString}}, AvroField{"a", &AvroType{Kind: AvroArray, Items: avroLong}})
	data := varints(1_763_600_000_000)
	data = append(data, "\x9a\x99\x99\x99\x99\x99\xb9\x3f\x04ab\x04\x00\x01\x02\x7f\x02\x02k\x02v\x00"...)
	data = append(data, varints(2, 5, 6, 0)...)
	r, err := NewReader(Form{Format: Avro, Framed: true}, []string{"n", "f", "s", "b", "p", "m.k", "a[1]"})
	if err != nil {
		t.Fatal(err)
	}
	r.Learn("\x00\x00\x00\x00\x07", &Schema{Avro: of})
	r.Learn("\x00\x00\x00\x00\x08", &Schema{Avro: of})
	vals := make([]Value, 7)
	recs := []Record{{Value: append([]byte{0, 0, 0, 0, 7}, data...)}, {Value: append([]byte{0, 0, 0, 0, 8}, data...)},
		{Value: data, Envelope: &Envelope{Headers: headers("a", "b", "__value_schema_id", "\x00\x00\x00\x00\x07")}}}
	if n := testing.AllocsPerRun(100, func() {
		for i := range recs {
			if _, ok := r.Select(&recs[i]); !ok {
				t.Fatal("a schema is not known")
			}
			if err := r.Read(&recs[i], vals); err != nil || string(vals[6].Bytes) != "6" || string(vals[1].Bytes) != "0.1" || string(vals[4].Bytes) != "1.27" {
				t.Fatal(vals, err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for three records, want none", n)
	}
}

// TestFrames: how a record names its schema, in front of the value or in a header.
func TestFrames(t *testing.T) {
	r, err := NewReader(Form{Format: Avro, Framed: true}, []string{"n"})
	if err != nil {
		t.Fatal(err)
	}
	const guid = "\x01ABCDEFGHIJKLMNOP"
	for _, c := range []struct {
		value, header string
		need, err     string
	}{
		{"\x00\x00\x00\x01\x02\x0e", "", "schema id 258", ""},
		{guid + "\x0e", "", "schema 41424344-4546-4748-494a-4b4c4d4e4f50", ""},
		{"\x0e", guid, "schema 41424344-4546-4748-494a-4b4c4d4e4f50", ""},
		{"\x0e", "\x00\x00\x00\x01\x02", "schema id 258", ""},
		{"\x00\x00\x00\x01\x02\x0e", guid, "schema 41424344-4546-4748-494a-4b4c4d4e4f50", ""}, // the header comes first
		{"\x00\x00\x00\x01", "", "", "names no schema"},
		{"\x02\x00\x00\x00\x01\x0e", "", "", "names no schema"},
		{`{"n":7}`, "", "", "names no schema"},
		{"\x0e", "\x00\x00\x00\x01", "", "names no schema"},
		{"\x0e", "\x00\x00\x00\x00\x01\x02", "", "names no schema"},
	} {
		rec := Record{Value: []byte(c.value)}
		if c.header != "" {
			rec.Envelope = &Envelope{Headers: headers("__value_schema_id", c.header)}
		}
		need, ok := r.Select(&rec)
		if ok != (c.need == "") || !ok && need.Name().String() != c.need {
			t.Errorf("%q, %q: needs %v", c.value, c.header, need.Name())
		}
		if ok {
			if err := r.Read(&rec, make([]Value, 1)); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %q: %v, want %s", c.value, c.header, err, c.err)
			}
		}
	}
}

// TestVarints compares with encoding/binary: all lengths, with and without bytes behind, cut
// off, and numbers of more than 64 bits.
func TestVarints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40_000 {
		b := binary.AppendUvarint(nil, random.Uint64()>>random.IntN(64))
		for range random.IntN(12) {
			b = append(b, byte(random.Uint32()))
		}
		if random.IntN(4) == 0 {
			b = b[:random.IntN(len(b)+1)]
		}
		if random.IntN(8) == 0 {
			b = append(slices.Repeat([]byte{0x80 | byte(random.Uint32())}, random.IntN(12)), b...)
		}
		want, n := binary.Uvarint(b)
		if n <= 0 {
			want, n = 0, -1
		}
		if got, end := varintAt(b, 0); got != want || end != n {
			t.Fatalf("%x: %d to %d, want %d to %d", b, got, end, want, n)
		}
	}
}
