package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/config"
	"weir/demo/gen"
	"weir/event"
	"weir/internal/spelling"
)

func genCommand() *cobra.Command {
	o := generation{Config: gen.Default()}
	c := &cobra.Command{
		Use:   "gen",
		Short: "Produce traffic whose exact counts are known",
		Long: `Produce click or location events into a topic. The same flags make the same
events; --truth writes the exact answer per window and group, to compare with
what ClickHouse says.`,
		Example: "  weir gen --topic clicks --rate 5000\n  weir gen --topic clicks --rate 0 --events 1000000 --duplicates 0.01 --truth truth.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			if env := os.Getenv("WEIR_KAFKA_BROKERS"); env != "" && !c.Flags().Changed("kafka.brokers") {
				o.brokers = strings.Split(env, ",")
			}
			return o.run(c.Context(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.brokers, "kafka.brokers", []string{"127.0.0.1:9092"}, "addresses (host:port) of brokers; also $WEIR_KAFKA_BROKERS")
	f.StringVar(&o.topic, "topic", "clicks", "topic to produce to; made with --partitions if it is missing")
	f.StringVar(&o.kind, "kind", "", "clicks or locations (default: the topic's name)")
	f.IntVar(&o.partitions, "partitions", upPartitions, "partitions of a topic that is made")
	f.StringVar(&o.codec, "compression", "lz4", "none, gzip, snappy, lz4 or zstd")
	f.Int64Var(&o.rate, "rate", 1000, "events per second; 0: as fast as possible")
	f.Int64Var(&o.Events, "events", 0, "how many; 0: until stopped")
	f.Uint64Var(&o.Seed, "seed", 1, "another seed makes other traffic")
	f.Int64Var(&o.Users, "users", o.Users, "how many people there are")
	f.IntVar(&o.Pages, "pages", o.Pages, "how many pages there are")
	f.Float64Var(&o.Skew, "skew", o.Skew, "the views of page n are in proportion to n^-skew (Zipf)")
	f.DurationVar(&o.disorder, "disorder", 2*time.Second, "events come up to this long after they happened")
	f.DurationVar(&o.start, "start", 0, "begin this long ago")
	f.Float64Var(&o.LateShare, "late", 0, "share of events from long ago")
	f.Float64Var(&o.FutureShare, "future", 0, "share of events from the future, some from 2099")
	f.Float64Var(&o.DuplicateShare, "duplicates", 0, "share of events sent once more")
	f.Float64Var(&o.MalformedShare, "malformed", 0, "share of events that cannot be read")
	f.StringVar(&o.truth, "truth", "", "write the exact answer to this file, as JSON lines")
	f.DurationVar(&o.window, "truth.window", time.Minute, "window of the truth")
	f.DurationVar(&o.lateness, "truth.lateness", 24*time.Hour, "lateness of the truth")
	f.DurationVar(&o.skew, "truth.skew", 10*time.Minute, "skew of the truth")
	f.BoolVar(&o.dedupe, "truth.dedupe", false, "count an event id once in the truth")
	return c
}

// A generation is what the flags of `weir gen` say.
type generation struct {
	gen.Config

	brokers     []string
	topic, kind string
	partitions  int
	codec       string
	rate        int64 // events per second; 0: as fast as possible

	start, disorder time.Duration

	truth                  string // file; empty: none
	window, lateness, skew time.Duration
	dedupe                 bool
}

// check returns the maker of the traffic, or the fault of the flags.
func (o *generation) check() (maker func(gen.Config) (*gen.Generator, error), err error) {
	if o.kind == "" {
		o.kind = o.topic
	}
	maker = map[string]func(gen.Config) (*gen.Generator, error){"clicks": gen.Clicks, "locations": gen.Locations}[o.kind]
	_, known := codecs[o.codec]
	hint := ""
	switch {
	case !known:
		err = fmt.Errorf("--compression %q: want none, gzip, snappy, lz4 or zstd", o.codec)
	case maker == nil:
		err, hint = fmt.Errorf("--kind %q: want clicks or locations", o.kind), "the topic's name is the kind unless --kind is given"
	case o.rate < 0:
		err = fmt.Errorf("--rate %d: want events per second, or 0 for as fast as possible", o.rate)
	case o.rate == 0 && o.Events == 0:
		err = errors.New("--rate 0 wants --events: how many?")
	case o.window < time.Millisecond:
		err = fmt.Errorf("--truth.window %s: want at least 1ms", o.window)
	case o.partitions < 1:
		err = fmt.Errorf("--partitions %d: want at least 1", o.partitions)
	}
	if err != nil {
		return nil, &exit{exitUsage, err, hint}
	}
	return maker, nil
}

// run produces the traffic, and writes its truth.
func (o *generation) run(ctx context.Context, out io.Writer) error {
	maker, err := o.check()
	if err != nil {
		return err
	}
	if o.rate > 0 {
		o.Rate = o.rate
	}
	o.Disorder = event.Time(o.disorder.Milliseconds())
	o.Start = event.Time(time.Now().Add(-o.start).UnixMilli())
	g, err := maker(o.Config)
	if err != nil {
		return &exit{exitUsage, errors.New(genFlags.Replace(err.Error())), ""}
	}
	p := &producer{brokers: o.brokers, topic: o.topic, partitions: o.partitions, codec: o.codec, paced: o.rate > 0,
		log: newLog(out, config.Log{Level: "info", Format: "auto"})}
	if o.truth != "" {
		p.truth = gen.NewTruth(gen.Rules{Window: event.Time(o.window.Milliseconds()), Lateness: event.Time(o.lateness.Milliseconds()),
			Skew: event.Time(o.skew.Milliseconds()), Dedupe: o.dedupe})
	}
	n, err := p.run(ctx, g)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s produced to %s\n", spelling.Count(n, "event"), o.topic)
	if o.truth != "" {
		return writeTruth(o.truth, p.truth)
	}
	return nil
}

// genFlags replaces the fields of gen.Config in a message by their flags.
var genFlags = strings.NewReplacer("gen: ", "", "LateShare", "--late", "FutureShare", "--future", "DuplicateShare", "--duplicates", "MalformedShare", "--malformed",
	"the shares", "--late, --future, --duplicates and --malformed", "Users", "--users", "Pages", "--pages", "Skew", "--skew", "Disorder", "--disorder (in ms)",
	"Start", "--start (ms since 1970)", "Events", "--events", "Rate", "--rate")

func writeTruth(file string, t *gen.Truth) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return t.Write(f)
}
