// Package floors tests which package may import which. The direction of imports
// is the architecture: the core can be simulated because it cannot reach a
// clock, and a sketch can be imported without a Kafka client because it cannot
// reach one.
package floors

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floor is the height of each package; a package imports only lower ones.
// A prefix ending in /... covers a subtree. First match wins.
var floor = []struct {
	path   string
	height float64
	why    string
}{
	{"weir/event", 0, "records and their fields, without a decision about them"},
	{"weir/sketches/internal/...", -1, "byte layouts that two sketches share"},
	{"weir/sketches/sketchtest", 1, "the laws that every sketch must obey"},
	{"weir/sketches/...", 0, "libraries for themselves"},
	{"weir/jobs/redislock", 2, "the lease over a Redis client"},
	{"weir/serve/resp", 0, "a protocol's reader and writer"},
	{"weir/serve/key", 1.5, "the grammar of window keys, which have times in them"},
	{"weir/serve/page", 2.5, "files for browsers"},
	{"weir/serve/live", 2.5, "memory and sink merged, for readers: it reads jobs"},
	{"weir/serve/redis", 3, "sketches behind Redis's commands, and live answers"},
	{"weir/serve/http", 3, "a running process over HTTP: status, metrics, live answers"},
	{"weir/window", 1, "the pure core"},
	{"weir/measures/face", 1.1, "what a kind of measure says of itself"},
	{"weir/measures/slots", 1.1, "what kinds that add up share"},
	{"weir/measures/texts", 1.1, "what kinds that keep values share"},
	{"weir/measures/bitmap", 1.2, "a kind whose states others have too"},
	{"weir/measures/extreme", 1.2, "the same"},
	{"weir/measures/measuretest", 1.2, "a few events, counted"},
	{"weir/measures", 1.4, "every kind"},
	{"weir/measures/...", 1.3, "a kind of measure, with all its faces, as pure as the core"},
	{"weir/flow", 1.25, "the order of a flush, as pure as the core"},
	{"weir/audit", 1.25, "what adds up, as pure as the core"},
	{"weir/flow/rounds", 1.25, "the order of rollups and writes, as pure as the core"},
	{"weir/ingest", 2.5, "Kafka, as a source of jobs"},
	{"weir/sinks/sinktest", 3, "one suite for every sink"},
	{"weir/sinks/clickhouse/native", 1, "ClickHouse's blocks as bytes"},
	{"weir/sinks/clickhouse/wire", 1.6, "the servers of a database, and statements to them"},
	{"weir/sinks/clickhouse/schema", 1.7, "tables and views of jobs"},
	{"weir/sinks/clickhouse/questions", 1.8, "what is asked of a job"},
	{"weir/sinks/clickhouse/verify", 1.8, "what adds up in a database"},
	{"weir/sinks/clickhouse/migrate", 1.9, "brings a database to what its jobs need: it makes the views of all rooms"},
	{"weir/sinks/...", 2, "where changes become durable"},
	{"weir/schemas/schematest", 3, "a registry for tests"},
	{"weir/schemas", 2, "the schemas of records, in files and registries"},
	{"weir/jobs", 2, "when things happen"},
	{"weir/demo/gen", 2, "traffic and its truth"},
	{"weir/internal/redistest", 3, "the real redis-server"},
	{"weir/internal/kafkatest", 3, "the real broker"},
	{"weir/config/presettest", 5, "its presets, for tests"},
	{"weir/config", 3, "the user's words"},
	{"weir/internal/grafana", 3, "dashboards for the configured jobs"},
	{"weir/internal/infer", 3, "a first job from the records of a topic"},
	{"weir/demo/local/...", 3, "embedded broker and engine"},
	{"weir/internal/spelling", 0, "guesses what a misspelt name was meant to be"},
	{"weir/internal/backoff", -1, "pauses after failures, without a clock"},
	{"weir/internal/hashtable", -1, "the one index of the core and the sketches"},
	{"weir/internal/counts", -1, "what the core and the histograms count keys with"},
	{"weir/internal/cacheline", -1, "keeps workers out of each other's cache lines"},
	{"weir/internal/bounded", 1.5, "reads files that a user has named, for every part"},
	{"weir/internal/zones", 1.5, "reads a file that is a part of the program"},
	{"weir/internal/samesite", 1.5, "refuses requests that another site makes a browser send, for every listener"},
	{"weir/internal/outage", 1.5, "log lines about outages, for every part with a clock"},
	{"weir/demo/child", 1.5, "child processes that end with this one"},
	{"weir/internal/await", 1.5, "how tests wait"},
	{"weir/internal/...", 5, "tests of the whole module, and what tests use"},
	{"weir/cmd/...", 4, "wiring"},
	{"weir/...", 5, "tests of the files at the top"},
}

