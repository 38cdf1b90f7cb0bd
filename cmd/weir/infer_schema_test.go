package main

import (
	"bytes"
	varint "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/schemas/schematest"
)

// Schemas of orders, with types that say what they are, fields that are often missing, and one
// inside itself.
const (
	orderAvro = `{"type":"record","name":"Order","fields":[
		{"name":"ts","type":"long"},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
		{"name":"signed_up_at","type":["null",{"type":"long","logicalType":"timestamp-millis"}]},
		{"name":"order","type":{"type":"record","name":"Details","fields":[
			{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
			{"name":"status","type":{"type":"enum","name":"Status","symbols":["NEW","PAID","SENT"]}},
			{"name":"tags","type":{"type":"array","items":"string"}},
			{"name":"parent","type":["null","Details"]}]}},
		{"name":"customer_id","type":["null","string"]},
		{"name":"context","type":["null","string"]},
		{"name":"event_id","type":"string"}]}`
	orderProto = `syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
		message Other { int64 x = 1; }
		message Order { google.protobuf.Timestamp at = 1; Details order = 2; google.protobuf.StringValue customer_id = 3; string event_id = 4; Order parent = 5;
			message Details { double price = 1; Status status = 2; repeated string tags = 3; }
			enum Status { NEW = 0; PAID = 1; SENT = 2; } }`
)

func avroOrder(i int) []byte {
	text := func(b []byte, s string) []byte { return append(varint.AppendVarint(b, int64(len(s))), s...) }
	ms := at(i * 1000).UnixMilli()
	b := varint.AppendVarint(varint.AppendVarint(nil, ms), ms*1000+7)
	if i%2 == 0 {
		b = append(b, 0)
	} else {
		b = varint.AppendVarint(append(b, 2), ms-int64(i%20)*40*24*3600*1000-400*24*3600*1000)
	}
	b = append(b, 4, byte(i%7), byte(10*i)) // a decimal of two bytes
	b = append(b, byte(2*(i%3)))            // the symbol
	if b = append(b, 0, 0); i%5 == 0 {      // no tags, no parent
		b = append(b, 0)
	} else {
		b = text(append(b, 2), fmt.Sprint("c", i%60))
	}
	if i == 0 {
		b = append(b, 0)
	} else {
		b = text(append(b, 2), fmt.Sprintf(`{"plan":"p%d"}`, i%4))
	}
	return text(b, fmt.Sprint("e", i))
}

func protoOrder(i int) []byte {
	nested := func(b []byte, number int, inner []byte) []byte {
		return append(append(b, byte(number<<3|2), byte(len(inner))), inner...)
	}
	stamp := at(i * 1000)
	b := nested(nil, 1, varint.AppendUvarint([]byte{1 << 3}, uint64(stamp.Unix())))
	details := varint.LittleEndian.AppendUint64([]byte{1<<3 | 1}, [...]uint64{0x3ff8000000000000, 0x4029000000000000}[i%2]) // 1.5 and 12.5
	if i%3 > 0 {
		details = append(details, 2<<3, byte(i%3))
	}
	b = nested(b, 2, details)
	if i%5 > 0 {
		b = nested(b, 3, nested(nil, 1, fmt.Append(nil, "c", i%60)))
	}
	return nested(b, 4, fmt.Append(nil, "e", i))
}

// Batches of three orders each, sent by an app.
const (
	batchAvro  = `{"type":"record","name":"Batch","fields":[{"name":"app","type":"string"},{"name":"orders","type":{"type":"array","items":` + orderAvro + `}}]}`
	batchProto = orderProto + ` message Batch { Sender sender = 1; repeated Order orders = 2; } message Sender { string app = 1; }`
)

func avroBatch(i int) []byte {
	b := append([]byte{8}, fmt.Sprint("app", i%2)...)
	b = append(b, 6)
	for k := range 3 {
		b = append(b, avroOrder(3*i+k)...)
	}
	return append(b, 0)
}

