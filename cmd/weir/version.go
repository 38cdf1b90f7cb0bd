package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and revision are set by -ldflags "-X main.version=…", for builds
// without version control at hand, such as the build of the image.
var version, revision string

type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildInfo returns the version given to the build, otherwise the one that the Go
// toolchain wrote into the binary, otherwise "unknown".
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
	b.Version, b.Revision = cmp.Or(version, b.Version), cmp.Or(revision, b.Revision)
	return b
}

// String returns the version in one line.
func (b build) String() string {
	rev := b.Revision
	if b.Modified {
		rev += ", modified"
	}
	return fmt.Sprintf("weir %s (%s, %s, %s)", b.Version, rev, b.Go, b.Platform)
}

func versionCommand() *cobra.Command {
	var output outputFlag
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(c *cobra.Command, _ []string) error {
			b := buildInfo()
			if output.json {
				return printJSON(c.OutOrStdout(), b)
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), b)
			return err
		},
	}
	output.add(c)
	return c
}
