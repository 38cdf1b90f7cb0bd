package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// full is a configuration with every kind of key.
const full = `
kafka:
  brokers: [kafka-1:9092, kafka-2:9092]
  group: weir
  session: 10s
  on_data_loss: skip
clickhouse:
  urls: http://127.0.0.1:8123
  database: weir
http:
  listen: 127.0.0.1:8686
flush:
  interval: 1s
memory: 2GiB
jobs:
  - name: clicks
    version: 1
    topic: clicks
    format: json
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [{window: 1m, keep: 30d}, {window: 1h, keep: 400d}, 1d]
    lateness: 24h
    skew: 10m
    chunk: 262_144
    keep: 7d
    by: [page, {name: country, field: geo.country, default: ""}, geo.city]
    max_groups: 10000
    dedupe: {field: event_id, error: 0.0001}
    where: [{field: action, in: [view, 1, true]}]
    measures:
      - {name: users,  kind: hll,    field: user_id, optional: true}
      - {name: active, kind: bitmap, field: user_id}
      - {name: seen,   kind: bloom,  field: event_id, capacity: 100000}
  - name: locations
    topic: locations
    time: {field: ts}
    window: 1m
    by: [{name: cell, geohash: {lon: lon, lat: lat}}]
    measures:
      - {name: places, kind: geo, member: user_id, lon: lon, lat: lat}
`

func mustLoad(t *testing.T, o Options) (*Config, *Origins) {
	t.Helper()
	cfg, origins, err := Load(o)
	if err != nil {
		t.Fatalf("Load:\n%v", err)
	}
	return cfg, origins
}

// The forms that a shard has: the list of its replicas, an entry, or one address.
const (
	shardLists   = "clickhouse: {shards: [[http://a:8123, http://b:8123], [http://c:8123]]}"
	shardEntries = "clickhouse: {shards: [{urls: [http://a:8123, http://b:8123]}, http://c:8123]}"
)

// TestShards: the forms of a shard mean the same, and the default of urls does not count as given.
func TestShards(t *testing.T) {
	for _, text := range []string{shardLists, shardEntries} {
		cfg, _ := mustLoad(t, Options{File: "weir.yaml", Data: []byte(text), NoJobs: true})
		want := [][]string{{"http://a:8123", "http://b:8123"}, {"http://c:8123"}}
		if got := cfg.ClickHouse.Addresses(); !slices.EqualFunc(got, want, slices.Equal[[]string]) || cfg.ClickHouse.URLs != nil {
			t.Errorf("%s: %v and urls %v", text, got, cfg.ClickHouse.URLs)
		}
	}
	_, _, err := Load(Options{File: "weir.yaml", Data: []byte("clickhouse: {shards: [http://a:8123, http://b:8123]}"), Env: []string{"WEIR_CLICKHOUSE_URLS=http://c:8123"}, NoJobs: true})
	if err == nil || !strings.Contains(err.Error(), "urls is given too") {
		t.Errorf("a variable beside shards: %v", err)
	}
}

func flagsOf(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestPrecedence(t *testing.T) {
	const file = "flush: {interval: 2s}\nkafka: {brokers: [file:1]}\n"
	env := []string{"WEIR_FLUSH_INTERVAL=3s", "WEIR_KAFKA_BROKERS=env:1, env:2"}
	args := []string{"--flush.interval=4s", "--kafka.brokers", "flag:1", "--kafka.brokers", "flag:2,flag:3"}
	for _, tc := range []struct {
		name, data, want string
		env, args        []string
	}{
		{name: "default", want: "1s of , [127.0.0.1:9092] of "},
		{name: "file over default", data: file, want: "2s of weir.yaml:1:19, [file:1] of weir.yaml:2:18"},
		{name: "an empty variable is none", data: file, env: []string{"WEIR_FLUSH_INTERVAL="}, want: "2s of weir.yaml:1:19, [file:1] of weir.yaml:2:18"},
		{name: "environment over file", data: file, env: env, want: "3s of WEIR_FLUSH_INTERVAL, [env:1 env:2] of WEIR_KAFKA_BROKERS"},
		{name: "flag over environment", data: file, env: env, args: args, want: "4s of --flush.interval, [flag:1 flag:2 flag:3] of --kafka.brokers"},
	} {
		cfg, origins := mustLoad(t, Options{File: "weir.yaml", Data: []byte(tc.data), Env: tc.env, Flags: flagsOf(t, tc.args...), NoJobs: true})
		got := fmt.Sprintf("%s of %s, %s of %s", cfg.Flush.Interval, origins.Of("flush.interval").Where(), cfg.Kafka.Brokers, origins.Of("kafka.brokers").Where())
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestEndOfDocument: a document may begin and end as such, and nothing but comments follows it.
func TestEndOfDocument(t *testing.T) {
	const data = "---\nlog: {level: debug}\n... # the end\n\n# really\n...\n"
	if cfg, _ := mustLoad(t, Options{File: "weir.yaml", Data: []byte(data), NoJobs: true}); cfg.Log.Level != "debug" {
		t.Errorf("level %s", cfg.Log.Level)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "xdg", "weir", "weir.yaml")
	env := []string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "xdg")}

	if got, searched := Find("", env); got != "" || len(searched) != 3 || searched[1] != file {
		t.Errorf("nothing there: got %q, searched %q", got, searched)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{file, "weir.yaml"} { // the configuration home, then beside the user, which wins
		if err := os.WriteFile(place, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _ := Find("", env); got != place {
			t.Errorf("got %q, want %q", got, place)
		}
	}
	if got, _ := Find("", append(env, "WEIR_CONFIG=named.yaml")); got != "named.yaml" {
		t.Errorf("by variable: got %q", got)
	}
	if got, _ := Find("flag.yaml", append(env, "WEIR_CONFIG=named.yaml")); got != "flag.yaml" {
		t.Errorf("by flag: got %q", got)
	}
}
