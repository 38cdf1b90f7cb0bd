package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/audit"
	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/internal/spelling"
	"weir/jobs"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

func verifyCommand() *cobra.Command {
	var span spanFlags
	var stopped bool
	var output outputFlag
	c := &cobra.Command{
		Use:   "verify",
		Short: "Audit: log against ledger against rows; exit 1 on any mismatch",
		Long: `Compare what ClickHouse stores with itself and with Kafka: the outcomes of every
ledger line with its offsets, the counts of every chunk with the number that the
ledger says was counted, every rollup with the rows that it is made from, and the
ledger with the log. If a rollup is kept for ever, verify also compares the sum of its
view with all that was counted, and notes how many events are missing. It changes
nothing and may run beside weir run. It does not judge what was written in the last ten
seconds, because a flush may be going on. If that does not add up, the last line says of
how many chunks.

--from and --to bound the windows of rollups that are compared, and leave out the sum;
without --from, longer rollups are compared as far back as there are state rows. The
ledger is always checked as a whole.

Records that are not counted yet are no mismatch as long as something of their
partition is flushed into this database. If nothing is, verify waits as long as a
hand-over of partitions may take. If still nothing is flushed then, they are a
mismatch: another deployment or consumer reads them in this group, or no process
does. Use --stopped while weir run is stopped on purpose and records may wait.`,
		Example: "  weir verify -c weir.yaml\n  weir verify -c weir.yaml --from 24h\n  weir verify -c weir.yaml --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z",
		RunE: func(c *cobra.Command, _ []string) error {
			b, err := span.open(c)
			if err != nil {
				return err
			}
			defer b.client.Close()
			v := &verifier{books: b, stopped: stopped, out: c.OutOrStdout(), err: c.ErrOrStderr(), verdicts: []*verdict{}}
			if output.json {
				v.out = io.Discard
				defer func() { _ = printJSON(c.OutOrStdout(), v.verdicts) }()
			}
			var failed error // the last one, which is the command's; the others are printed
			for i := range b.cfg.Jobs {
				j := &b.cfg.Jobs[i]
				err := v.job(c.Context(), j)
				switch {
				case err == nil:
					continue
				case c.Context().Err() != nil:
					return err
				case failed != nil:
					fmt.Fprintf(v.err, "error: %v\n", failed)
				}
				failed = fmt.Errorf("job %s is not verified: %w", j.Name, err)
				v.last().Error = err.Error()
			}
			if failed != nil {
				return failed
			}
			if v.mismatches > 0 {
				return &exit{exitFailed, errors.New(spelling.Count(v.mismatches, "mismatch")), ""}
			}
			return nil
		},
	}
	configFlags(c)
	span.add(c)
	output.add(c)
	c.Flags().BoolVar(&stopped, "stopped", false, "weir run is stopped on purpose: records that wait to be counted are no mismatch")
	return c
}

// spanFlags are the flags --from and --to, which bound the windows of a
// command.
type spanFlags struct{ from, to string }

func (s *spanFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&s.from, "from", "", "first window: a time (RFC 3339) or how long ago (24h)")
	c.Flags().StringVar(&s.to, "to", "", "end of the windows, in the same form")
}

// books are what verify and repair work on: the tables of the configured jobs, and the
// bounds of the windows.
type books struct {
	cfg      *config.Config
	client   *clickhouse.Client
	from, to event.Time // 0: no bound
}

// open reads the flags and connects to ClickHouse. The caller must close the client.
func (s *spanFlags) open(c *cobra.Command) (*books, error) {
	now := time.Now()
	from, err := moment("--from", s.from, now)
	if err != nil {
		return nil, err
	}
	to, err := moment("--to", s.to, now)
	if err != nil {
		return nil, err
	}
	cfg, client, err := connected(c)
	if err != nil {
		return nil, err
	}
	return &books{cfg, client, from, to}, nil
}

// sink returns what reads and writes the tables of a job. It prints how the tables differ from
// the configuration: a difference may explain a finding that a repair does not end.
func (b *books) sink(ctx context.Context, j *config.Job, say io.Writer) (*clickhouse.Sink, *window.Spec, error) {
	s := j.Spec()
	sink, err := b.client.Job(ctx, j.Stored(s))
	if err != nil {
		return nil, nil, err
	}
	for _, note := range sink.Notes {
		fmt.Fprintln(say, "note:", note)
	}
	return sink, s, nil
}

// progress returns a function that prints how far a command is: each time to a
// terminal, otherwise at most once in two seconds.
func progress(to io.Writer) func(format string, args ...any) {
	said, always := time.Now(), isTerminal(to)
	return func(format string, args ...any) {
		if always || time.Since(said) > 2*time.Second {
			said = time.Now()
			fmt.Fprintf(to, format, args...)
		}
	}
}

