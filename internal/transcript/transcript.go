// Package transcript compares a package with its transcripts: text files of
// commands with, under each, all of its output. They read like a specification,
// and a change shows as a diff. The flag -update of the test writes the outputs
// anew.
package transcript

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the outputs in testdata/*.txt anew")

// Run runs each file testdata/*.txt as a test. Indented lines are output, empty
// lines and those that begin with # are comments, and every other line is a
// command. Run calls start at the beginning of a file; start returns the function
// that runs a command and returns its output.
func Run(t *testing.T, start func(t *testing.T) (run func(command string) string)) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(string(want), start(t))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("%s differs (-want +got); the flag -update writes it anew:\n%s", file, d)
			}
		})
	}
}

func play(text string, run func(command string) string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		for l := range strings.Lines(run(line)) {
			fmt.Fprintf(&out, "  %s\n", strings.TrimRight(l, "\n"))
		}
	}
	return out.String()
}
