package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/audit"
	"weir/config"
	"weir/ingest"
	"weir/internal/spelling"
	"weir/jobs"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// A diagnostic is one line of `weir check`.
type diagnostic struct {
	Tier    string `json:"tier"` // config, registry, kafka, sample, clickhouse, schema, ledger
	Subject string `json:"subject"`
	Result  string `json:"result"` // ok, warning, failed
	Detail  string `json:"detail,omitempty"`
	code    int    // exit code if failed
}

func checkCommand() *cobra.Command {
	var offline bool
	var output outputFlag
	var samples int64
	c := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration: syntax, meaning, connections, schema and grants",
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("sample") && (samples < 1 || samples > 1_000_000 || offline) {
				return &exit{exitUsage, fmt.Errorf("--sample %d: want 1 to 1000000, and not with --offline", samples), ""}
			}
			k := &checker{ctx: c.Context(), samples: samples, now: time.Now}
			cfg, _, err := loadConfig(c, config.Options{NoSecrets: offline})
			if err != nil {
				if !output.json {
					return err
				}
				var bad *config.Error
				if errors.As(err, &bad) {
					for _, p := range bad.Problems {
						k.add(diagnostic{Tier: "config", Subject: p.Path, Result: "failed", Detail: p.String(), code: exitConfig})
					}
				} else { // no file, or one that cannot be read
					k.add(diagnostic{Tier: "config", Subject: "file", Result: "failed", Detail: err.Error(), code: exitConfig})
				}
				return k.print(c.OutOrStdout(), output.json)
			}
			k.result("config", "syntax and meaning", spelling.Count(len(cfg.Jobs), "job"), nil, 0)
			k.people(cfg)
			if !offline {
				k.registry(cfg)
				k.kafka(cfg)
				k.clickhouse(cfg)
				for _, src := range k.sources {
					_ = src.Close() // nothing was written
				}
			}
			return k.print(c.OutOrStdout(), output.json)
		},
	}
	configFlags(c)
	c.Flags().BoolVar(&offline, "offline", false, "only what needs no connection and no secret")
	c.Flags().Int64Var(&samples, "sample", 0, "also read this many of the newest records of each topic, and show their outcomes; nothing is written")
	output.add(c)
	return c
}

type checker struct {
	ctx         context.Context
	samples     int64 // records to read of each job's topic; 0: none
	now         func() time.Time
	diagnostics []diagnostic
	sources     map[*config.Job]*ingest.Source // of jobs whose topic exists
}

func (k *checker) add(f diagnostic) { k.diagnostics = append(k.diagnostics, f) }

// result adds a diagnostic by an error: none is ok.
func (k *checker) result(tier, subject, detail string, err error, code int) bool {
	if err != nil {
		k.add(diagnostic{tier, subject, "failed", err.Error(), code})
		return false
	}
	k.add(diagnostic{Tier: tier, Subject: subject, Result: "ok", Detail: detail})
	return true
}

// warn adds a warning.
func (k *checker) warn(tier, subject, detail string) {
	k.add(diagnostic{Tier: tier, Subject: subject, Result: "warning", Detail: detail})
}

// answers adds the diagnostic of a first request to a service.
func (k *checker) answers(s service, subject string, err error) bool {
	if err == nil {
		return k.result(s.name, subject, "", nil, 0)
	}
	err = s.unavailable(k.ctx, err)
	code, _ := classify(err)
	return k.result(s.name, subject, "", err, code)
}

// people warns if ids or texts of events are kept in rollups without a bound: for longer
// than the longest keep of a job. (keep_states is the keep of the job if it is not given.)
func (k *checker) people(cfg *config.Config) {
	const bound = config.Duration(3660 * 24 * time.Hour)
	for i := range cfg.Jobs {
		j := &cfg.Jobs[i]
		var values []string
		for _, m := range j.Measures {
			if m.WindowKind().HoldsValues {
				values = append(values, m.Name)
			}
		}
		for r, level := range j.Rollups {
			if values != nil && level.KeepStates > bound && (level.Keep == 0 || level.Keep > bound) {
				k.warn("config", "job "+j.Name, fmt.Sprintf("rollups[%d].keep_states %s: the states of %s, which hold or recognise values of events, are kept without a bound; "+
					"set it to the time for which you ask about people (hits and other numbers stay)", r, level.KeepStates, strings.Join(values, ", ")))
			}
		}
	}
}

// checkTimeout is how long a check waits for a service; a variable, because tests wait for as long as
// a slow machine takes.
var checkTimeout = 10 * time.Second

const compactedTopic = "the topic is compacted (cleanup.policy): records may vanish between two readings of a chunk; " +
	"each row keeps the greater count of the two then, so that events may be missing, and the audit shows outcomes that do not sum up; count topics with cleanup.policy=delete"

