// Command groups measures a job with many groups of few events: a million events in about
// 750,000 groups (window and page), read by weir and stored in the ClickHouse engine, on a
// real Kafka 4 broker, in one run.
//
//	make bench-groups
//
// It measures the CPU time of weir and of the engine until the engine has nothing more to
// merge, the greatest memory of both, and bytes on disk. The counts are compared with what
// was sent. It fails over a floor.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/ground"
	"weir/gen"
)

var (
	bench  = ground.Command("groups")
	events = flag.Int64("events", 1_000_000, "events in the topic")
	pages  = flag.Int("pages", 160_000, "pages, each as likely as the others")
	rounds = flag.Int("rounds", 3, "measured rounds, behind one that is not; the best counts")
)

// The floors.
const (
	mostCPU  = 5 * time.Second // weir and engine
	mostPeak = 256 << 20       // bytes, of weir
)

func main() { bench.Main(run) }

func run(ctx context.Context) error {
	g, err := ground.New()
	if err != nil {
		return err
	}
	defer g.Close()
	cfg := ground.Traffic(2_000_000, *events)
	cfg.Pages, cfg.Skew = *pages, 0
	if err := g.Fill(ctx, "clicks", kgo.NoCompression(), gen.Clicks, cfg, 10*time.Minute, nil); err != nil {
		return err
	}
	var report ground.Report
	report.Say("# %d events of 10 minutes on %d pages, all alike, %d partitions, Kafka 4; the first round is not measured", *events, *pages, ground.Partitions)
	report.SayWhere()
	report.Say("%-6s %8s %8s %9s %8s %8s %9s %11s %12s %12s", "round", "weir s", "engine s", "total s", "wall s", "weir MiB", "eng. MiB", "groups", "state B/row", "rollup B/row")
	var best ground.Process
	var least time.Duration
	for round := range *rounds + 1 {
		o, err := read(g, round+1)
		if err != nil {
			return err
		}
		report.Say("%-6d %8.2f %8.2f %9.2f %8.2f %8.0f %9.0f %11d %12.1f %12.1f", round, o.weir.CPU.Seconds(), o.engine.Seconds(), (o.weir.CPU + o.engine).Seconds(), o.weir.Wall.Seconds(),
			float64(o.weir.Peak)/(1<<20), float64(g.Engine.Peak())/(1<<20), o.groups, o.state/float64(o.groups), o.rollup/float64(o.groups))
		if total := o.weir.CPU + o.engine; round > 0 && (least == 0 || total < least) {
			least, best = total, o.weir
		}
	}
	report.Say("weir + engine %.2f s (floor %.0f), peak of weir %.0f MiB (floor %d)", least.Seconds(), mostCPU.Seconds(), float64(best.Peak)/(1<<20), mostPeak>>20)
	var missed []string
	if least > mostCPU {
		missed = append(missed, "CPU")
	}
	if best.Peak > mostPeak {
		missed = append(missed, "peak of weir")
	}
	return bench.Save(&report, missed)
}

// An outcome is what one reading of the topic cost, and what it left.
type outcome struct {
	weir          ground.Process
	engine        time.Duration
	groups        int64
	state, rollup float64 // bytes on disk, merged
}

// read reads the topic to its end, into tables and a group of its own.
func read(g *ground.Ground, round int) (o outcome, err error) {
	file := filepath.Join(g.Dir, "groups.yaml")
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: bench}
clickhouse: {urls: %q, database: bench%d}
http: {listen: "127.0.0.1:0"}
jobs:
  - name: clicks
    version: %[3]d
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [1m]
    max_groups: 1000000
    by: [page]
    measures: [{name: users, kind: hll, field: user_id}]
    topic: clicks
`, g.Broker, g.Engine.URL, round)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return o, err
	}
	if err := bench.Migrate(file); err != nil {
		return o, err
	}
	before := g.Engine.CPU()
	if o.weir, err = ground.Measure(exec.Command(bench.Weir, "run", "-c", file, "--until", "end")); err != nil {
		return o, err
	}
	g.Engine.Settle()
	o.engine = g.Engine.CPU() - before
	database := fmt.Sprint("bench", round)
	if err := g.Engine.Check(*events, database+".clicks_1m"); err != nil {
		return o, err
	}
	for sql, into := range map[string]any{
		"SELECT count() FROM " + database + ".clicks_1m": &o.groups,
		"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table LIKE '%\\\\_state' AND database = '" + database + "'":        &o.state,
		"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table LIKE 'clicks%\\\\_rollup' AND database = '" + database + "'": &o.rollup,
	} {
		text, err := g.Engine.Query(sql)
		if err == nil {
			_, err = fmt.Sscan(text, into)
		}
		if err != nil {
			return o, fmt.Errorf("%s: %w", sql, err)
		}
	}
	// The next round begins with an engine that has nothing else to do.
	_, err = g.Engine.Query("DROP DATABASE " + database + " SYNC")
	return o, err
}
