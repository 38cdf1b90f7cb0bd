package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/internal/outage"
	"weir/internal/spelling"
	"weir/window"
)

func tapCommand() *cobra.Command {
	t := &tap{}
	var job, from, until string
	c := &cobra.Command{
		Use:   "tap",
		Short: "Print the records of a job's topic as they come, with their outcomes",
		Long: `Print the records of a job's topic as they are written, one line each: partition,
offset, event time, outcome, group, and the reason for a record that is not counted.
The outcomes are those of weir run: the same code decides them.

Where a record is an array of events (each), there is a line for each of them.

A record whose schema cannot be had has the outcome waits: there weir run waits, and
weir tap goes on.

It joins no consumer group, commits nothing and writes nothing, so it works beside
running processes. It needs the right to read the topic.

Whether a record is a duplicate or throttled depends on the records before it, from the
beginning of the chunk before its own. For a job with dedupe or throttle weir tap reads
these first, up to two chunks of each partition, and says so; --partition makes it less.
It cannot know what retention has deleted of them, and says that too.`,
		Example: "  weir tap -c weir.yaml --job clicks\n" +
			"  weir tap -c weir.yaml --job clicks --outcome malformed,late --from -100000 --until end",
		Annotations: map[string]string{untilStopped: "true"},
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, origins, err := loadConfig(c, config.Options{})
			if err != nil {
				return err
			}
			quiet(cfg, origins)
			if err := t.choose(cfg, job, from, until); err != nil {
				return &exit{exitUsage, err, "see weir tap --help"}
			}
			t.out, t.err = bufio.NewWriter(c.OutOrStdout()), c.ErrOrStderr()
			return t.run(c.Context(), cfg)
		},
	}
	configFlags(c)
	c.Flags().StringVar(&job, "job", "", "the job; it may be left out where there is only one")
	c.Flags().Int32Var(&t.partition, "partition", -1, "only this partition")
	c.Flags().StringVar(&from, "from", "end", "where to begin: end, beginning, an offset (with --partition), or -N for the newest N offsets in all")
	c.Flags().StringVar(&until, "until", "", "end: stop where the logs end now")
	c.Flags().Int64Var(&t.limit, "limit", 0, "stop after this many lines; 0: never")
	c.Flags().StringSliceVar(&t.names, "outcome", nil, "only records with these outcomes, such as malformed,late")
	c.Flags().BoolVar(&t.json, "json", false, "one JSON object per line")
	return c
}

// quiet makes a program whose output is for people log warnings and errors only, unless
// a level is configured.
func quiet(cfg *config.Config, origins *config.Origins) {
	if origins.Of("log.level").Source == config.FromDefault {
		cfg.Log.Level = "warn"
	}
}

// A tap prints verdicts.
type tap struct {
	job       *config.Job
	partition int32 // -1: all
	offset    int64 // to begin at; or fromEnd, fromBeginning
	newest    int64 // how many of the newest records to begin with; 0: see offset
	untilEnd  bool
	limit     int64    // of lines; 0: none
	names     []string // of the outcomes to print; none: all
	json      bool

	out   *bufio.Writer
	err   io.Writer
	lines int64
}

const (
	fromEnd       = -1
	fromBeginning = -2
)

// choose reads the flags.
func (t *tap) choose(cfg *config.Config, job, from, until string) error {
	var names []string
	for i := range cfg.Jobs {
		if names = append(names, cfg.Jobs[i].Name); cfg.Jobs[i].Name == job || job == "" && len(cfg.Jobs) == 1 {
			t.job = &cfg.Jobs[i]
		}
	}
	switch {
	case t.job != nil:
	case job == "":
		return fmt.Errorf("--job is missing; the jobs are %s", strings.Join(names, ", "))
	default:
		return fmt.Errorf("--job %s: there is no such job; the jobs are %s", job, strings.Join(names, ", "))
	}
	n, err := strconv.ParseInt(from, 10, 64)
	switch {
	case from == "end":
		t.offset = fromEnd
	case from == "beginning":
		t.offset = fromBeginning
	case err != nil || n == 0 && from[0] == '-':
		return fmt.Errorf("--from %s: want end, beginning, an offset or -N", from)
	case n < 0:
		t.newest = -n
	case t.partition < 0:
		return fmt.Errorf("--from %s: an offset is that of one partition; give --partition too", from)
	default:
		t.offset = n
	}
	if until != "" && until != "end" {
		return fmt.Errorf("--until %s: only `end` is known", until)
	}
	t.untilEnd = until == "end"
	if t.limit < 0 {
		return fmt.Errorf("--limit %d: want at least 0", t.limit)
	}
	known := []string{waits}
	for o := range window.Outcomes {
		if o != window.Gap {
			known = append(known, o.String())
		}
	}
	slices.Sort(known)
	for _, name := range t.names {
		if slices.Contains(known, name) {
			continue
		}
		if near := spelling.Nearest(name, known); near != "" {
			return fmt.Errorf("--outcome %s: is it %s?", name, near)
		}
		return fmt.Errorf("--outcome %s: want %s", name, strings.Join(known, ", "))
	}
	return nil
}