// registry checks whether the registry answers, if a job needs it. It fails if the registry has
// a schema that a job calls lost.
func (k *checker) registry(cfg *config.Config) {
	asked := cfg.Registry.URL == ""
	for i := range cfg.Jobs {
		j := &cfg.Jobs[i]
		s := j.Spec()
		if !s.Framed() {
			continue
		}
		if !asked {
			asked = true
			ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
			r, err := registryOf(cfg)
			if err == nil {
				err = r.Ping(ctx)
				r.Close()
			}
			cancel()
			k.result("registry", cfg.Registry.URL, "it answers", err, exitUnavailable)
		}
		if err := checkLost(k.ctx, cfg, s, j.Place); err != nil {
			code, hint := classify(err)
			if hint != "" {
				err = fmt.Errorf("%w: %s", err, hint)
			}
			k.result("registry", "job "+j.Name, "", err, code)
		}
	}
}

func (k *checker) kafka(cfg *config.Config) {
	quiet := slog.New(slog.DiscardHandler)
	id := "" // of the database; without an answer, which the checks of ClickHouse report, it is not known
	if client, err := sinkClient(cfg, quiet); err == nil {
		ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
		id, _ = client.ID(ctx)
		cancel()
		client.Close()
	}
	k.sources = map[*config.Job]*ingest.Source{}
	for i := range cfg.Jobs {
		j := &cfg.Jobs[i]
		src, err := source(cfg, j, database(cfg, id), quiet, nil, false)
		if err != nil {
			k.result("kafka", "job "+j.Name, "", err, exitConfig)
			continue
		}
		if k.topic(cfg, j, src) {
			k.sources[j] = src
		} else {
			_ = src.Close()
		}
	}
}

// topic checks the topic of a job, and reports whether it exists.
func (k *checker) topic(cfg *config.Config, j *config.Job, src *ingest.Source) (exists bool) {
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	if !k.answers(kafkaService(cfg.Kafka.Brokers, cfg.Kafka.TLS.Enabled), fmt.Sprintf("brokers %v", cfg.Kafka.Brokers), src.Ping(ctx)) {
		return false
	}
	t, err := src.Describe(ctx)
	subject := "topic " + j.Topic
	if err != nil {
		k.result("kafka", subject, "", err, exitFailed)
		return false
	}
	if !t.Exists {
		k.add(diagnostic{"kafka", subject, "failed", "does not exist; weir run waits until it does", exitFailed})
		return false
	}
	if rack := cfg.Kafka.Rack; rack != "" && !slices.Contains(t.Racks, rack) {
		k.warn("kafka", subject, fmt.Sprintf("no broker is in kafka.rack %q, so partitions are read from their leaders; "+
			"the brokers' racks (broker.rack) are %q", rack, t.Racks))
	}
	if advice := unracked(cfg.Kafka.Rack, t.Racks); advice != "" {
		k.warn("kafka", subject, advice)
	}
	k.result("kafka", subject, spelling.Count(t.Partitions, "partition"), nil, 0)
	k.scale(ctx, j, src)
	k.readers(ctx, cfg, j, src)
	k.transactions(ctx, cfg, j, src)
	if k.samples > 0 {
		defer k.sample(cfg, j, src, k.samples)
	}
	if need := time.Duration(j.Lateness) + time.Duration(j.Skew); t.Retention > 0 && t.Retention <= need {
		k.warn("kafka", subject, fmt.Sprintf("retention %s is not above lateness + skew %s: "+
			"a chunk whose beginning has expired could then be read again with other counts; raise retention.ms or lower lateness", t.Retention, need))
	}
	if t.Compacted {
		k.warn("kafka", subject, compactedTopic)
	}
	if !t.AppendTime {
		k.warn("kafka", subject, "record times are the producers' (message.timestamp.type=CreateTime): "+
			"late and future depend on clocks that you may not control; with LogAppendTime they are the broker's")
	}
	return true
}

// readers looks at the processes between which the partitions are divided.
func (k *checker) readers(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source) {
	if member := cfg.Kafka.Member; member != "" {
		k.result("kafka", "member "+member, "a fixed share of the partitions, without a group", nil, 0)
		return
	}
	in := "group " + group(cfg, j)
	switch found, err := src.Others(ctx); {
	case err != nil:
		k.result("kafka", in, "", err, exitFailed)
	case found.Wrong != "":
		k.add(diagnostic{"kafka", in, "failed", found.Wrong, exitFailed})
	case found.Odd != "":
		k.warn("kafka", in, found.Odd)
	default:
		k.result("kafka", in, spelling.Count(found.Members, "member"), nil, 0)
	}
}

