package schemas

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"weir/event"
)

// TestTree: the tree of a value is the document that one would write for it.
func TestTree(t *testing.T) {
	avro := mustAvro(t, `{"type":"record","name":"R","fields":[
		{"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}}, {"name":"i","type":"int"},
		{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
		{"name":"f","type":"float"}, {"name":"d","type":"double"}, {"name":"none","type":["null","string"]},
		{"name":"list","type":{"type":"array","items":"long"}}, {"name":"map","type":{"type":"map","values":"boolean"}},
		{"name":"uuid","type":{"type":"fixed","size":16,"name":"U","logicalType":"uuid"}}, {"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}}]}`)
	proto := mustProto(t, `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
		message M { google.protobuf.Timestamp at = 1; google.protobuf.Int64Value n = 2; repeated E e = 3; map<string, M> map = 4; bytes b = 5; double d = 6; fixed64 big = 7; string unset = 8;
			enum E { A = 0; B = 1; } }`).schema(event.SchemaName{Message: []int{0}})
	for _, c := range []struct {
		of          *event.Schema
		bytes, want string
	}{
		{avro, "02" + "03" + "0406f9" + "0000c03f" + "000000000000f83f" + "00" + "020600" + "0202610100" + "00112233445566778899aabbccddeeff" + "02",
			`{"d":1.5,"e":"B","f":1.5,"i":-2,"list":[3],"map":{"a":true},"ms":1,"none":null,"price":17.85,"uuid":"00112233-4455-6677-8899-aabbccddeeff"}`},
		{proto, "0a020801" + "12020807" + "1a020105" + "22070a0161120212002a0178" + "31000000000000e03f" + "39ffffffffffffffff",
			`{"at":"1970-01-01T00:00:01Z","b":"x","big":18446744073709551615,"d":0.5,"e":["B",5],"map":{"a":{"n":0}},"n":7}`},
	} {
		value, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := c.of.Tree(value)
		got, _ := json.Marshal(tree)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
		if tree, err := c.of.Tree(value[:len(value)-1]); err == nil {
			t.Errorf("%v of bytes that end in the middle", tree)
		}
	}
	if _, err := mustAvro(t, `"int"`).Tree([]byte{2, 2}); err == nil {
		t.Error("no error for bytes behind the value")
	}
}
