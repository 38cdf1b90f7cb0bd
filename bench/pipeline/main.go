// Command pipeline measures the main job against the pipeline a Go programmer
// would write first: events per CPU-second, peak memory, on a real Kafka 4
// broker and the real ClickHouse engine, in one run.
//
//	make bench-pipeline            # ten million events
//	make bench-pipeline EVENTS=2000000
//	make bench-compare BUILDS=bin/weir,bin/weir-portable   # builds against each other
//	make bench-profile             # profiles of one build
//
// Each side reads the same topic in a process of its own; the measure is that
// process's user and system time. Each side reads the topic once before it is
// measured, because the first pass over a topic is slow for any reader. The
// naive side stores nothing. weir's side flushes to the engine, so it is measured
// twice: alone, and together with the time that the engine used until it had nothing
// more to merge.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/axiomhq/hyperloglog"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/testbed"
	"weir/demo/gen"
)

var (
	bench  = testbed.Command("pipeline")
	events = flag.Int64("events", 10_000_000, "events in the topic")
	rounds = flag.Int("rounds", 3, "measured rounds a side; the best counts")
	builds = flag.String("compare", "", "weir binaries, separated by commas, to measure against each other instead")
	packed = flag.Bool("lz4", false, "with -compare: a compressed topic")
	naive  = flag.String("naive", "", "internal: read this topic the naive way")
	addr   = flag.String("brokers", "", "internal: where")
)

// counting is the number of rounds before those that are measured. Each stops the merges
// of the rollup and counts its rows; the median counts, because the end of a run may
// break off a rollup, which is then made again.
const counting = 3

// mostMiB is the most memory that weir may take.
const mostMiB = 96

// mostRMS is the greatest error of users that windows and pages may have, as the root of the mean of its
// square. That of an HLL is half of it: a number that lacks some events shows in it, and not in any count of events.
const mostRMS = 0.012

// A side is one measured process.
type side struct {
	testbed.Process
	engine time.Duration // the CPU time of the engine
}

func (s side) perSecond() float64   { return float64(*events) / s.total().Seconds() }
func (s side) total() time.Duration { return s.CPU + s.engine }

func main() { bench.Main(run) }

func run(ctx context.Context) error {
	if *naive != "" {
		return readNaively(ctx, *naive)
	}
	g, err := testbed.New()
	if err != nil {
		return err
	}
	defer g.Close()
	if *builds != "" {
		codec := kgo.NoCompression()
		if *packed {
			codec = kgo.Lz4Compression()
		}
		var counted users
		if err := g.Fill(ctx, "clicks", codec, gen.Clicks, testbed.Traffic(2_000_000, *events), 10*time.Minute, counted.add); err != nil {
			return err
		}
		return compare(g, "clicks", list(*builds), &counted)
	}

	var report testbed.Report
	report.Say("# %d events of about 190 bytes, 1,000 Zipf pages, 2 million users, %d partitions, Kafka 4, flush to the real ClickHouse", *events, testbed.Partitions)
	report.SayWhere()
	report.Say("# the engine's CPU is that of inserts, rollups and all merges; its peak MiB since its start")
	report.Say("%-6s %-14s %14s %8s %8s %9s", "codec", "side", "events/CPU-s", "CPU s", "wall s", "peak MiB")
	var missed []string
	for _, c := range []struct {
		name         string
		codec        kgo.CompressionCodec
		alone, whole float64 // floors
	}{{"none", kgo.NoCompression(), 13, 6}, {"lz4", kgo.Lz4Compression(), 13, 6}} {
		topic := "clicks_" + c.name
		var counted users
		if err := g.Fill(ctx, topic, c.codec, gen.Clicks, testbed.Traffic(2_000_000, *events), 10*time.Minute, counted.add); err != nil {
			return err
		}
		var alone, ours, theirs side // the best round of each
		var disk, peak int64         // peak: the greatest of weir alone
		var rows []float64
		var rms float64                         // the greatest
		for round := range *rounds + counting { // the first ones warm up, and count rows
			// The sides take turns, so that a noisy minute slows down both.
			var t side
			if round == 0 || round >= counting {
				if t.Process, err = testbed.Measure(exec.Command(os.Args[0], "-naive", topic, "-brokers", g.Broker, "-events", strconv.FormatInt(*events, 10))); err != nil {
					return fmt.Errorf("naive side: %w", err)
				}
			}
			o, w, err := readWithWeir(g, bench.Weir, "bench", topic, round+1, round < counting, &counted)
			if err != nil {
				return fmt.Errorf("weir's side: %w", err)
			}
			if rms = max(rms, w.rms); round < counting {
				rows = append(rows, float64(w.rows)/float64(w.keys))
				continue
			}
			if theirs.CPU == 0 || t.CPU < theirs.CPU {
				theirs = t
			}
			if ours.CPU == 0 || o.total() < ours.total() {
				ours = o
			}
			if alone.CPU == 0 || o.CPU < alone.CPU {
				alone = o
				alone.engine = 0
			}
			disk, peak = w.disk, max(peak, o.Peak)
		}
		alone.Peak = peak
		say := func(name string, s side) {
			report.Say("%-6s %-14s %14.0f %8.2f %8.2f %9.0f", c.name, name, s.perSecond(), s.total().Seconds(), s.Wall.Seconds(), float64(s.Peak)/(1<<20))
		}
		say("naive", theirs)
		say("weir", alone)
		ours.Peak = g.Engine.Peak()
		say("weir + engine", ours)
		ratio, whole := alone.perSecond()/theirs.perSecond(), ours.perSecond()/theirs.perSecond()
		perKey := testbed.Median(rows)
		report.Say("%-6s ratio %.1f (floor %.0f), with the engine %.1f (floor %.0f); peak of weir %.0f MiB (floor %d)", c.name, ratio, c.alone, whole, c.whole, float64(alone.Peak)/(1<<20), mostMiB)
		report.Say("%-6s %.2f rollup rows for each window and page (floor 1.1); %.1f bytes on disk for each event; rms error of users %.2f %% (floor %.1f)", c.name, perKey, float64(disk)/float64(*events), 100*rms, 100*mostRMS)
		for _, floor := range []struct {
			of     string
			missed bool
		}{{"ratio", ratio < c.alone}, {"ratio with the engine", whole < c.whole}, {"peak of weir", alone.Peak > mostMiB<<20}, {"rollup rows", perKey > 1.1}, {"error of users", rms > mostRMS}} {
			if floor.missed {
				missed = append(missed, "codec "+c.name+": "+floor.of)
			}
		}
	}
	return bench.Save(&report, missed)
}

