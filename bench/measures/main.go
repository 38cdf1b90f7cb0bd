// Command measures measures what kinds of measures cost in the clicks job: events per
// CPU-second with and without them, on a real Kafka 4 broker and the real ClickHouse
// engine, in one run.
//
//	make bench-measures
//	make bench-measures EVENTS=2000000
//
// Every job reads the same topic to its end, and they take turns. It fails if all of them
// together cost more than the floors say.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/testbed"
	"weir/demo/gen"
)

var (
	bench  = testbed.Command("measures")
	events = flag.Int64("events", 5_000_000, "events in the topic")
	rounds = flag.Int("rounds", 3, "measured rounds, behind one that is not; the best counts")
	kinds  = flag.String("kinds", "sum,quantile,topk,set", "what is measured, each alone and all together; the floors are of these four")
)

// The floors: how much smaller the number of events per CPU-second may become.
const (
	mostAlone = 0.20 // of weir
	mostWhole = 0.35 // of weir and the engine
)

// usual is what the job has anyway.
const usual = "{name: users, kind: hll, field: user_id}, {name: active, kind: bitmap, field: user_id}"

// added are the measures whose cost is measured: each alone, and all together.
var added = []struct{ name, measure string }{
	{"sum", "{name: id_sum, kind: sum, field: user_id}"},
	{"quantile", "{name: ids, kind: quantile, field: user_id}"},
	{"topk", "{name: countries, kind: topk, field: country, k: 10}"},
	{"set", "{name: people, kind: set, field: user_id}"},
}

// A variant is the job with some measures, and the least cost of its rounds.
type variant struct {
	name, measures string
	weir           testbed.Process
	engine         time.Duration
}

func (v *variant) alone() float64 { return float64(*events) / v.weir.CPU.Seconds() }
func (v *variant) whole() float64 { return float64(*events) / (v.weir.CPU + v.engine).Seconds() }

func main() { bench.Main(run) }

func run(ctx context.Context) error {
	var known []string
	for _, a := range added {
		known = append(known, a.name)
	}
	wanted := strings.Split(*kinds, ",")
	for _, kind := range wanted {
		if !slices.Contains(known, kind) {
			return fmt.Errorf("-kinds %s: %q is none of %s", *kinds, kind, strings.Join(known, ", "))
		}
	}
	g, err := testbed.New()
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Fill(ctx, "clicks", kgo.NoCompression(), gen.Clicks, testbed.Traffic(2_000_000, *events), 10*time.Minute, nil); err != nil {
		return err
	}
	variants := []*variant{{name: "without", measures: usual}}
	all, names := []string{usual}, []string{}
	for _, a := range added {
		if !slices.Contains(wanted, a.name) {
			continue
		}
		variants = append(variants, &variant{name: "with " + a.name, measures: usual + ", " + a.measure})
		all, names = append(all, a.measure), append(names, a.name)
	}
	last := variants[len(variants)-1]
	if len(names) > 1 {
		last = &variant{name: "with " + strings.Join(names, ", "), measures: strings.Join(all, ", ")}
		variants = append(variants, last)
	}
	for round := range *rounds + 1 {
		for i, v := range variants {
			weir, engine, err := read(g, v.measures, round*len(variants)+i+1)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d, %s: weir %.2f CPU s, engine %.2f\n", round, v.name, weir.CPU.Seconds(), engine.Seconds())
			if round == 1 || round > 1 && weir.CPU < v.weir.CPU {
				v.weir = weir
			}
			if round == 1 || round > 1 && engine < v.engine {
				v.engine = engine
			}
		}
	}

	var report testbed.Report
	report.Say("# %d clicks, 1,000 Zipf pages, 2 million users, %d partitions, Kafka 4; users as HLL and bitmap, and what is named; the least of %d rounds in turns", *events, testbed.Partitions, *rounds)
	report.SayWhere()
	report.Say("%-32s %12s %10s %8s %12s %14s %9s", "job", "events/CPU-s", "less", "engine s", "with engine", "less", "peak MiB")
	base := variants[0]
	for _, v := range variants {
		report.Say("%-32s %12.0f %9.1f%% %8.2f %12.0f %13.1f%% %9.0f", v.name, v.alone(), 100*(1-v.alone()/base.alone()), v.engine.Seconds(),
			v.whole(), 100*(1-v.whole()/base.whole()), float64(v.weir.Peak)/(1<<20))
	}
	alone, whole := 1-last.alone()/base.alone(), 1-last.whole()/base.whole()
	report.Say("%s: %.1f %% fewer events per CPU-second (at most %.0f), %.1f %% with the engine (at most %.0f)", last.name, 100*alone, 100*mostAlone, 100*whole, 100*mostWhole)
	var missed []string
	if alone > mostAlone {
		missed = append(missed, "cost in weir")
	}
	if whole > mostWhole {
		missed = append(missed, "cost with the engine")
	}
	return bench.Save(&report, missed)
}

// read reads the topic to its end into a database of its own.
func read(g *testbed.Bed, measures string, round int) (weir testbed.Process, engine time.Duration, err error) {
	database := fmt.Sprint("bench", round)
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: bench}
clickhouse: {urls: %q, database: %s}
http: {listen: "127.0.0.1:0"}
jobs:
  - name: clicks
    version: %d
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [1m]
    by: [page]
    measures: [%s]
    topic: clicks
`, g.Broker, g.Engine.URL, database, round, measures)
	return bench.Read(g, config, database, *events)
}