// moment reads a time or an age; "" means no bound.
func moment(flag, s string, now time.Time) (event.Time, error) {
	if s == "" {
		return 0, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return event.Time(t.UnixMilli()), nil
	}
	d, err := config.ParseDuration(s)
	if err != nil {
		return 0, &exit{exitUsage, fmt.Errorf("%s %q is neither a time such as 2026-11-01T00:00:00Z nor an age such as 24h", flag, s), ""}
	}
	return event.Time(now.Add(-time.Duration(d)).UnixMilli()), nil
}

type verifier struct {
	*books
	stopped  bool
	out, err io.Writer
	toll
	verdicts []*verdict // of the jobs so far
}

// A verdict is what verify says of a job, with -o json.
type verdict struct {
	Job        string `json:"job"`
	Mismatches []told `json:"mismatches"`
	Notes      []told `json:"notes"`
	Lines      int    `json:"ledger_lines"`
	Chunks     int    `json:"chunks"`
	Windows    int    `json:"windows"`
	Unjudged   int    `json:"chunks_not_judged"`
	Waiting    int64  `json:"records_not_counted_yet"`
	Error      string `json:"error,omitempty"` // why the job is not verified
}

type told struct {
	Class string `json:"class"`
	What  string `json:"what"`
	Do    string `json:"do"`
}

func (v *verifier) last() *verdict { return v.verdicts[len(v.verdicts)-1] }

func (v *verifier) job(ctx context.Context, j *config.Job) error {
	r := &verdict{Job: j.Name, Mismatches: []told{}, Notes: []told{}}
	v.verdicts = append(v.verdicts, r)
	sink, s, err := v.sink(ctx, j, v.err)
	if err != nil {
		return err
	}
	src, err := source(v.cfg, j, ingest.Database{}, newLog(v.err, config.Log{Level: "warn", Format: "auto"}), nil, false)
	if err != nil {
		return err
	}
	defer src.Close()
	before := v.mismatches
	todo := remedy{}
	mismatch := func(f audit.Finding) {
		v.take(f)
		todo.take(f)
		r.Mismatches = append(r.Mismatches, told{f.Class.String(), sentence(f), advice(f)})
		fmt.Fprintf(v.out, "%s: %s\n", j.Name, sentence(f))
	}
	var sums *audit.Audit
	say := progress(v.err)
	for range 2 { // an answer may break off in the middle; what was read of it cannot be taken back
		sums = audit.New(auditJob(j, s), audit.Scope{From: v.from, Until: v.to})
		err = sink.Audit(ctx, sums, func(done, total int) { say("%s: %d of %d days read\n", j.Name, done, total) })
		if broke := new(wire.Error); !errors.As(err, &broke) || broke.Fatal() || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("job %s: %w", j.Name, err)
	}
	for f := range sums.Findings {
		mismatch(f)
	}
	for f := range sums.Notes {
		r.Notes = append(r.Notes, told{f.Class.String(), sentence(f), advice(f)})
		fmt.Fprintf(v.out, "%s: note: %s\n  %s\n", j.Name, sentence(f), advice(f))
	}
	log, lacks := v.log(ctx, j, src)
	if lacks != nil && !ingest.Lacks(lacks) {
		return lacks
	}
	open, err := src.OpenTransactions(ctx)
	if err != nil {
		return fmt.Errorf("job %s: %w", j.Name, err)
	}
	for _, o := range open { // not a mismatch: no reader gets these records yet
		r.Notes = append(r.Notes, told{"transaction", fmt.Sprint(o), strings.TrimPrefix(abortIt(v.cfg, j, o), ": ")})
		fmt.Fprintf(v.out, "%s: note: %s%s\n", j.Name, o, abortIt(v.cfg, j, o))
	}
	found, lag := sums.Log(log)
	var missing *ingest.MissingError
	for _, f := range found {
		if f.Class == audit.Vanished && errors.As(lacks, &missing) && slices.Contains(missing.Missing(), f.Partition) {
			continue // it is there, and cannot be read now
		}
		mismatch(f)
	}
	if !v.stopped {
		switch err := v.uncounted(ctx, j, src, sink); {
		case ingest.Lacks(err):
			lacks = cmp.Or(lacks, err)
		case err != nil:
			return err
		}
	}
	looked := sums.Looked()
	r.Lines, r.Chunks, r.Windows, r.Unjudged, r.Waiting = looked.Lines, looked.Chunks, looked.Windows, sums.Unjudged(), lag
	size := spelling.Count(looked.Lines, "ledger line") + ", " + spelling.Count(looked.Chunks, "chunk") + ", " + spelling.Count(looked.Windows, "window")
	if n := v.mismatches - before; n == 0 {
		verdict := "everything adds up"
		if lacks != nil {
			verdict = "what can be read now adds up"
		}
		if len(r.Notes) > 0 {
			verdict += fmt.Sprintf(", except for the %s above", spelling.Count(len(r.Notes), "note"))
		}
		fmt.Fprintf(v.out, "%s: %s: %s; %s not counted yet%s\n", j.Name, verdict, size, spelling.Count(lag, "record"), unjudged(sums.Unjudged()))
	} else {
		fmt.Fprintf(v.out, "%s: %s in %s%s\n", j.Name, spelling.Count(n, "mismatch"), size, unjudged(sums.Unjudged()))
		reset := fmt.Sprintf("kafka-consumer-groups.sh --bootstrap-server %s --group %s", strings.Join(v.cfg.Kafka.Brokers, ","), group(v.cfg, j))
		todo.print(v.out, reset, j.Topic, log, sums.Current)
	}
	return lacks
}

