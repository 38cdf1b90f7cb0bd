package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"weir/sinks/clickhouse"
)

func migrateCommand() *cobra.Command {
	var dry bool
	var reader string
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Create or extend the tables, views and functions in ClickHouse",
		Long: `Create or extend what the jobs of the configuration need in ClickHouse. It may
be run at any time and as often as wanted: what is there stays, what was
applied is recorded in weir_schema, and nothing is ever dropped.`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, client, err := connected(c)
			if err != nil {
				return err
			}
			defer client.Close()
			js, err := sinkJobs(cfg)
			if err != nil {
				return err
			}
			m := clickhouse.Migration{DryRun: dry}
			if reader != "" {
				m.Reader = &clickhouse.Reader{User: reader, Password: os.Getenv("WEIR_READER_PASSWORD")}
			}
			steps, err := client.Migrate(c.Context(), js, m)
			for _, s := range steps {
				fmt.Fprintf(c.OutOrStdout(), "%s;\n\n", s.SQL)
			}
			if err != nil {
				return err
			}
			if !dry {
				fmt.Fprintf(c.ErrOrStderr(), "%d statements applied to %s in %s\n", len(steps), cfg.ClickHouse.Database, cfg.ClickHouse.URL)
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
	c.Flags().StringVar(&reader, "reader", "", "also create this SQL user, who may only read the views; the password comes from $WEIR_READER_PASSWORD")
	return c
}
