package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildInfo reads what the Go toolchain wrote into the binary; a build
// without version control has "unknown" there.
func buildInfo() build {
	b := build{Version: "(devel)", Revision: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func versionCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(c *cobra.Command, _ []string) error {
			b := buildInfo()
			switch output {
			case "text":
				fmt.Fprintf(c.OutOrStdout(), "weir %s (%s, %s, %s)\n", b.Version, b.Revision, b.Go, b.Platform)
				return nil
			case "json":
				return json.NewEncoder(c.OutOrStdout()).Encode(b)
			}
			return badOutput(output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return c
}

func badOutput(o string) error {
	return &exit{exitUsage, fmt.Errorf("-o %s: want text or json", o), ""}
}
