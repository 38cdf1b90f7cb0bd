package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestLoadReadsEveryKindOfKey(t *testing.T) {
	cfg, _ := mustLoad(t, Options{File: "weir.yaml", Data: []byte(full)})
	const minute, hour = Duration(time.Minute), Duration(time.Hour)
	empty := ""
	want := &Config{
		Kafka: Kafka{
			Brokers: []string{"kafka-1:9092", "kafka-2:9092"}, Group: "weir", Session: Duration(10 * time.Second),
			OnDataLoss: "skip", ConnectTimeout: minute,
		},
		ClickHouse: ClickHouse{
			URLs: []string{"http://127.0.0.1:8123"}, Database: "weir", User: "default",
			ConnectTimeout: minute, InsertTimeout: minute / 3,
		},
		HTTP:   HTTP{Listen: "127.0.0.1:8686"},
		Flush:  Flush{Interval: Duration(time.Second), StopTimeout: minute / 4},
		Rollup: Rollups{Interval: Duration(2 * time.Second)},
		Audit:  Audit{Interval: Duration(time.Hour)},
		Memory: 2 << 30,
		Log:    Log{Level: "info", Format: "auto"},
		Jobs: []Job{{
			Place: "jobs[0]",
			Name:  "clicks", Version: 1, Topic: "clicks", Format: "json", Time: Time{"ms", []string{"ts"}},
			Window: minute, Rollups: []Rollup{{minute, 30 * day, 7 * day}, {hour, 400 * day, 7 * day}, {day, 0, 7 * day}},
			Lateness: day, Skew: 10 * minute, Chunk: 1 << 18, Keep: 7 * day,
			Where: []Where{{Field: []string{"action"}, In: []string{"view", "1", "true"}}},
			By: []Column{
				{Name: "page", Field: []string{"page"}},
				{Name: "country", Field: []string{"geo.country"}, Default: &empty},
				{Name: "geo_city", Field: []string{"geo.city"}},
			},
			MaxGroups: 10000, Dedupe: &Dedupe{Field: []string{"event_id"}, Error: 0.0001},
			Measures: []Measure{
				{Name: "users", Kind: "hll", Field: []string{"user_id"}, Optional: true},
				{Name: "active", Kind: "bitmap", Field: []string{"user_id"}},
				{Name: "seen", Kind: "bloom", Field: []string{"event_id"}, Capacity: 100000, Error: 0.01},
			},
		}, {
			Place: "jobs[1]",
			Name:  "locations", Version: 1, Topic: "locations", Format: "json", Time: Time{"ms", []string{"ts"}},
			Window: minute, Rollups: []Rollup{{minute, 0, 7 * day}},
			Lateness: day, Skew: 10 * minute, Chunk: 1 << 18, Keep: 7 * day, MaxGroups: 10000,
			By:       []Column{{Name: "cell", Geohash: &Geohash{[]string{"lon"}, []string{"lat"}, 5}}},
			Measures: []Measure{{Name: "places", Kind: "geo", Member: []string{"user_id"}, Lon: []string{"lon"}, Lat: []string{"lat"}}},
		}},
	}
	if diff := cmp.Diff(want, cfg, cmp.AllowUnexported(Secret{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestShards: a shard is the list of its replicas, or one address. What is printed loads again,
// and the default of urls does not count as given.
func TestShards(t *testing.T) {
	for _, text := range []string{
		"clickhouse: {shards: [[http://a:8123, http://b:8123], [http://c:8123]]}",
		"clickhouse: {shards: [{urls: [http://a:8123, http://b:8123]}, http://c:8123]}",
	} {
		cfg, origins := mustLoad(t, Options{File: "weir.yaml", Data: []byte(text), NoJobs: true})
		want := [][]string{{"http://a:8123", "http://b:8123"}, {"http://c:8123"}}
		if got := cfg.ClickHouse.Addresses(); !slices.EqualFunc(got, want, slices.Equal[[]string]) || cfg.ClickHouse.URLs != nil {
			t.Errorf("%s: %v and urls %v", text, got, cfg.ClickHouse.URLs)
		}
		var printed strings.Builder
		if err := Print(&printed, cfg, origins); err != nil {
			t.Fatal(err)
		}
		again, _ := mustLoad(t, Options{File: "weir.yaml", Data: []byte(printed.String()), NoJobs: true})
		if diff := cmp.Diff(cfg, again, cmp.AllowUnexported(Secret{})); diff != "" {
			t.Errorf("printed and loaded again: %s\n%s", diff, printed.String())
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
	for _, tc := range []struct {
		name       string
		data       string
		env, args  []string
		interval   string
		brokers    []string
		where      string
		whereOfTwo string
	}{
		{name: "default", interval: "1s", brokers: []string{"127.0.0.1:9092"}, where: "default", whereOfTwo: "default"},
		{
			name: "file over default", data: file,
			interval: "2s", brokers: []string{"file:1"}, where: "weir.yaml:1:19", whereOfTwo: "weir.yaml:2:18",
		},
		{
			name: "environment over file", data: file, env: []string{"WEIR_FLUSH_INTERVAL=3s", "WEIR_KAFKA_BROKERS=env:1, env:2"},
			interval: "3s", brokers: []string{"env:1", "env:2"}, where: "WEIR_FLUSH_INTERVAL", whereOfTwo: "WEIR_KAFKA_BROKERS",
		},
		{
			name: "flag over environment", data: file, env: []string{"WEIR_FLUSH_INTERVAL=3s", "WEIR_KAFKA_BROKERS=env:1"},
			args:     []string{"--flush.interval=4s", "--kafka.brokers", "flag:1", "--kafka.brokers", "flag:2,flag:3"},
			interval: "4s", brokers: []string{"flag:1", "flag:2", "flag:3"}, where: "--flush.interval", whereOfTwo: "--kafka.brokers",
		},
		{
			name: "an empty variable is none", data: file, env: []string{"WEIR_FLUSH_INTERVAL="},
			interval: "2s", brokers: []string{"file:1"}, where: "weir.yaml:1:19", whereOfTwo: "weir.yaml:2:18",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Options{Env: tc.env, Flags: flagsOf(t, tc.args...), NoJobs: true}
			if tc.data != "" {
				o.File, o.Data = "weir.yaml", []byte(tc.data)
			}
			cfg, origins := mustLoad(t, o)
			if got := cfg.Flush.Interval.String(); got != tc.interval {
				t.Errorf("flush.interval %s, want %s", got, tc.interval)
			}
			if got := origins.Of("flush.interval").String(); got != tc.where {
				t.Errorf("flush.interval from %s, want %s", got, tc.where)
			}
			if diff := cmp.Diff(tc.brokers, cfg.Kafka.Brokers); diff != "" {
				t.Errorf("kafka.brokers -want +got\n%s", diff)
			}
			if got := origins.Of("kafka.brokers").String(); got != tc.whereOfTwo {
				t.Errorf("kafka.brokers from %s, want %s", got, tc.whereOfTwo)
			}
		})
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
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := Find("", env); got != file {
		t.Errorf("in the configuration home: got %q, want %q", got, file)
	}
	if err := os.WriteFile("weir.yaml", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := Find("", env); got != "weir.yaml" {
		t.Errorf("beside the user: got %q", got)
	}
	if got, _ := Find("", append(env, "WEIR_CONFIG=named.yaml")); got != "named.yaml" {
		t.Errorf("by variable: got %q", got)
	}
	if got, _ := Find("flag.yaml", append(env, "WEIR_CONFIG=named.yaml")); got != "flag.yaml" {
		t.Errorf("by flag: got %q", got)
	}
}
