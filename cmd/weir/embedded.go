package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/config"
	"weir/demo/local"
)

func engineCommand() *cobra.Command {
	var listen, data string
	c := &cobra.Command{
		Use:   "engine",
		Short: "The embedded ClickHouse alone, over HTTP",
		Long: `Serve the ClickHouse engine over its HTTP interface: for clickhouse-go, curl,
Grafana and clickhouse-connect. It has no accounts: a client that reaches the port can
read and write every table, so by default it listens on loopback.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(hostPort("--listen", listen), directory("--data", data)); err != nil {
				return err
			}
			dir, err := filepath.Abs(data)
			if err != nil {
				return err
			}
			log := newLog(c.ErrOrStderr(), config.Log{Level: "info", Format: "auto"})
			return place{addr: listen, key: "--listen"}.explain(local.ServeEngine(c.Context(), local.EngineConfig{Listen: listen, Data: dir, Log: log}))
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8123", "address to listen on")
	c.Flags().StringVar(&data, "data", filepath.Join("weir-data", "engine"), "directory of the tables")
	return c
}

func brokerCommand() *cobra.Command {
	var listen, data string
	var topics []string
	var partitions int
	c := &cobra.Command{
		Use:   "broker",
		Short: "The embedded broker alone",
		Long: `Serve the Kafka protocol from this process, for trials and tests. Topics and
records are kept in --data. It is not a full Kafka: one node, no replication.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if partitions < 1 {
				return &exit{exitUsage, fmt.Errorf("--partitions %d: want at least 1", partitions), ""}
			}
			if err := errors.Join(hostPort("--listen", listen), directory("--data", data)); err != nil {
				return err
			}
			log := newLog(c.ErrOrStderr(), config.Log{Level: "info", Format: "auto"})
			b, err := local.StartBroker(c.Context(), local.BrokerConfig{Listen: listen, Data: data, Topics: localTopics(topics, partitions, nil), Log: log})
			if err != nil {
				return place{addr: listen, key: "--listen"}.explain(err)
			}
			fmt.Fprintln(c.OutOrStdout(), b.Addr())
			<-c.Context().Done()
			return b.Close()
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:9092", "address to listen on")
	c.Flags().StringVar(&data, "data", filepath.Join("weir-data", "broker"), "directory of the log")
	c.Flags().StringSliceVar(&topics, "topics", upTopics, "topics to create where they are missing")
	c.Flags().IntVar(&partitions, "partitions", upPartitions, "partitions of a topic that is created")
	return c
}

// directory refuses a path that exists and is not a directory.
func directory(flag, name string) error {
	at, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && at.IsDir():
		return nil
	case err != nil:
		return &exit{exitUsage, fmt.Errorf("%s %s: %w", flag, name, err), "name a directory; it is made if it is missing"}
	}
	return &exit{exitUsage, fmt.Errorf("%s %s is a file", flag, name), "name a directory; it is made if it is missing"}
}

// localTopics returns topics that have the same configuration.
func localTopics(names []string, partitions int, config map[string]string) []local.Topic {
	ts := make([]local.Topic, len(names))
	for i, n := range names {
		ts[i] = local.Topic{Name: n, Partitions: partitions, Config: config}
	}
	return ts
}
