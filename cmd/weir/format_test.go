package main

import (
	"bytes"
	"compress/zlib"
	"context"
	varint "encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/audit"
	"weir/ingest"
	"weir/internal/await"
	"weir/internal/config"
	"weir/internal/local/localtest"
	"weir/jobs"
	"weir/schemas/schematest"
)

// avroStage is a tapStage whose job reads Avro from a registry.
func avroStage(t *testing.T) (*tapStage, *schematest.Registry) {
	s, registry := newTapStage(t), schematest.Start(t)
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	brokers, _, _ := strings.Cut(strings.TrimSpace(string(config)), "\n")
	if err := os.WriteFile(s.file, []byte(brokers+`
registry: {url: "`+registry.URL+`"}
jobs: [{name: plays, topic: plays, format: avro, time: {field: ts}, window: 1m, chunk: 1024, by: [song, {name: source, field: "header:source", default: none}], measures: [{name: users, kind: hll, field: user}]}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, registry
}

// play returns an event of the schema of the stage.
func play(offset int, song string, user int64) []byte {
	return playAt(at(offset).UnixMilli(), song, user)
}

func playAt(ts int64, song string, user int64) []byte {
	b := varint.AppendVarint(nil, ts)
	b = append(varint.AppendVarint(b, int64(len(song))), song...)
	return varint.AppendVarint(b, user)
}

const playSchema = `{"type":"record","name":"Play","fields":[{"name":"ts","type":"long"},{"name":"song","type":"string"},{"name":"user","type":"long"}]}`

// TestTapAvro: tap and check --sample read Avro with the registry, and with a file; a record
// whose schema the registry does not have waits, and they go on behind it.
func TestTapAvro(t *testing.T) {
	s, registry := avroStage(t)
	id := registry.Add("plays-value", schematest.Schema{Type: "AVRO", Text: playSchema})
	header := func(name string, value []byte) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: value} }
	for i, r := range []*kgo.Record{
		{Value: append(schematest.Prefix(id), play(0, "a", 1)...)},
		{Value: play(1, "b", 2), Headers: []kgo.RecordHeader{header("__value_schema_id", schematest.Header(id)), header("source", []byte("app"))}},
		{Value: []byte(`{"ts":1}`)},
		{Value: append(schematest.Prefix(id), play(3, "c", 3)[:7]...)},
		{Value: append(schematest.Prefix(id+1), play(4, "d", 4)...)},
		{Value: append(schematest.Prefix(id), play(5, "e", 5)...)},
	} {
		r.Timestamp = at(i)
		if err := s.client.ProduceSync(await.Context(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	line := func(offset int, when, outcome, rest string) string {
		return fmt.Sprintf("%9d %12d  %-24s  %-9s  %s\n", 0, offset, when, outcome, rest)
	}
	stamp := func(offset int) string { return at(offset).UTC().Format("2006-01-02T15:04:05.000Z") }
	want := line(0, stamp(0), "counted", `"a", "none"`) + line(1, stamp(1), "counted", `"b", "app"`) +
		line(2, "-", "malformed", "-  event: the record names no schema: it begins with neither 0 and an id nor 1 and a GUID") +
		line(3, "-", "malformed", "-  event: Avro: the value ends in the middle") +
		line(4, "-", "waits", "-  schemas: schema id 2 of the registry at "+registry.URL+": it does not know the schema (404, error 40403: Schema not found): was it deleted, or is it in another registry?") +
		line(5, stamp(5), "counted", `"e", "none"`)
	out, _ := s.tap(0, "--job", "plays", "--partition", "0", "--from", "0", "--until", "end")
	if _, got, _ := strings.Cut(out, "\n"); got != want {
		t.Errorf("tap prints\n%swant\n%s", got, want)
	}
	if n := registry.Requests(); n != 3 { // by number and by GUID, and of the one that it does not have
		t.Errorf("%d requests to the registry, want 3", n)
	}
	for outcome, lines := range map[string]int{"waits": 1, "malformed": 2, "malformed,waits": 3} {
		if out, _ := s.tap(0, "--job", "plays", "--from", "beginning", "--until", "end", "--outcome", outcome); strings.Count(out, "\n") != 1+lines {
			t.Errorf("of %s tap prints\n%s", outcome, out)
		}
	}
	if out, _ := s.tap(0, "--job", "plays", "--from", "beginning", "--until", "end", "--json", "--outcome", "waits"); !strings.Contains(out, `"offset":4,"records":1,"record_time":"`+stamp(4)+`","outcome":"waits","reason":"schemas: schema id 2 `) {
		t.Errorf("tap prints %s", out)
	}

	registry.Be(schematest.Forgets)
	if out, _ := s.tap(0, "--job", "plays", "--from", "beginning", "--until", "end"); strings.Count(out, "waits      -  schemas: schema id 1 of the registry at "+registry.URL+": it does not know the schema") != 3 {
		t.Errorf("without the schema tap says %s", out)
	}
	check := func(code int, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := execute(await.Context(t), append([]string{"check", "-o", "json", "-c", s.file, "--clickhouse.urls", "http://127.0.0.1:1"}, args...), &stdout, &stderr); got != code {
			t.Fatalf("weir check %q: exit code %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
		}
		var findings []finding
		if err := json.Unmarshal(stdout.Bytes(), &findings); err != nil {
			t.Fatalf("%v:\n%s", err, &stdout)
		}
		var b strings.Builder
		for _, f := range findings {
			fmt.Fprintf(&b, "%s %s %s: %s\n", f.Result, f.Tier, f.Subject, f.Detail)
		}
		return b.String()
	}
	registry.Be(schematest.Well)
	for _, words := range []string{"ok registry " + registry.URL + ": it answers", "6 records, the newest of 1 partitions: counted 3 (50 %), malformed 2 (33.3 %), waits 1 (16.7 %); weir run waits at a record whose schema",
		"warning sample job plays: waits 1 (16.7 %): schemas: schema id 2 of the registry at " + registry.URL + ": it does not know the schema"} {
		if got := check(69, "--sample", "10"); !strings.Contains(got, words) {
			t.Errorf("check does not say %q:\n%s", words, got)
		}
	}
	registry.Be(schematest.Lies)
	if got := check(69, "--sample", "10"); !strings.Contains(got, "failed registry "+registry.URL) || !strings.Contains(got, "does registry.url name a schema registry?") {
		t.Errorf("check says\n%s", got)
	}
	asked := registry.Requests()
	if got := check(0, "--offline"); strings.Contains(got, "registry") || registry.Requests() != asked {
		t.Errorf("check --offline asks the registry %d times:\n%s", registry.Requests()-asked, got)
	}

	// The same events without a prefix, with the schema in a file.
	file := filepath.Join(t.TempDir(), "play.avsc")
	if err := os.WriteFile(file, []byte(playSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	// With the prefix, and the schema in a file because the registry does not know it any more.
	registry.Be(schematest.Forgets)
	text := strings.Replace(string(config), "registry: {", "registry: {schemas: [{id: "+fmt.Sprint(id)+", file: "+file+"}], ", 1)
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, notes := s.tap(0, "--job", "plays", "--partition", "0", "--from", "0", "--limit", "1"); !strings.Contains(out, line(0, stamp(0), "counted", `"a", "none"`)) {
		t.Errorf("with the schema in a file tap prints\n%s%s", out, notes)
	}
	text = strings.Replace(string(config), "format: avro", "format: avro, schema_file: "+file, 1)
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := s.tap(0, "--job", "plays", "--partition", "0", "--from", "1", "--limit", "1"); !strings.Contains(out, line(1, stamp(1), "counted", `"b", "app"`)) {
		t.Errorf("with a file tap prints\n%s", out)
	}
}

// TestTapKeys: keys in Avro are read with the schemas that they name in the registry, and a record whose
// key's schema the registry does not have waits.
func TestTapKeys(t *testing.T) {
	s, registry := avroStage(t)
	value := registry.Add("plays-value", schematest.Schema{Type: "AVRO", Text: playSchema})
	key := registry.Add("plays-key", schematest.Schema{Type: "AVRO", Text: `{"type":"record","name":"Key","fields":[{"name":"device","type":"string"}]}`})
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), `format: avro`, `format: avro, key_format: avro`, 1)
	text = strings.Replace(text, `{name: source, field: "header:source", default: none}`, `{name: device, field: key.device, default: none}`, 1)
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil || !strings.Contains(text, "key.device") {
		t.Fatal(err, text)
	}
	device := []byte{4, 'd', '7'}
	for i, r := range []*kgo.Record{
		{Key: append(schematest.Prefix(key), device...)},
		{Key: device, Headers: []kgo.RecordHeader{{Key: "__key_schema_id", Value: schematest.Header(key)}}},
		{},
		{Key: append(schematest.Prefix(key+1), device...)},
		{Key: []byte("d7")},
	} {
		r.Timestamp, r.Value = at(i), append(schematest.Prefix(value), play(i, "a", 1)...)
		if err := s.client.ProduceSync(await.Context(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := s.tap(0, "--job", "plays", "--from", "beginning", "--until", "end")
	for offset, words := range []string{`counted    "a", "d7"`, `counted    "a", "d7"`, `counted    "a", "none"`,
		"waits      -  schemas: schema id 3 of the registry at " + registry.URL + ": it does not know the schema",
		"malformed  -  event: the record's key: the record names no schema"} {
		if lines := strings.Split(out, "\n"); len(lines) < 7 || !strings.Contains(lines[1+offset], words) {
			t.Errorf("tap does not say at offset %d %q:\n%s", offset, words, out)
		}
	}
}

// TestRunWaits: while one partition waits for a schema that the registry does not have, one
// worker of a real process counts the others to their ends, also what comes meanwhile. When
// the registry has it, all is counted, and no record is malformed.
func TestRunWaits(t *testing.T) {
	s, registry := newStage(t), schematest.Start(t)
	config, err := os.ReadFile(filepath.Join(s.dir, "weir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(config), "jobs:")
	head += "workers: 1\nregistry: {url: \"" + registry.URL + "\"}\njobs: [{name: plays, topic: plays, format: avro, time: {field: ts}, window: 1m, by: [song], measures: [{name: users, kind: hll, field: user}]}]\n"
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	const partitions, batch = 3, 500
	if _, err := kadm.NewClient(s.client).CreateTopic(await.Context(t), partitions, 1, nil, "plays"); err != nil {
		t.Fatal(err)
	}
	one := registry.Add("plays-value", schematest.Schema{Type: "AVRO", Text: playSchema})
	next := one + 1 // which the registry does not have yet
	client, err := kgo.NewClient(append(s.client.Opts(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	now := time.Now().Truncate(time.Minute)
	produce := func(partition int32, id uint32) {
		t.Helper()
		var records []*kgo.Record
		for i := range batch {
			records = append(records, &kgo.Record{Topic: "plays", Partition: partition, Timestamp: now, Value: append(schematest.Prefix(id), playAt(now.UnixMilli(), fmt.Sprint("partition ", partition), int64(i))...)})
		}
		if err := client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for p := range int32(partitions) {
		produce(p, one)
	}
	produce(0, next)
	produce(0, one)
	s.done(t, "migrate")
	cmd, out, ended := s.start(t, "run")
	flushed := func(want ...int) {
		t.Helper()
		await.Until(t, func() error {
			got, err := localtest.Query(s.engine, s.database, "SELECT groupArray(n) FROM (SELECT max(next) AS n FROM weir_ledger GROUP BY partition ORDER BY partition)")
			if text := strings.ReplaceAll(fmt.Sprint(want), " ", ","); err != nil || strings.TrimSpace(got) != text {
				return fmt.Errorf("the ledger has %s, want %s, %w\n%s", got, text, err, out)
			}
			return nil
		})
	}
	flushed(batch, batch, batch)
	produce(1, one)
	flushed(batch, 2*batch, batch)
	produce(2, next) // which then waits too
	produce(1, one)
	flushed(batch, 3*batch, batch)
	waitsForSchema(t, filepath.Join(s.dir, "weir.yaml"), fmt.Sprintf("partition 0 waits at offset %d: schemas: schema id %d of the registry", batch, next), batch, 3*batch, batch)
	if id := registry.Add("plays-value", schematest.Schema{Type: "AVRO", Text: strings.Replace(playSchema, "user\"", "user\",\"doc\":\"again\"", 1)}); id != next {
		t.Fatalf("the new schema has the id %d", id)
	}
	flushed(3*batch, 3*batch, 2*batch)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := ends(t, cmd, ended); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	rows, err := localtest.Query(s.engine, s.database, "SELECT song, hits, users FROM plays_1m ORDER BY song FORMAT CSV")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(rows), "\n")
	for p, hits := range []int{3 * batch, 3 * batch, 2 * batch} {
		if want := fmt.Sprintf("\"partition %d\",%d,", p, hits); len(lines) != partitions || !strings.HasPrefix(lines[p], want) {
			t.Errorf("the rows are\n%s", rows)
			break
		}
	}
	if dead, err := localtest.Query(s.engine, s.database, "SELECT count() FROM weir_dead_letters"); err != nil || strings.TrimSpace(dead) != "0" {
		t.Errorf("%s dead letters, %v", dead, err)
	}
	if n, err := localtest.Query(s.engine, s.database, "SELECT sum(gap) + sum(malformed) FROM weir_ledger"); err != nil || strings.TrimSpace(n) != "0" {
		t.Errorf("%s gaps and malformed records, %v", n, err)
	}
}

// waitsForSchema looks at what weir verify and weir check say of partitions 0 and 1 where the ledger has
// these offsets: partition 0 waits for a schema.
func waitsForSchema(t *testing.T, file, want string, next ...int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{File: file, Data: text})
	if err != nil {
		t.Fatal(err)
	}
	src, err := source(cfg, &cfg.Jobs[0], ingest.Database{}, slog.New(slog.DiscardHandler), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ledger := coverage{}
	for p, n := range next {
		ledger[int32(p)] = audit.Covered{Next: n}
	}
	of := func(partitions ...int32) string {
		return remedyOfUncounted(await.Context(t), cfg, &cfg.Jobs[0], src, ledger, &jobs.Uncounted{Partitions: partitions})
	}
	if got := of(0); !strings.HasPrefix(got, want) || strings.Contains(got, "consumer group") {
		t.Errorf("of partition 0: %s", got)
	}
	if got := of(0, 1); !strings.HasPrefix(got, want) || !strings.Contains(got, ". Of the others, in consumer group") {
		t.Errorf("of partitions 0 and 1: %s", got)
	}
	if got := of(1); !strings.HasPrefix(got, "in consumer group") {
		t.Errorf("of partition 1: %s", got)
	}
}

// coverage is a ledger that covers this much.
type coverage map[int32]audit.Covered

func (c coverage) Coverage(context.Context) (audit.Coverage, error) {
	return audit.Coverage{Partitions: c}, nil
}

// TestRunLost: a record whose schema no registry has holds up its partition until the job
// says that it is lost. The same version of the job then counts what is behind it. A list
// with a schema that can be had is refused.
func TestRunLost(t *testing.T) {
	s, registry := newStage(t), schematest.Start(t)
	config, err := os.ReadFile(filepath.Join(s.dir, "weir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(config), "jobs:")
	write := func(lost string) {
		t.Helper()
		text := head + "registry: {url: \"" + registry.URL + "\"}\njobs: [{name: plays, topic: plays, format: avro" + lost + ", time: {field: ts}, window: 1m, by: [song], measures: [{name: users, kind: hll, field: user}]}]\n"
		if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	if _, err := kadm.NewClient(s.client).CreateTopic(await.Context(t), 1, 1, nil, "plays"); err != nil {
		t.Fatal(err)
	}
	id := registry.Add("plays-value", schematest.Schema{Type: "AVRO", Text: playSchema})
	now := time.Now().Truncate(time.Minute)
	for i, of := range []uint32{id, id, 4711, id, id, id} {
		value := append(schematest.Prefix(of), playAt(now.UnixMilli(), "a", int64(i))...)
		if err := s.client.ProduceSync(await.Context(t), &kgo.Record{Topic: "plays", Timestamp: now, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s.done(t, "migrate")
	cmd, out, ended := s.start(t, "run")
	ledger := func() string {
		t.Helper()
		got, err := localtest.Query(s.engine, s.database, "SELECT max(next), max(counted), max(malformed) FROM weir_ledger")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(got), " ")
	}
	stop := func() {
		t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := ends(t, cmd, ended); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	await.Until(t, func() error {
		if got := ledger(); got != "2 2 0" || !strings.Contains(out.String(), "partition 0 waits at offset 2: schemas: schema id 4711") {
			return fmt.Errorf("the ledger has %s\n%s", got, out)
		}
		return nil
	})
	stop()

	write(fmt.Sprintf(", lost_schemas: [4711, %d]", id))
	cmd, out, ended = s.start(t, "run")
	if code := ends(t, cmd, ended); code != exitConfig || !strings.Contains(out.String(), "jobs[0].lost_schemas lists schema id 1, which is in the registry or in registry.schemas") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	cmd, out, ended = s.start(t, "check")
	if code := ends(t, cmd, ended); code != exitConfig || !strings.Contains(out.String(), "jobs[0].lost_schemas lists schema id 1, which is") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}

	write(", lost_schemas: [4711]")
	registry.Be(schematest.Away) // which is no reason not to start
	cmd, out, ended = s.start(t, "run", "--until", "end")
	await.Until(t, func() error {
		if !strings.Contains(out.String(), "schema registry: outage") {
			return fmt.Errorf("the registry is not asked:\n%s", out)
		}
		return nil
	})
	registry.Be(schematest.Well)
	if code := ends(t, cmd, ended); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if got := ledger(); got != "6 5 1" {
		t.Errorf("the ledger has %s", got)
	}
	if got, err := localtest.Query(s.engine, s.database, "SELECT hits, users FROM plays_1m"); err != nil || strings.Join(strings.Fields(got), " ") != "5 5" {
		t.Errorf("hits and users: %s, %v", got, err)
	}
	s.done(t, "verify")

	// A schema that was read and is deleted then needs a new version. Without it the audit shows
	// what was counted in two ways.
	write(fmt.Sprintf(", lost_schemas: [4711, %d]", id))
	registry.Be(schematest.Forgets)
	cmd, out, ended = s.start(t, "run") // not --until end, which may end before the open chunk has been read again
	await.Until(t, func() error {
		if got := ledger(); got != "6 5 6" {
			return fmt.Errorf("the ledger has %s\n%s", got, out)
		}
		return nil
	})
	stop()
	cmd, out, ended = s.start(t, "verify")
	if code := ends(t, cmd, ended); code != exitFailed || !strings.Contains(out.String(), "spans 6 offsets, but its outcomes sum up to 11") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// glue returns a value behind the frame of AWS Glue.
func glue(value []byte, compressed bool) []byte {
	b := bytes.NewBuffer([]byte("\x03\x00\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2"))
	if !compressed {
		return append(b.Bytes(), value...)
	}
	b.Bytes()[1] = 5
	z := zlib.NewWriter(b)
	_, _ = z.Write(value) // into memory
	_ = z.Close()
	return b.Bytes()
}

// TestTapProtobuf: the same with Protobuf, whose records also say which message they are.
func TestTapProtobuf(t *testing.T) {
	s, registry := avroStage(t)
	id := registry.Add("plays-value", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; message Other {} message Play { int64 ts = 1; string song = 2; int64 user = 3; }`})
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file, bytes.Replace(config, []byte("avro"), []byte("protobuf"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	message := func(offset int, song string, user uint64) []byte {
		b := varint.AppendUvarint([]byte{1 << 3}, uint64(at(offset).UnixMilli()))
		b = append(append(b, 2<<3|2, byte(len(song))), song...)
		return varint.AppendUvarint(append(b, 3<<3), user)
	}
	for i, value := range [][]byte{
		append(append(schematest.Prefix(id), 2, 2), message(0, "a", 1)...), // [1]
		append(append(schematest.Prefix(id), 4, 0, 0), message(1, "b", 2)...),
		append(schematest.Prefix(id), 2, 2),
	} {
		if err := s.client.ProduceSync(await.Context(t), &kgo.Record{Timestamp: at(i), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := s.tap(0, "--job", "plays", "--partition", "0", "--from", "0", "--until", "end")
	for _, words := range []string{`counted    "a", "none"`, "malformed  -  event: schema id 1 has no message with the indexes [0 0]", "malformed  -  field ts is missing"} {
		if !strings.Contains(out, words) {
			t.Errorf("tap does not print %s:\n%s", words, out)
		}
	}
}

// TestRunFormats: the same plays in all formats give the same rows, hits and states
// of sketches alike, and the same dead letters, in a real process with a real engine; also if
// the registry is away when the process starts, and forgets the schema then.
func TestRunFormats(t *testing.T) {
	s, registry := newStage(t), schematest.Start(t)
	config, err := os.ReadFile(filepath.Join(s.dir, "weir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(config), "jobs:")
	file := filepath.Join(t.TempDir(), "play.avsc")
	if err := os.WriteFile(file, []byte(playSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	head += "registry: {url: \"" + registry.URL + "\", schemas: [{id: 89791762-2336-4186-9674-299b90a802e2, file: " + file + "}]}\njobs:\n"
	schema := map[string]uint32{
		"avro":     registry.Add("avro-value", schematest.Schema{Type: "AVRO", Text: playSchema}),
		"protobuf": registry.Add("protobuf-value", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; message Play { int64 ts = 1; string song = 2; int64 user = 3; }`}),
		"newer":    registry.Add("protobuf-value", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; message Play { int64 ts = 1; string song = 2; int64 user = 3; bool paid = 4; }`}),
	}
	formats := []string{"json", "avro", "protobuf", "tsv", "csv", "text", "glue"}
	forms := map[string]string{"tsv": "format: tsv, columns: [app, ts, song, user]", "csv": "format: csv", "text": "format: json", "glue": "format: avro, framing: glue"}
	paths := map[string][3]string{"csv": {"c3", "c1", "c2"}, "text": {"'play[json].ts'", "'play[json].song'", "'play[json].user'"}}
	admin := kadm.NewClient(s.client)
	for _, format := range formats {
		if _, err := admin.CreateTopic(await.Context(t), 1, 1, nil, "plays_"+format); err != nil {
			t.Fatal(err)
		}
		form, path := "format: "+format, [3]string{"ts", "song", "user"}
		if forms[format] != "" {
			form = forms[format]
		}
		if paths[format] != [3]string{} {
			path = paths[format]
		}
		head += fmt.Sprintf("  - {name: plays_%s, topic: plays_%[1]s, %s, time: {field: %s}, window: 1m, by: [{name: song, field: %s}], measures: [{name: users, kind: hll, field: %s}, {name: total, kind: sum, field: %[5]s}]}\n", format, form, path[0], path[1], path[2])
	}
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	now := time.Now().Truncate(time.Minute) // one window
	for i := range 3000 {
		ts := now.UnixMilli() + int64(i)
		song, user := fmt.Sprint("song, \"", i%7, "\" é"), int64(1+i*i%997)
		if i%500 == 499 {
			ts -= 2 * 24 * 3600 * 1000 // late
		}
		value := map[string][]byte{"json": fmt.Appendf(nil, `{"ts":%d,"song":%q,"user":%d}`, ts, song, user)}
		value["avro"] = append(schematest.Prefix(schema["avro"]), playAt(ts, song, user)...)
		b := append(schematest.Prefix(schema[[]string{"protobuf", "newer"}[i/1000%2]]), 0, 1<<3)
		b = varint.AppendUvarint(b, uint64(ts))
		b = append(append(b, 2<<3|2, byte(len(song))), song...)
		value["protobuf"] = varint.AppendUvarint(append(b, 3<<3), uint64(user))
		value["tsv"] = fmt.Appendf(nil, "web\t%d\t%s\t%d\tmore", ts, song, user)
		value["csv"] = fmt.Appendf(nil, "\"%s\",%d,%d\r\n", strings.ReplaceAll(song, `"`, `""`), user, ts)
		value["glue"] = glue(playAt(ts, song, user), i%3 == 0)
		value["text"] = fmt.Appendf(nil, `{"play":%s}`, strconv.Quote(string(value["json"])))
		for _, format := range formats {
			records = append(records, &kgo.Record{Topic: "plays_" + format, Timestamp: now, Value: value[format]})
		}
	}
	if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}

	registry.Be(schematest.Away)
	s.done(t, "migrate") // which does not need it
	if n := registry.Requests(); n != 0 {
		t.Errorf("migrate asks the registry %d times", n)
	}
	cmd, out, ended := s.start(t, "run", "--until", "end")
	await.Until(t, func() error {
		if log := out.String(); !strings.Contains(log, "schema registry: outage") || !strings.Contains(log, "partition 0 waits at offset 0") {
			return fmt.Errorf("the log does not say that the registry is away:\n%s", log)
		}
		return nil
	})
	registry.Be(schematest.Forgets)
	asked := registry.Requests()
	await.Until(t, func() error {
		if n := registry.Requests(); n < asked+3 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	registry.Be(schematest.Well)
	if code := ends(t, cmd, ended); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	rows := map[string]string{}
	for _, format := range formats {
		rows[format], err = localtest.Query(s.engine, s.database, "SELECT window_start, song, hits, users, total FROM plays_"+format+"_1m ORDER BY ALL FORMAT TSV")
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(strings.Split(strings.TrimSpace(rows["json"]), "\n")); n != 7 {
		t.Errorf("%d rows:\n%s", n, rows["json"])
	}
	for _, format := range formats[1:] {
		if rows[format] != rows["json"] {
			t.Errorf("%s:\n%sjson:\n%s%s", format, rows[format], rows["json"], out)
		}
	}
	letters, err := localtest.Query(s.engine, s.database, "SELECT job, count(), sum(offset), any(outcome) FROM weir_dead_letters FINAL GROUP BY job ORDER BY job FORMAT TSV")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range formats {
		if want := "plays_" + format + "\t6\t10494\tlate\n"; !strings.Contains(letters+"\n", want) {
			t.Errorf("the dead letters are\n%swithout\n%s", letters, want)
		}
	}

	// What explains a finding, and spoils a repair, is said first.
	if _, err := localtest.Query(s.engine, s.database, "ALTER TABLE plays_json_state MODIFY COLUMN hits TTL flushed_at + INTERVAL 90 DAY"); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "repair"} {
		if out := s.done(t, command); !strings.Contains(out, "note: job plays_json: table plays_json_state: the values of hits live by another TTL") {
			t.Errorf("weir %s does not name the TTL:\n%s", command, out)
		}
	}
}
