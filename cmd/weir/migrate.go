package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"weir/internal/spelling"
	"weir/sinks/clickhouse/migrate"
)

func migrateCommand() *cobra.Command {
	var dry bool
	var writer, reader string
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Create or extend the tables, views and functions in ClickHouse",
		Long: `Create or extend what the jobs of the configuration need in ClickHouse. It may
be run at any time and as often as wanted. It never drops anything, and records
each statement in weir_schema.`,
		RunE: func(c *cobra.Command, _ []string) error {
			m := migrate.Options{DryRun: dry}
			var err error
			if m.Writer, err = sqlUser("--writer", writer, "WEIR_WRITER_PASSWORD", dry); err != nil {
				return err
			}
			if m.Reader, err = sqlUser("--reader", reader, "WEIR_READER_PASSWORD", dry); err != nil {
				return err
			}
			if writer != "" && writer == reader {
				return &exit{exitUsage, fmt.Errorf("--writer %s and --reader %s: one account cannot be both", writer, reader), ""}
			}
			cfg, client, err := connected(c)
			if err != nil {
				return err
			}
			defer client.Close()
			js := sinkJobs(cfg)
			steps, err := client.Migrate(c.Context(), js, m)
			for i, s := range steps {
				if s.Shard != "" && (i == 0 || s.Shard != steps[i-1].Shard) {
					fmt.Fprintf(c.OutOrStdout(), "-- on %s\n\n", s.Shard)
				}
				fmt.Fprintf(c.OutOrStdout(), "%s;\n\n", s.SQL)
			}
			if err != nil {
				return err
			}
			if !dry {
				fmt.Fprintf(c.ErrOrStderr(), "%s applied to %s in %s\n", spelling.Count(len(steps), "statement"), cfg.ClickHouse.Database, cfg.ClickHouse.Where())
				for _, j := range js {
					sink, err := client.Job(c.Context(), j)
					if err != nil {
						return err
					}
					for _, note := range sink.Notes {
						fmt.Fprintln(c.ErrOrStderr(), "note:", note)
					}
				}
			}
			return nil
		},
	}
	configFlags(c)
	c.Flags().BoolVar(&dry, "dry-run", false, "print the SQL and change nothing")
	c.Flags().StringVar(&writer, "writer", "", "also create this SQL user, for weir run: it may read and insert; the password comes from $WEIR_WRITER_PASSWORD")
	c.Flags().StringVar(&reader, "reader", "", "also create this SQL user, for dashboards: it may only read; the password comes from $WEIR_READER_PASSWORD")
	return c
}

// sqlUser returns a user to make, or nil if the flag is not set. It must have a
// password: otherwise every client that reaches the server could use it.
func sqlUser(flag, name, variable string, dry bool) (*migrate.Account, error) {
	if name == "" {
		return nil, nil
	}
	password := os.Getenv(variable)
	if password == "" && !dry {
		return nil, &exit{exitConfig, fmt.Errorf("%s %s: no password: %s is not set", flag, name, variable), ""}
	}
	return &migrate.Account{User: name, Password: password}, nil
}