// only names the packages that may import a foreign package, and the reason why others may
// not.
var only = []struct {
	foreign string
	by      []string
	why     string
}{
	{"github.com/segmentio/kafka-go", []string{"weir/ingest", "weir/cmd/weir"}, "one importer per client, so that it can be replaced; cmd produces for `weir gen`"},
	{"github.com/ClickHouse/clickhouse-go", []string{"weir/sinks/clickhouse/wire"}, "one importer per client"},
	{"github.com/spf13/viper", []string{"weir/config"}, "below the edge no package knows keys and environment variables"},
	{"github.com/twmb/franz-go", []string{"weir/demo/local"}, "the embedded broker; elsewhere it is the tests' oracle only"},
	{"github.com/twmb/avro", []string{"weir/schemas"}, "one importer per library: what reads records knows schemas as plain data only"},
	{"github.com/bufbuild/protocompile", []string{"weir/schemas"}, "the same"},
	{"google.golang.org/protobuf", []string{"weir/schemas"}, "the same"},
	{"github.com/ebitengine/purego", []string{"weir/demo/local"}, "the one place that loads foreign code"},
	{"hash/maphash", []string{"weir/sketches/geo", "weir/serve/redis"}, "random seeds: they decide where a table keeps a member, as in a map, and no result"},
	{"github.com/gomodule/redigo", []string{"weir/jobs/redislock", "weir/cmd/weir"}, "the lease over the Redis protocol, and the command that connects it"},
	{"github.com/chromedp", nil, "a browser for tests"},
	{"github.com/redis/go-redis", nil, "a test client: it would make the binary 7 MB larger"},
}

// exempt names what a package of the pure floors may import nevertheless.
var exempt = []struct{ path, imports, why string }{
	{"weir/sketches/internal/recycle", "sync", "workers share memory that is not in use: which piece of it is taken decides no value"},
}

// alone names the packages of this module that a package may import, where its
// floor would allow more.
var alone = []struct {
	path string
	uses []string
	why  string
}{
	{"weir/flow", []string{"weir/event", "weir/window", "weir/internal/backoff"}, "the order of a flush is pure, so that the simulator runs the same code: it knows the core only"},
	{"weir/audit", []string{"weir/event", "weir/window"}, "what adds up is a matter of numbers: no sink, no words, no remedy"},
	{"weir/flow/rounds", []string{"weir/event"}, "the simulator runs the same code: it knows no database"},
	{"weir/serve/key", []string{"weir/event", "weir/internal/spelling"}, "a grammar: every edge can have it"},
	{"weir/serve/live", []string{"weir/event", "weir/window", "weir/jobs", "weir/serve/key", "weir/internal/outage",
		"weir/measures", "weir/measures/face", "weir/sketches/geo"}, "it knows no protocol and no sink: it declares what it needs of one"},
	{"weir/serve/http", []string{"weir/jobs", "weir/serve/key", "weir/serve/live", "weir/serve/page", "weir/measures/face", "weir/sinks/clickhouse/questions", "weir/internal/samesite", "weir/internal/spelling"}, "answers come from live, and from views in the words of questions; no sketch, no window"},
	{"weir/serve/page", nil, "files: the page asks the API as every client does"},
	{"weir/serve/redis", []string{"weir/serve/resp", "weir/serve/key", "weir/serve/live", "weir/sketches/limits", "weir/measures/set", "weir/measures/quantile", "weir/measures/topk",
		"weir/sketches/hll", "weir/sketches/bitmap", "weir/sketches/bloom", "weir/sketches/geo"}, "commands on sketches; of jobs it knows live answers only"},
}

// knows names the packages of the program that may know one kind of measure, and what for. To all others a
// kind is what measures.Of says of it.
var knows = []struct{ path, kind, why string }{
	{"weir/serve/redis", "set", "commands on its answers"},
	{"weir/serve/redis", "quantile", "the same"},
	{"weir/serve/redis", "topk", "the same"},
}

// pure lists what the floors below 1.5 must not import: their results depend on
// their arguments alone.
var pure = []string{"time", "os", "net", "log", "context", "sync", "io/fs", "math/rand", "math/rand/v2"}

// foreignToPure are the modules that the floors below 1.5 may use.
var foreignToPure = []string{"github.com/RoaringBitmap/roaring", "github.com/cespare/xxhash", "golang.org/x/sys/cpu"}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "weir/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

func covers(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	}
	return pattern == path
}

func height(path string) float64 {
	for _, f := range floor {
		if covers(f.path, path) {
			return f.height
		}
	}
	return 5
}