func protoBatch(i int) []byte {
	b := append([]byte{1<<3 | 2, 6, 1<<3 | 2, 4}, fmt.Sprint("app", i%2)...)
	for k := range 3 {
		order := protoOrder(3*i + k)
		b = append(append(b, 2<<3|2, byte(len(order))), order...)
	}
	return b
}

// TestInferSchemas: from Avro and Protobuf, with a registry or with a file, weir infer makes
// jobs as it does from JSON. Their texts are in testdata/infer.
func TestInferSchemas(t *testing.T) {
	const records = 300
	registry := schematest.Start(t)
	registry.User, registry.Password = "weir", "a secret"
	avro := registry.Add("orders-value", schematest.Schema{Type: "AVRO", Text: orderAvro})
	proto := registry.Add("orders-proto-value", schematest.Schema{Type: "PROTOBUF", Text: orderProto})
	inAvro := registry.Add("batches-value", schematest.Schema{Type: "AVRO", Text: batchAvro})
	inProto := registry.Add("batches-proto-value", schematest.Schema{Type: "PROTOBUF", Text: batchProto})
	golden, err := filepath.Abs(filepath.Join("testdata", "infer"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"order.avsc": orderAvro, "order.proto": orderProto, "orders.avsc": `{"type":"array","items":` + orderAvro + `}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := []string{"--registry.url", registry.URL, "--registry.user", "weir"}
	infer := func(t *testing.T, value func(i int) *kgo.Record, args ...string) (code int, out, errs string) {
		t.Helper()
		if len(args) > 0 && args[0] == "--registry.url" {
			t.Setenv("WEIR_REGISTRY_PASSWORD", registry.Password)
		}
		s := newTapStage(t)
		var all []*kgo.Record
		for i := range records {
			r := value(i)
			r.Partition, r.Timestamp = int32(i%2), at(i*1000+500)
			all = append(all, r)
		}
		if err := s.client.ProduceSync(await.Context(t), all...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code = execute(await.Context(t), append([]string{"infer", "-c", s.file, "--topic", "plays"}, args...), &stdout, &stderr)
		return code, strings.ReplaceAll(stdout.String(), registry.URL, "http://registry:8081"), stderr.String()
	}
	plain := func(value func(int) []byte) func(int) *kgo.Record {
		return func(i int) *kgo.Record { return &kgo.Record{Value: value(i)} }
	}
	framed := func(prefix []byte, value func(int) []byte) func(int) *kgo.Record {
		return func(i int) *kgo.Record {
			return &kgo.Record{Key: append(schematest.Prefix(avro), 2), Value: append(bytes.Clone(prefix), value(i)...)}
		}
	}
	cases := []struct {
		name, golden string
		value        func(int) *kgo.Record
		args         []string
	}{
		{"avro with prefix", "avro", framed(schematest.Prefix(avro), avroOrder), asked},
		{"avro with header", "avro", func(i int) *kgo.Record {
			return &kgo.Record{Value: avroOrder(i), Headers: []kgo.RecordHeader{{Key: "__value_schema_id", Value: schematest.Header(avro)}}}
		}, asked},
		{"avro with file", "avro-file", plain(avroOrder), []string{"--schema-file", "order.avsc"}},
		{"protobuf with prefix", "protobuf", framed(append(schematest.Prefix(proto), 2, 2), protoOrder), asked},
		{"protobuf with file", "protobuf-file", plain(protoOrder), []string{"--schema-file", "order.proto", "--message", "shop.Order"}},
		{"batches in avro", "avro-batches", framed(schematest.Prefix(inAvro), avroBatch), asked},
		{"batches in protobuf", "protobuf-batches", framed(append(schematest.Prefix(inProto), 2, 4), protoBatch), asked},
		{"arrays in avro", "avro-arrays", plain(func(i int) []byte { return avroBatch(i)[5:] }), []string{"--schema-file", "orders.avsc"}},
		{"a schema that is lost", "avro-lost", func(i int) *kgo.Record {
			if i%10 == 3 {
				return framed(schematest.Prefix(99), avroOrder)(i)
			}
			return framed(schematest.Prefix(avro), avroOrder)(i)
		}, asked},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := infer(t, c.value, c.args...)
			if code != 0 {
				t.Fatalf("exit code %d:\n%s%s", code, out, errs)
			}
			file := filepath.Join(golden, c.golden+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if want, err := os.ReadFile(file); err != nil || out != string(want) {
				t.Errorf("%v\n%s\nwant\n%s", err, out, want)
			}
			if strings.Contains(out, registry.Password) {
				t.Errorf("the output has the password")
			}
			if lost := "know the schema"; strings.Contains(errs, lost) != (c.golden == "avro-lost") {
				t.Errorf("standard error is\n%s", errs)
			}
			job := filepath.Join(dir, "job.yaml")
			if err := os.WriteFile(job, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			if code := execute(await.Context(t), []string{"check", "--offline", "-c", job}, &stdout, &stderr); code != 0 {
				t.Errorf("check ends with %d:\n%s%s", code, &stdout, &stderr)
			}
		})
	}
	// A registry does not matter for JSON.
	t.Run("json", func(t *testing.T) {
		if code, out, errs := infer(t, plain(func(i int) []byte { return fmt.Appendf(nil, `{"ts":%d}`, at(i).UnixMilli()) }), asked...); code != 0 || !strings.Contains(out, "the job counts 300.") || strings.Contains(out, "registry") {
			t.Errorf("exit code %d:\n%s%s", code, out, errs)
		}
	})
	// More fields than a reader has paths.
	var wide []string
	for i := range 150 {
		wide = append(wide, fmt.Sprintf(`{"name":"f%d","type":"int"}`, i))
	}
	if err := os.WriteFile("wide.avsc", []byte(`{"type":"record","name":"Wide","fields":[`+strings.Join(wide, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 150)
	for i := range value {
		value[i] = byte(i % 50 * 2)
	}
	code, out, errs := infer(t, plain(func(int) []byte { return value }), "--schema-file", "wide.avsc")
	for i := range value {
		if line := fmt.Sprintf("# %-5s    100 %%         1  number: %d\n", fmt.Sprint("f", i), i%50); code != 0 || !strings.Contains(out, line) {
			t.Fatalf("exit code %d, and no %q:\n%s%s", code, line, out, errs)
		}
	}
	for _, c := range []struct {
		value func(int) *kgo.Record
		args  []string
		words string
	}{
		{framed(schematest.Prefix(avro), avroOrder), nil, "300 of 300 name a schema of a registry, in front of the value or in a header, such as schema id 1\nhint: give the registry that"},
		{framed(schematest.Prefix(99), avroOrder), asked, "in a header, such as schema id 99\n"},
		{framed(schematest.Prefix(avro), avroOrder), []string{"--schema-file", "order.avsc"}, "no record of topic plays fits the schema in order.avsc; 300 of 300"},
		{plain(func(int) []byte { return []byte{0xff, 0xfe} }), nil, "is JSON, TSV or CSV\nhint: if all records have one schema"},
		{plain(avroOrder), []string{"--schema-file", "order.proto"}, "it has several messages"},
		{plain(avroOrder), []string{"--schema-file", "order.avsc", "--message", "x"}, "--message belongs to"},
		{plain(avroOrder), []string{"--message", "x"}, "--message belongs to"},
	} {
		t.Run(c.words, func(t *testing.T) {
			if code, out, errs := infer(t, c.value, c.args...); code == 0 || !strings.Contains(errs, c.words) {
				t.Errorf("%q: exit code %d:\n%s%s", c.args, code, out, errs)
			}
		})
	}
}