// unjudged says how many chunks are too new to be judged, and do not add up; nothing if there are none.
func unjudged(chunks int) string {
	if chunks == 0 {
		return ""
	}
	return fmt.Sprintf("; not judged: %s written to in the last seconds, where rows and ledger lines differ: verify again", spelling.Count(chunks, "chunk"))
}

// uncounted looks for records that were not flushed into this database.
func (v *verifier) uncounted(ctx context.Context, j *config.Job, src *ingest.Source, sink *clickhouse.Sink) error {
	limit := waitLimit(v.cfg)
	u, err := jobs.FindUncounted(ctx, src, sink, limit, func() {
		fmt.Fprintf(v.err, "%s: records wait to be counted; waiting up to %s for a flush of their partitions\n", j.Name, limit)
	})
	if err != nil {
		return fmt.Errorf("job %s: comparing the ledger with topic %s: %w", j.Name, j.Topic, err)
	}
	if u == nil {
		return nil
	}
	v.mismatches++
	do := remedyOfUncounted(ctx, v.cfg, j, src)
	v.last().Mismatches = append(v.last().Mismatches, told{"uncounted", u.Error(), do})
	fmt.Fprintf(v.out, "%s: %v; %s\n", j.Name, u, do)
	return nil
}

// remedyOfUncounted says what to do about records that are not counted.
func remedyOfUncounted(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source) string {
	if j.Spec().Framed() {
		return "if the status and the log say that a schema is missing, they are counted as soon as it can be had (docs/inputs.md); else, " + whoReads(ctx, cfg, j, src)
	}
	return whoReads(ctx, cfg, j, src)
}

// whoReads says what to do about records that are not counted; that depends on the
// processes between which the partitions of the job are divided.
func whoReads(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source) string {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if number, all := cfg.Kafka.Fixed(); all > 0 {
		return fmt.Sprintf("kafka.member is %d/%d here: see that members 0/%[2]d to %[3]d/%[2]d all run, with the same kafka.group and database", number, all, all-1)
	}
	in := group(cfg, j)
	members, err := src.Members(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("the members of consumer group %s are not known: %v", in, err)
	case len(members) == 0:
		return "no process is in consumer group " + in + ": start weir run"
	}
	return fmt.Sprintf("in consumer group %s: %s. Give each deployment, and each consumer that is not weir, a group of its own (kafka.group); if all of these write to this database, one of them is slow or throttled: look at their status and logs",
		in, printable(strings.Join(members, ", ")))
}

// log returns what Kafka has of the job's topic; if partitions of it are missing, with an error that
// says which.
func (v *verifier) log(ctx context.Context, j *config.Job, src *ingest.Source) ([]event.Assignment, error) {
	ctx, cancel := context.WithTimeout(ctx, max(time.Duration(v.cfg.Kafka.ConnectTimeout), 5*time.Second))
	defer cancel()
	if err := src.Ping(ctx); err != nil {
		return nil, kafkaService(v.cfg.Kafka.Brokers, v.cfg.Kafka.TLS.Enabled).unavailable(ctx, err)
	}
	if t, err := src.Describe(ctx); err == nil && !t.Exists { // Assign waits for a topic that is not there
		return nil, fmt.Errorf("topic %s does not exist, so that the ledger cannot be compared with it", j.Topic)
	}
	gen, err := src.Assign(ctx)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", j.Topic, err)
	}
	defer gen.Release()
	return gen.Partitions(), gen.Missing()
}
