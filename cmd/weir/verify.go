package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"weir/event"
	"weir/internal/config"
	"weir/jobs"
	"weir/sinks/clickhouse"
	"weir/window"
)

func verifyCommand() *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Audit: log against ledger against rows; exit 1 on any mismatch",
		Long: `Hold what ClickHouse stores against itself and against Kafka: the fates of every
ledger line against its offsets, the sum of the counts of every chunk against
what the ledger says was counted, every rollup against its state rows, and the
offsets against the log. It changes nothing and may run beside weir run.

--from and --to bound the windows that are compared with their rollups; the
ledger is always checked whole.`,
		Example: "  weir verify -c weir.yaml\n  weir verify -c weir.yaml --from 24h\n  weir verify -c weir.yaml --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z",
		RunE: func(c *cobra.Command, _ []string) error {
			now := time.Now()
			begin, err := moment("--from", from, now)
			if err != nil {
				return err
			}
			end, err := moment("--to", to, now)
			if err != nil {
				return err
			}
			cfg, client, err := connected(c)
			if err != nil {
				return err
			}
			defer client.Close()
			v := &verifier{cfg: cfg, client: client, from: begin, to: end, out: c.OutOrStdout(), err: c.ErrOrStderr()}
			for i := range cfg.Jobs {
				if err := v.job(c.Context(), &cfg.Jobs[i]); err != nil {
					return err
				}
			}
			if v.mismatches > 0 {
				return &exit{exitFailed, fmt.Errorf("%d mismatches", v.mismatches), ""}
			}
			return nil
		},
	}
	configFlags(c)
	c.Flags().StringVar(&from, "from", "", "first window: a time (RFC 3339) or how long ago (24h)")
	c.Flags().StringVar(&to, "to", "", "end of the windows, likewise")
	return c
}

// moment reads a time or an age; nothing is no bound.
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
	cfg        *config.Config
	client     *clickhouse.Client
	from, to   event.Time
	out, err   io.Writer
	mismatches int
}

func (v *verifier) job(ctx context.Context, j *config.Job) error {
	s, err := j.Spec()
	if err != nil {
		return &exit{exitConfig, err, ""}
	}
	sink, err := v.client.Job(ctx, sinkJob(j, s))
	if err != nil {
		return err
	}
	before := v.mismatches
	todo := newRemedy(s)
	said := time.Now()
	audited, err := sink.Audit(ctx, v.from, v.to, func(f window.Finding) error {
		v.mismatches++
		fmt.Fprintf(v.out, "%s: %s\n", j.Name, todo.take(f))
		return nil
	}, func(done, total int) {
		if time.Since(said) > 2*time.Second || isTerminal(v.err) {
			said = time.Now()
			fmt.Fprintf(v.err, "%s: %d of %d days read\n", j.Name, done, total)
		}
	})
	if err != nil {
		return fmt.Errorf("job %s: %w", j.Name, err)
	}
	for _, f := range audited.Clipped { // no mismatch: the operator chose to go on
		fmt.Fprintf(v.out, "%s: note: %s\n  %s\n", j.Name, f, f.Advice())
	}
	log, err := v.log(ctx, j)
	if err != nil {
		return err
	}
	gaps, lag := jobs.CompareLog(audited.Reached, log)
	for _, g := range gaps {
		v.mismatches++
		fmt.Fprintf(v.out, "%s: %s\n", j.Name, g)
	}
	if n := v.mismatches - before; n == 0 {
		fmt.Fprintf(v.out, "%s: everything adds up: %d ledger lines, %d chunks, %d windows; %d records not counted yet\n",
			j.Name, audited.Lines, audited.Chunks, audited.Windows, lag)
	} else {
		fmt.Fprintf(v.out, "%s: %d mismatches in %d ledger lines, %d chunks, %d windows\n", j.Name, n, audited.Lines, audited.Chunks, audited.Windows)
		todo.print(v.out, v.cfg.Kafka.Brokers, group(v.cfg, j), j.Topic, log)
	}
	return nil
}

// log is what Kafka holds of the job's topic.
func (v *verifier) log(ctx context.Context, j *config.Job) ([]event.Assignment, error) {
	src, err := source(v.cfg, j, newLog(v.err, config.Log{Level: "warn", Format: "auto"}), nil)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	ctx, cancel := context.WithTimeout(ctx, max(time.Duration(v.cfg.Kafka.ConnectTimeout), 5*time.Second))
	defer cancel()
	if err := src.Ping(ctx); err != nil {
		return nil, &exit{exitUnavailable, fmt.Errorf("kafka %v: %w", v.cfg.Kafka.Brokers, err), ""}
	}
	gen, err := src.Assign(ctx)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", j.Topic, err)
	}
	defer gen.Release()
	return gen.Partitions(), nil
}