// sameTree reports whether one package lies in the folder of the other: the
// rules treat a package and its subpackages as one.
func sameTree(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// TestRules: each rule is about a package that is there, and names packages that are there.
func TestRules(t *testing.T) {
	ps := list(t)
	there := func(name string, imports bool) bool {
		return slices.ContainsFunc(ps, func(p pkg) bool {
			return covers(name, p.ImportPath) || imports && slices.ContainsFunc(p.Imports, func(i string) bool { return strings.HasPrefix(i, name) })
		})
	}
	var names, foreign []string
	for _, f := range floor {
		names = append(names, f.path)
	}
	for _, rule := range only {
		names = append(names, rule.by...)
		if len(rule.by) > 0 { // the others are of tests
			foreign = append(foreign, rule.foreign)
		}
	}
	for _, e := range exempt {
		names, foreign = append(names, e.path), append(foreign, e.imports)
	}
	for _, rule := range alone {
		names = append(append(names, rule.path), rule.uses...)
	}
	for _, name := range names {
		if !there(name, false) {
			t.Errorf("a rule names %s, which is not there", name)
		}
	}
	for _, name := range append(foreign, foreignToPure...) {
		if !there(name, true) {
			t.Errorf("a rule is about %s, which nothing imports", name)
		}
	}
}

func TestFloors(t *testing.T) {
	ps := list(t)
	if len(ps) < 5 {
		t.Fatalf("only %d packages found: the test tests nothing", len(ps))
	}
	for _, p := range ps {
		h := height(p.ImportPath)
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, "weir/") {
				continue
			}
			if below := height(i); below >= h && !sameTree(i, p.ImportPath) {
				t.Errorf("%s (floor %v) imports %s (floor %v): only lower floors may be imported", p.ImportPath, h, i, below)
			}
		}
		if h < 1.5 && !strings.HasSuffix(p.ImportPath, "test") {
			for _, i := range p.Imports {
				excused := slices.ContainsFunc(exempt, func(e struct{ path, imports, why string }) bool { return e.path == p.ImportPath && e.imports == i })
				if !excused && slices.ContainsFunc(pure, func(q string) bool {
					return i == q || q != "log" && q != "os" && q != "time" && strings.HasPrefix(i, q+"/") && q != "sync"
				}) {
					t.Errorf("%s (floor %v) imports %s: the pure floors have no clock, chance or I/O", p.ImportPath, h, i)
				}
				foreign := strings.Contains(strings.SplitN(i, "/", 2)[0], ".")
				if foreign && !slices.ContainsFunc(foreignToPure, func(m string) bool { return strings.HasPrefix(i, m) }) {
					t.Errorf("%s (floor %v) imports %s: the pure floors use the standard library, roaring and a hash", p.ImportPath, h, i)
				}
			}
		}
		for _, rule := range alone {
			for _, i := range p.Imports {
				if p.ImportPath == rule.path && strings.HasPrefix(i, "weir/") && !slices.Contains(rule.uses, i) {
					t.Errorf("%s imports %s: of this module it may import only %v (%s)", p.ImportPath, i, rule.uses, rule.why)
				}
			}
		}
		for _, rule := range only {
			for _, i := range p.Imports {
				if strings.HasPrefix(i, rule.foreign) && h < 5 && !slices.ContainsFunc(rule.by, func(b string) bool { return covers(b, p.ImportPath) || strings.HasPrefix(p.ImportPath, b+"/") }) {
					t.Errorf("%s imports %s: only %v may (%s)", p.ImportPath, i, rule.by, rule.why)
				}
			}
		}
	}
}

// TestKinds: what only one kind of measure needs is in its folder, so that a new kind needs no change
// elsewhere: only the packages in knows import it.
func TestKinds(t *testing.T) {
	used := map[int]bool{}
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			kind, ok := strings.CutPrefix(imported, "weir/measures/")
			if !ok || kind == "face" || kind == "slots" || kind == "texts" || strings.HasPrefix(p.ImportPath, "weir/measures") || p.ImportPath == "weir/sinks/sinktest" {
				continue // sinktest is no part of the program: its job has a measure of each kind
			}
			at := slices.IndexFunc(knows, func(k struct{ path, kind, why string }) bool {
				return k.path == p.ImportPath && k.kind == kind
			})
			if at < 0 {
				t.Errorf("%s imports %s: what it needs of the kind belongs into the kind's folder", p.ImportPath, imported)
			}
			used[at] = true
		}
	}
	for i, k := range knows {
		if !used[i] {
			t.Errorf("%s does not import the kind %s any more: take it out of knows", k.path, k.kind)
		}
	}
}
