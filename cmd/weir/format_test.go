package main

import (
	"bytes"
	varint "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/local/localtest"
	"weir/internal/await"
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
		var findings []diagnostic
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
	for _, words := range []string{"ok registry " + registry.URL + ": it answers", "6 records, the newest of 1 partitions: counted 3 (50.0 %), malformed 2 (33.3 %), waits 1 (16.7 %); weir run waits at a record whose schema",
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