// written is what a run left in the engine.
type written struct {
	rows, keys int64 // of the rollup: rows before any merge, and (window, page) pairs
	disk       int64 // bytes of all tables, merged
	rms        float64
}

// readWithWeir reads the topic to its end with a build of weir, into tables and a group
// of its own, and compares the total. Each build has a database of its own, which it migrates,
// because another build may not read its tables. With count, it stops the merges of the rollup
// meanwhile, so that each row that is written can be counted.
func readWithWeir(g *testbed.Bed, weir, database, topic string, round int, count bool, counted *users) (s side, w written, err error) {
	file := filepath.Join(g.Dir, topic+".yaml")
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: bench}
clickhouse: {urls: %q, database: %s}
http: {listen: "127.0.0.1:0"}
jobs:
  - name: %s
    version: %d
    topic: %s
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [1m]
    by: [page]
    measures: [{name: users, kind: hll, field: user_id}]
`, g.Broker, g.Engine.URL, database, topic, round, topic)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return s, w, err
	}
	if out, err := exec.Command(weir, "migrate", "-c", file).CombinedOutput(); err != nil {
		return s, w, fmt.Errorf("migrate: %w\n%s", err, out)
	}
	tables := topic
	if round > 1 {
		tables += fmt.Sprint("_v", round)
	}
	rollup := database + "." + tables + "_1m_rollup"
	if count {
		if _, err := g.Engine.Query("SYSTEM STOP MERGES " + rollup); err != nil {
			return s, w, err
		}
	}
	before := g.Engine.CPU()
	s.Process, err = testbed.Measure(exec.Command(weir, "run", "-c", file, "--until", "end"))
	if err != nil {
		return s, w, err
	}
	g.Engine.Settle()
	s.engine = g.Engine.CPU() - before
	for sql, want := range map[string]*int64{
		"SELECT count() FROM " + rollup: &w.rows,
		"SELECT count() FROM (SELECT DISTINCT page, window_start FROM " + rollup + ")":                                                                                 &w.keys,
		"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = '" + database + "' AND table IN ('" + tables + "_state', '" + tables + "_1m_rollup')": &w.disk,
	} {
		if *want, err = number(g, sql); err != nil {
			return s, w, err
		}
	}
	got, err := number(g, "SELECT sum(hits) FROM "+database+"."+topic+"_1m")
	if err == nil && got != *events {
		err = fmt.Errorf("%d events counted, want %d", got, *events)
	}
	if err == nil {
		var text string
		if text, err = g.Engine.Query("SELECT toUnixTimestamp(window_start), page, users FROM " + database + "." + topic + "_1m FORMAT TSV"); err == nil {
			w.rms, err = counted.rms(text)
		}
	}
	return s, w, err
}

func number(g *testbed.Bed, sql string) (int64, error) {
	text, err := g.Engine.Query(sql)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// readNaively is the naive side: kafka-go's Reader, encoding/json, a map of
// sketches.
func readNaively(ctx context.Context, topic string) error {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{*addr}, Topic: topic, GroupID: fmt.Sprint("naive-", time.Now().UnixNano()),
		StartOffset: kafka.FirstOffset, MaxBytes: 4 << 20, MaxWait: 500 * time.Millisecond,
	})
	type click struct {
		TS     int64       `json:"ts"`
		UserID json.Number `json:"user_id"`
		Page   string      `json:"page"`
	}
	type key struct {
		minute int64
		page   string
	}
	type cell struct {
		hits  uint64
		users *hyperloglog.Sketch
	}
	cells := map[key]*cell{}
	for n := int64(0); n < *events; n++ {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var c click
		if err := json.Unmarshal(m.Value, &c); err != nil {
			return err
		}
		k := key{c.TS / 60_000, c.Page}
		at := cells[k]
		if at == nil {
			at = &cell{users: hyperloglog.New14()}
			cells[k] = at
		}
		at.hits++
		at.users.Insert([]byte(c.UserID))
	}
	// The process ends without Reader.Close, which can wait for seconds.
	fmt.Println(len(cells))
	return nil
}