func (t *tap) run(ctx context.Context, cfg *config.Config) error {
	log := newLog(t.err, cfg.Log)
	spec := t.job.Spec()
	src, err := source(cfg, t.job, ingest.Database{}, log, outage.New(log), false)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := kafkaService(cfg.Kafka.Brokers, cfg.Kafka.TLS.Enabled).reach(ctx, log, time.Duration(cfg.Kafka.ConnectTimeout), src.Ping); err != nil {
		return err
	}
	if t.untilEnd { // Spans waits for a topic that is not there
		if found, err := src.Describe(ctx); err == nil && !found.Exists {
			return &exit{exitFailed, fmt.Errorf("topic %s does not exist and has no end", t.job.Topic), "create it, or leave out --until and weir tap waits for it"}
		}
	}
	logs, err := src.Spans(ctx)
	if ingest.Lacks(err) {
		fmt.Fprintf(t.err, "note: %v; the others are read\n", err)
	} else if err != nil {
		return err
	}
	spans, err := t.spans(logs)
	if err != nil || len(spans) == 0 {
		return err
	}
	from := map[int32]int64{}
	before := int64(0)
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		first := spans[p].First
		from[p] = max(spec.Before(first), logs[p].First)
		before += first - from[p]
		if from[p] > spec.Before(first) {
			fmt.Fprintf(t.err, "note: partition %d begins at offset %d: what was before it is deleted, so that a repeat of it, or an event beyond a limit that it has used up, may be shown as counted\n", p, from[p])
		}
	}
	if before > 0 {
		fmt.Fprintf(t.err, "note: reading %d offsets before the first one: duplicate and throttled depend on them\n", before)
	}
	if !t.json {
		fmt.Fprintf(t.out, tapLine+"\n", "partition", "offset", "event time", "outcome", "group  reason")
	}
	err = readJob(ctx, cfg, t.job, src, &reading{spans: spans, tell: t.print, each: t.out.Flush}, from)
	if flushed := t.out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// spans returns the offsets to print, of logs that hold what Source.Spans says.
func (t *tap) spans(logs map[int32]event.Span) (map[int32]event.Span, error) {
	if t.partition >= 0 {
		only, ok := logs[t.partition]
		if !ok {
			return nil, &exit{exitUsage, fmt.Errorf("--partition %d: topic %s has the partitions 0 to %d", t.partition, t.job.Topic, len(logs)-1), ""}
		}
		logs = map[int32]event.Span{t.partition: only}
	}
	var newest map[int32]event.Span
	if t.newest > 0 {
		newest = newestOf(logs, t.newest)
	}
	spans := map[int32]event.Span{}
	for p, log := range logs {
		s := event.Span{First: log.Next, Next: endless}
		switch {
		case t.newest > 0:
			if n, ok := newest[p]; ok {
				s.First = n.First
			}
		case t.offset == fromEnd:
		case t.offset == fromBeginning:
			s.First = log.First
		case t.offset < log.First || t.offset > log.Next:
			return nil, &exit{exitFailed, fmt.Errorf("--from %d: partition %d holds the offsets %d to %d", t.offset, p, log.First, log.Next), ""}
		default:
			s.First = t.offset
		}
		if t.untilEnd {
			if s.Next = log.Next; s.First >= s.Next {
				continue
			}
		}
		spans[p] = s
	}
	return spans, nil
}

// waits takes the place of the outcome if the schema of a record cannot be had.
const waits = "waits"

// outcomeOf returns the outcome of a verdict in words.
func outcomeOf(v *window.Verdict) string {
	if v.Waits {
		return waits
	}
	return v.Outcome.String()
}

const tapLine = "%9v %12v  %-24s  %-9s  %s"

// print writes the line of a verdict, if it is wanted.
func (t *tap) print(v *window.Verdict) (err error) {
	if len(t.names) > 0 && !slices.Contains(t.names, outcomeOf(v)) {
		return nil
	}
	if t.json {
		err = t.printJSON(v)
	} else {
		when, group := "-", "-"
		if v.Decoded {
			when, group = milliseconds(v.Time), groupText(v.Group)
		}
		if v.Events > 0 {
			group += fmt.Sprintf(" (event %d of %d)", v.Event, v.Events)
		}
		if v.Records > 1 {
			group += fmt.Sprintf(" (%d records)", v.Records)
		}
		if v.Reason != "" {
			group += "  " + printable(v.Reason)
		}
		_, err = fmt.Fprintf(t.out, tapLine+"\n", v.Partition, v.Offset, when, outcomeOf(v), group)
	}
	if t.lines++; err == nil && t.lines == t.limit {
		return errRead
	}
	return err
}

// tapped is a line of --json.
type tapped struct {
	Job        string            `json:"job"`
	Partition  int32             `json:"partition"`
	Offset     int64             `json:"offset"`
	Records    int64             `json:"records"`          // 1; more for a batch that cannot be read
	Event      int               `json:"event,omitempty"`  // which one of the record's, from 1, if a record is an array of events
	Events     int               `json:"events,omitempty"` // how many the record has
	RecordTime string            `json:"record_time"`
	Outcome    string            `json:"outcome"`
	Reason     string            `json:"reason,omitempty"`
	EventTime  string            `json:"event_time,omitempty"`
	Window     string            `json:"window,omitempty"` // its start
	Group      map[string]string `json:"group,omitempty"`
}

func (t *tap) printJSON(v *window.Verdict) error {
	line := tapped{
		Job: t.job.Name, Partition: v.Partition, Offset: v.Offset, Records: v.Records, Event: v.Event, Events: v.Events,
		RecordTime: milliseconds(v.Record), Outcome: outcomeOf(v), Reason: v.Reason,
	}
	if v.Decoded {
		line.EventTime, line.Window, line.Group = milliseconds(v.Time), milliseconds(v.Window), map[string]string{}
		for i, text := range v.Group {
			line.Group[t.job.By[i].Name] = string(text)
		}
	}
	return json.NewEncoder(t.out).Encode(line)
}

// milliseconds writes a time with its milliseconds, UTC.
func milliseconds(t event.Time) string {
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")
}
