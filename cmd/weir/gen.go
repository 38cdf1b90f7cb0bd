package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/spf13/cobra"

	"weir/event"
	"weir/gen"
	"weir/internal/config"
)

// produceBatch is how many records go to Kafka in one call when there is no
// rate to keep: enough to fill a record batch per partition.
const produceBatch = 10_000

// With a rate to keep, records go out every produceEvery: each request costs the
// broker and its readers as much as some hundred records. pacedBatch is how many go to a
// partition in one request. kafka-go allocates room for that many each time.
const (
	produceEvery = 50 * time.Millisecond
	pacedBatch   = 512
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

// check returns what is wrong with the flags, and the maker of the traffic.
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
	fmt.Fprintf(out, "%d events produced to %s\n", n, o.topic)
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
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	return w.Flush()
}

// A producer writes a generator's records, or lines, into a topic.
type producer struct {
	brokers    []string
	topic      string
	partitions int // of a topic that it makes; 0: a missing topic is an error
	codec      string
	paced      bool // records go out when their time has come
	retries    bool // records that the broker refuses are sent again until ctx ends
	truth      *gen.Truth
	log        *slog.Logger
}

// connect waits until the topic accepts records.
func (p *producer) connect(ctx context.Context) (w *kafka.Writer, closeWriter func() error, err error) {
	addr := kafka.TCP(p.brokers...)
	transport := &kafka.Transport{MetadataTTL: time.Second}
	client := &kafka.Client{Addr: addr, Transport: transport}
	var missing error
	err = kafkaService(p.brokers, false).reach(ctx, p.log, 30*time.Second, func(ctx context.Context) error {
		err := p.create(ctx, client)
		if missing = nil; p.partitions == 0 && errors.Is(err, kafka.UnknownTopicOrPartition) {
			missing, err = &exit{exitFailed, err, "make it first; weir up makes the topics of its jobs"}, nil
		}
		return err
	})
	if err = cmp.Or(err, missing); err != nil {
		transport.CloseIdleConnections()
		return nil, nil, err
	}
	batch := produceBatch
	if p.paced {
		batch = pacedBatch
	}
	w = &kafka.Writer{
		Addr: addr, Transport: transport, Topic: p.topic, Balancer: &kafka.Hash{}, RequiredAcks: kafka.RequireAll, Compression: codecs[p.codec],
		BatchSize: batch, BatchBytes: 900_000, BatchTimeout: 5 * time.Millisecond, MaxAttempts: 10,
		// The time-outs are long, because a slow broker may still store the request, and its
		// records would then be in the topic twice.
		WriteTimeout: time.Minute, ReadTimeout: time.Minute,
	}
	return w, func() error {
		defer transport.CloseIdleConnections()
		return w.Close()
	}, nil
}

// run produces until the generator or ctx ends. Every record in the truth is in the log: a
// failed write is tried again, and a record without an acknowledgement is not in the truth.
func (p *producer) run(ctx context.Context, g *gen.Generator) (n int64, err error) {
	w, closeWriter, err := p.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeWriter()) }()
	var records []gen.Record
	var messages []kafka.Message
	began := time.Now()
	said := began
	var sent time.Time // the Kafka time of the last record that went out
	for more := true; more && ctx.Err() == nil; {
		messages = messages[:0]
		for len(messages) < produceBatch {
			if len(records) <= len(messages) {
				records = append(records, gen.Record{})
			}
			r := &records[len(messages)]
			if more = g.Next(r); !more {
				break
			}
			messages = append(messages, kafka.Message{Key: r.Key, Value: r.Value, Time: time.UnixMilli(int64(r.Time))})
			if at := messages[len(messages)-1].Time; p.paced && time.Until(at) > 0 && at.Sub(sent) >= produceEvery {
				break
			}
		}
		if len(messages) == 0 {
			break
		}
		if p.paced {
			select {
			case <-ctx.Done():
				return n, nil
			case <-time.After(min(max(0, time.Until(messages[len(messages)-1].Time)), time.Second)):
			}
			sent = messages[len(messages)-1].Time
		}
		// The write does not end with ctx, so that a record is either in the log and in the truth,
		// or in neither.
		if err := p.write(ctx, w, messages); err != nil {
			return n, err
		}
		if p.truth != nil {
			for i := range messages {
				p.truth.Add(&records[i])
			}
		}
		n += int64(len(messages))
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			p.log.Info("producing", "topic", p.topic, "events", n, "per_second", int64(float64(n)/time.Since(began).Seconds()))
		}
	}
	return n, nil
}

