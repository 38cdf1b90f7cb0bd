package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/audit"
	"weir/event"
)

func repairCommand() *cobra.Command {
	var span spanFlags
	var only string
	c := &cobra.Command{
		Use:   "repair",
		Short: "Recompute rollups from the rows that they are made from",
		Long: `Recompute the rollups of all lengths: the shortest from the state rows, each
longer one from the next shorter one. It repairs what weir verify finds in rollups:
rows that are missing, or have less than the rows they are made from.

It may run beside weir run, be interrupted, and run again, because ClickHouse
merges what it writes. It lowers no number: windows whose state rows have expired
stay as they are, and so does a number that was raised by hand. To correct such a
number, delete the row of the rollup first, if its state rows still exist.

--from and --to bound the windows; without them, all are recomputed.`,
		Example: "  weir repair -c weir.yaml --from 24h\n  weir repair -c weir.yaml --job clicks --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z",
		RunE: func(c *cobra.Command, _ []string) error {
			b, err := span.open(c)
			if err != nil {
				return err
			}
			defer b.client.Close()
			var names []string
			for i := range b.cfg.Jobs {
				j := &b.cfg.Jobs[i]
				names = append(names, j.Name)
				if only != "" && only != j.Name {
					continue
				}
				sink, _, err := b.sink(c.Context(), j, c.ErrOrStderr())
				if err != nil {
					return err
				}
				say := progress(c.ErrOrStderr())
				done, err := sink.Repair(c.Context(), b.from, b.to, func(table string, made, total int) {
					say("%s: %s: %d of %d windows recomputed\n", j.Name, table, made, total)
				})
				for _, d := range done {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s: %d windows recomputed", j.Name, d.Table, d.Made)
					if d.Left > 0 {
						fmt.Fprintf(c.OutOrStdout(), "; %d left as they are: the rows that they are made from have expired or are gone", d.Left)
					}
					fmt.Fprintln(c.OutOrStdout())
				}
				if err == nil { // until then the audit takes what was made for rows that longer rollups may lack
					err = sink.Rollup(c.Context(), true, 0)
				}
				if err != nil {
					return fmt.Errorf("job %s: %w", j.Name, err)
				}
			}
			if only != "" && !strings.Contains(" "+strings.Join(names, " ")+" ", " "+only+" ") {
				return &exit{exitUsage, fmt.Errorf("--job %s: there is no such job; there is %s", only, strings.Join(names, ", ")), ""}
			}
			return nil
		},
	}
	configFlags(c)
	span.add(c)
	c.Flags().StringVar(&only, "job", "", "only this job")
	return c
}

// repair repairs the rollups of a job in which an audit found something, and
// reports whether it repaired any.
func (a *auditor) repair(ctx context.Context, found []audit.Finding) (repaired bool) {
	for _, b := range a.jobs {
		var of []event.Time // from, until
		n := 0
		for _, f := range found {
			if f.Job == b.Name && f.Class == audit.Behind {
				if n++; of == nil {
					of = []event.Time{f.Window, f.Window + f.Length}
				}
				of = []event.Time{min(of[0], f.Window), max(of[1], f.Window+f.Length)}
			}
		}
		if n == 0 {
			continue
		}
		if _, err := b.sink.Repair(ctx, of[0], of[1], nil); err != nil {
			a.log.Warn("audit: rollups lack rows, and could not be made again; the next audit tries", "job", b.Name, "windows", n, "error", err)
			continue
		}
		a.log.Warn("audit: rollups lacked rows; they are made again", "job", b.Name, "windows", n)
		repaired = true
	}
	return repaired
}
