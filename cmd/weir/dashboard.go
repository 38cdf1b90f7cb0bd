package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/config"
	"weir/internal/grafana"
	"weir/sinks/clickhouse/wire"
)

func dashboardCommand() *cobra.Command {
	var name, dir string
	c := &cobra.Command{
		Use:   "dashboard",
		Short: "Print Grafana dashboards for the jobs of the configuration",
		Long: `Print Grafana dashboards for the jobs of the configuration, as JSON: one for each
job, on ClickHouse, with a panel for each measure; and two for weir itself, one of the
ledger, the dead letters and the audit on ClickHouse, and one of the metrics on
Prometheus. Nothing is connected to.`,
		Example: "  weir dashboard -c weir.yaml --out grafana\n  weir dashboard -c weir.yaml --job clicks > clicks.json",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(c, config.Options{})
			if err != nil {
				return err
			}
			js := sinkJobs(cfg)
			suffix := ""
			if len(cfg.ClickHouse.Shards) > 0 {
				if suffix = wire.AllShards; cfg.ClickHouse.Cluster == "" {
					return &exit{exitConfig, errors.New("a dashboard would show a part: no server has what all shards have, because clickhouse.shards is set without clickhouse.cluster"), "see docs/clickhouse.md"}
				}
			}
			var boards []grafana.Board
			for _, j := range js {
				if name != "" && j.Spec.Job != name {
					continue
				}
				b, err := grafana.Job(j, suffix)
				if err != nil {
					return err
				}
				boards = append(boards, b)
			}
			if name == "" {
				pipeline, err := grafana.Pipeline(js)
				if err != nil {
					return err
				}
				metrics, err := grafana.Metrics()
				if err != nil {
					return err
				}
				boards = append(boards, pipeline, metrics)
			} else if len(boards) == 0 {
				return &exit{exitUsage, fmt.Errorf("--job %s: the configuration has no such job", name), ""}
			}
			if dir != "" {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			for _, b := range boards {
				if dir == "" {
					_, err = c.OutOrStdout().Write(b.JSON)
				} else {
					file := filepath.Join(dir, b.UID+".json")
					if err = os.WriteFile(file, b.JSON, 0o644); err == nil {
						fmt.Fprintln(c.ErrOrStderr(), file)
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	configFlags(c)
	c.Flags().StringVar(&name, "job", "", "only the dashboard of this job")
	c.Flags().StringVar(&dir, "out", "", "write a file for each dashboard into this directory, which is made if it is missing")
	return c
}