// write writes all messages, some of them more than once if a broker's answer
// was lost.
func (p *producer) write(ctx context.Context, w *kafka.Writer, messages []kafka.Message) error {
	for {
		err := w.WriteMessages(context.WithoutCancel(ctx), messages...)
		if err == nil {
			return nil
		}
		leaderless := errors.Is(err, protocol.ErrNoLeader) // nothing was sent: the cluster elects a leader
		var each kafka.WriteErrors
		if errors.As(err, &each) { // one error for each message, mostly all the same
			var left []kafka.Message
			leaderless = true
			for i, e := range each {
				if e != nil {
					left, err = append(left, messages[i]), e
					leaderless = leaderless && errors.Is(e, protocol.ErrNoLeader)
				}
			}
			err = fmt.Errorf("%d of %d records refused: %w", len(left), len(messages), err)
			messages = left
		}
		if err = fmt.Errorf("producing to %s: %w", p.topic, err); !p.retries && !leaderless {
			return err
		}
		if leaderless {
			p.log.Warn("a partition has no leader; trying again in 1s", "error", err)
		} else {
			p.log.Warn("the broker refuses records; is its disk full? Trying again in 1s", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil // no job needs these records
		case <-time.After(time.Second):
		}
	}
}

var codecs = map[string]compress.Compression{"none": compress.None, "gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.Lz4, "zstd": compress.Zstd}

// create makes the topic if it is missing and p.partitions is set. It returns when the
// brokers name the topic to producers, which is some time after they have made it.
func (p *producer) create(ctx context.Context, client *kafka.Client) error {
	if err := p.dial(ctx); err != nil {
		return err
	}
	if p.partitions > 0 {
		res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: p.topic, NumPartitions: p.partitions, ReplicationFactor: -1}}})
		if err != nil {
			return err
		}
		if err := res.Errors[p.topic]; err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			return err
		}
	}
	described, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{p.topic}})
	if err != nil {
		return err
	}
	for _, t := range described.Topics {
		if t.Error != nil {
			return fmt.Errorf("topic %s: %w", p.topic, t.Error)
		}
	}
	return nil
}

// dial tests whether a broker accepts connections: kafka-go does not report why it cannot
// reach one.
func (p *producer) dial(ctx context.Context) (err error) {
	for _, b := range p.brokers {
		var c net.Conn
		if c, err = new(net.Dialer).DialContext(ctx, "tcp", b); err == nil {
			return c.Close()
		}
	}
	return err
}

// The traffic of `weir up --history` comes at these rates, in events per second of the
// past, so that a week of it is counted within a minute. historyMost is the longest one.
const (
	historyClicks    = 2
	historyLocations = 1
	historyMost      = config.Duration(30 * 24 * time.Hour)
)

// past returns how far back the traffic begins: u.history, or 0 if the topics have records,
// because older ones cannot come after these.
func (u *up) past(ctx context.Context, broker string) (time.Duration, error) {
	if u.history == 0 {
		return 0, nil
	}
	client := &kafka.Client{Addr: kafka.TCP(broker), Transport: &kafka.Transport{}}
	defer client.Transport.(*kafka.Transport).CloseIdleConnections()
	ask := map[string][]kafka.OffsetRequest{}
	for _, topic := range upTopics {
		for p := range upPartitions {
			ask[topic] = append(ask[topic], kafka.LastOffsetOf(p))
		}
	}
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return 0, fmt.Errorf("asking whether the topics are empty: %w", err)
	}
	records := int64(0)
	for _, partitions := range res.Topics {
		for _, p := range partitions {
			records += max(0, p.LastOffset)
			if p.Error != nil && !errors.Is(p.Error, kafka.UnknownTopicOrPartition) { // the generator makes it
				return 0, fmt.Errorf("asking whether the topics are empty: %w", p.Error)
			}
		}
	}
	if records > 0 {
		u.step("history", "none is made: the topics in %s have %d records already", u.data, records)
		return 0, nil
	}
	seconds := int64(u.history.Seconds())
	u.step("history", "%s: first come %d clicks and %d locations", config.Duration(u.history), seconds*historyClicks, seconds*historyLocations)
	return u.history, nil
}

// generate produces the traffic of `weir up`: that of the past at once, then that of the
// wanted rate until ctx ends.
func (u *up) generate(ctx context.Context, broker string, past time.Duration) error {
	type stream struct {
		topic         string
		make          func(gen.Config) (*gen.Generator, error)
		rate, history int
	}
	done := make(chan error, 2)
	streams := []stream{{"clicks", gen.Clicks, u.rate, historyClicks}, {"locations", gen.Locations, max(1, u.rate/4), historyLocations}}
	now := event.Time(time.Now().UnixMilli())
	for _, s := range streams {
		go func() {
			cfg := gen.Default()
			cfg.Seed = uint64(now) // different traffic at every start
			cfg.Pages, cfg.MalformedShare = 200, 0.0005
			p := &producer{brokers: []string{broker}, topic: s.topic, partitions: upPartitions, codec: "lz4", retries: true, log: u.log}
			produce := func() error {
				g, err := s.make(cfg)
				if err == nil {
					_, err = p.run(ctx, g)
				}
				return err
			}
			var err error
			if past > 0 {
				cfg.Start, cfg.Rate = now-event.Time(past.Milliseconds()), int64(s.history)
				cfg.Events = cfg.Rate * int64(past.Seconds())
				err = produce()
			}
			if err == nil && ctx.Err() == nil {
				cfg.Start, cfg.Rate, cfg.Events = event.Time(time.Now().UnixMilli()), int64(s.rate), 0
				p.paced = true
				err = produce()
			}
			done <- err
		}()
	}
	var err error
	for range streams {
		err = errors.Join(err, <-done)
	}
	return err
}