// transactions reports the open transactions, and warns of one whose producer
// seems to be dead.
func (k *checker) transactions(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source) {
	open, err := src.OpenTransactions(ctx)
	if err != nil {
		k.result("kafka", "topic "+j.Topic, "", err, exitFailed)
		return
	}
	for _, o := range open {
		result, advice := "ok", abortIt(cfg, j, o)
		if advice != "" {
			result = "warning"
		}
		k.add(diagnostic{"kafka", "topic " + j.Topic, result, o.String() + advice, 0})
	}
}

// abortIt returns the advice how to end a transaction whose producer may be dead;
// empty if the producer wrote within the last minute.
func abortIt(cfg *config.Config, j *config.Job, o ingest.OpenTransaction) string {
	if time.Since(o.Written) < time.Minute {
		return ""
	}
	return fmt.Sprintf("; they are not counted until it ends. If its producer is dead: kafka-transactions.sh --bootstrap-server %s abort --topic %s --partition %d --start-offset %d",
		strings.Join(cfg.Kafka.Brokers, ","), j.Topic, o.Partition, o.Offset)
}

func (k *checker) clickhouse(cfg *config.Config) {
	quiet := slog.New(slog.DiscardHandler)
	client, err := sinkClient(cfg, quiet)
	if !k.result("clickhouse", "configuration", "", err, exitConfig) {
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	err = client.Ping(ctx)
	cancel()
	if !k.answers(clickhouseService(cfg), cfg.ClickHouse.Where(), err) {
		return
	}
	for url, err := range client.Away(k.ctx) { // it has a time-out for each
		k.warn("clickhouse", url, fmt.Sprintf("this replica fails, and weir asks another one: %v", err))
	}
	k.clock(cfg, client)
	var all []schema.Job
	for i := range cfg.Jobs {
		j := &cfg.Jobs[i]
		job := j.Stored(j.Spec())
		all = append(all, job)
		ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
		sink, err := client.Job(ctx, job)
		cancel()
		if !k.result("schema", "tables of job "+j.Name, "", err, exitFailed) {
			continue
		}
		for _, note := range sink.Notes {
			k.warn("schema", "tables of job "+j.Name, note)
		}
		if src := k.sources[j]; src != nil {
			k.position(cfg, j, src, sink)
			k.ledger(cfg, j, src, sink)
		}
	}
	ctx, cancel = context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	if others, err := migrate.Others(ctx, client.DB, all); err == nil && len(others) > 0 {
		k.result("schema", "other jobs", strings.Join(others, ", ")+": in the database and not in this configuration, so not counted by it; their tables stay as they are", nil, 0)
	}
}

// clock compares the server's clock with this host's. The server's clock decides how long
// rows live and which windows are complete; it decides no number.
func (k *checker) clock(cfg *config.Config, client *clickhouse.Client) {
	before := k.now()
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	server, err := client.Clock(ctx)
	if err != nil {
		k.result("clickhouse", "clock", "", err, exitFailed)
		return
	}
	var keep config.Duration // the shortest
	for _, j := range cfg.Jobs {
		if keep == 0 || j.Keep < keep {
			keep = j.Keep
		}
	}
	switch ahead, behind := server.Sub(k.now()), before.Sub(server); {
	case ahead > time.Minute:
		k.warn("clickhouse", "clock", fmt.Sprintf("the server's clock is ahead of this host's by %s: state rows that were written before it stepped ahead expire earlier by that time, "+
			"and at once if it is more than %s (the shortest keep), so that late events no longer add to their windows; numbers in rollups stay, and weir verify names the chunks. Correct the clock that is wrong", ahead.Round(time.Second), keep))
	case behind > time.Minute:
		k.warn("clickhouse", "clock", fmt.Sprintf("the server's clock is behind this host's by %s: rows live longer by that time, "+
			"and windows with event times that are ahead of it by more than skew are complete later. Correct the clock that is wrong", behind.Round(time.Second)))
	default:
		k.result("clickhouse", "clock", "equal to this host's, within a minute", nil, 0)
	}
}

// position checks, as weir run does, whether the log still has the job's positions.
func (k *checker) position(cfg *config.Config, j *config.Job, src *ingest.Source, sink *clickhouse.Sink) {
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	subject := "position of job " + j.Name
	known, err := sink.Known(ctx) // read before the log, which may grow meanwhile
	if err != nil {
		k.result("ledger", subject, "", err, exitFailed)
		return
	}
	gen, err := src.Assign(ctx)
	if err != nil {
		k.result("ledger", subject, "", err, exitFailed)
		return
	}
	defer gen.Release()
	policy := window.Policy{SkipLost: cfg.Kafka.OnDataLoss == "skip"}
	begin := len(k.diagnostics)
	if err := gen.Missing(); err != nil {
		k.result("ledger", subject, "", err, exitFailed)
	}
	for _, a := range gen.Partitions() {
		p, err := j.Spec().Resume(a, known, policy)
		if err != nil {
			_, hint := classify(err)
			k.result("ledger", subject, "", fmt.Errorf("weir run stops: %w; %s", err, hint), exitFailed)
			continue
		}
		if p.Lost < p.Start {
			k.warn("ledger", subject, fmt.Sprintf("partition %d: offsets %d to %d were deleted from the log before they were counted; weir run records the gap in weir_ledger and goes on (kafka.on_data_loss: skip)", p.Partition, p.Lost, p.Start))
		}
		if p.Cut < p.Lost {
			k.warn("ledger", subject, fmt.Sprintf("partition %d: offsets %d to %d of the open chunk were counted, and then deleted from the log; weir run will read the chunk again from %d, "+
				"and windows with events from both sides keep the greater count of the two readings, so that up to %d events are missing. Keep records (retention.ms) for longer than a chunk takes to fill", p.Partition, p.Cut, p.Lost, p.Start, p.Lost-p.Cut))
		}
	}
	if len(k.diagnostics) == begin {
		k.result("ledger", subject, "the log has it", nil, 0)
	}
}

// ledger compares the coverage of this database with the topic. While no
// process counts the job, records may wait; while one does, each partition
// with waiting records must be flushed into this database.
func (k *checker) ledger(cfg *config.Config, j *config.Job, src *ingest.Source, sink *clickhouse.Sink) {
	limit := waitLimit(cfg)
	ctx, cancel := context.WithTimeout(k.ctx, limit+checkTimeout)
	defer cancel()
	subject := "job " + j.Name
	before, err := sink.Coverage(ctx)
	if err != nil {
		k.result("ledger", subject, "", err, exitFailed)
		return
	}
	why, err := unread(ctx, cfg, j, src, before)
	if err != nil {
		k.result("ledger", subject, "", err, exitFailed)
		return
	}
	if why != "" {
		limit = 0
	}
	u, err := jobs.FindUncounted(ctx, src, sink, limit, nil)
	var after audit.Coverage
	if err == nil {
		after, err = sink.Coverage(ctx)
	}
	_, fixed := cfg.Kafka.Fixed()
	switch {
	case err != nil:
		k.result("ledger", subject, "", err, exitFailed)
	case u == nil:
		k.result("ledger", subject, "every partition with waiting records is counted into this database", nil, 0)
	case why != "":
		k.result("ledger", subject, fmt.Sprintf("not counted yet: %s; %s", spelling.Count(u.Records, "record"), why), nil, 0)
	case fixed > 0 && !after.Moved(before):
		k.warn("ledger", subject, fmt.Sprintf("%v, nor of any other partition: perhaps no member runs; %s", u, remedyOfUncounted(ctx, cfg, j, src)))
	default:
		k.result("ledger", subject, "", fmt.Errorf("%w; %s", u, remedyOfUncounted(ctx, cfg, j, src)), exitFailed)
	}
}

// unread returns why a job's records may wait without anything being wrong: no process
// is in its group or, with kafka.member, where no group says that, none has counted yet.
// It is empty if a process may count them.
func unread(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source, c audit.Coverage) (string, error) {
	if _, fixed := cfg.Kafka.Fixed(); fixed > 0 {
		if len(c.Partitions) == 0 {
			return "no process has counted any into this database yet", nil
		}
		return "", nil
	}
	members, err := src.Members(ctx)
	if len(members) == 0 {
		return "no process is in consumer group " + group(cfg, j), err
	}
	return "", err
}

// print writes the diagnostics. If some failed, the error has the exit code of the first of them.
func (k *checker) print(w io.Writer, asJSON bool) error {
	failed, code := 0, exitFailed
	for _, f := range k.diagnostics {
		if f.Result == "failed" {
			if failed == 0 {
				code = f.code
			}
			failed++
		}
	}
	if asJSON {
		if err := printJSON(w, k.diagnostics); err != nil {
			return err
		}
	} else {
		marks := map[string]string{"ok": "✓", "warning": "!", "failed": "✗"}
		for _, f := range k.diagnostics {
			fmt.Fprintf(w, "%s %-10s %s", marks[f.Result], f.Tier, f.Subject)
			if f.Detail != "" {
				fmt.Fprintf(w, ": %s", printableLines(f.Detail))
			}
			fmt.Fprintln(w)
		}
	}
	if failed > 0 {
		return &exit{code, fmt.Errorf("%d of %d checks failed", failed, len(k.diagnostics)), ""}
	}
	return nil
}
