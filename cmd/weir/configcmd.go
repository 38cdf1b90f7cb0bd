package main

import (
	"github.com/spf13/cobra"

	"weir/config"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Print the effective configuration or its schema"}
	print := &cobra.Command{
		Use:   "print",
		Short: "Print the effective configuration and where each value came from",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, origins, err := loadConfig(c, config.Options{NoJobs: true, NoSecrets: true})
			if err != nil {
				return err
			}
			return config.Print(c.OutOrStdout(), cfg, origins)
		},
	}
	configFlags(print)
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of weir.yaml, for editors",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(config.JSONSchema())
			return err
		},
	}
	c.AddCommand(print, schema)
	return c
}
