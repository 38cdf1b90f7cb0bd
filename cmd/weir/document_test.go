package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsCommands: every command that a document quotes exists, with the
// quoted flags.
func TestDocumentsCommands(t *testing.T) {
	files := []string{"../../README.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../dashboards/README.md"}
	err := filepath.WalkDir("../../docs", func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".md") {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Commands are in code spans or blocks; text after two blanks is a remark.
	code := regexp.MustCompile("(?s)```.*?\n```|`[^`]+`")
	command := regexp.MustCompile(`(?m)(?:^|[^\w/.-])(?:bin/)?weir ([a-z]+)\b([^\n|;]*)`)
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, quoted := range code.FindAllString(string(text), -1) {
			if strings.HasPrefix(quoted, "`kafka: ") {
				continue // a line of the log
			}
			for _, m := range command.FindAllStringSubmatch(strings.ReplaceAll(quoted, "`", "\n"), -1) {
				arguments, _, _ := strings.Cut(m[2], "  ")
				line := "weir " + m[1] + arguments
				words := strings.Fields(m[1] + arguments)
				c, rest, err := newRoot().Find(words)
				if err != nil || c.Name() == "weir" {
					t.Errorf("%s quotes %q: there is no such command", file, line)
					continue
				}
				n++
				c.InitDefaultHelpFlag()
				for _, word := range rest {
					if name, ok := strings.CutPrefix(strings.Trim(word, `'",.()`), "--"); ok {
						name, _, _ = strings.Cut(name, "=")
						if c.Flag(name) == nil {
							t.Errorf("%s quotes %q: there is no flag --%s", file, line, name)
						}
					}
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d commands found: the test tests little", n)
	}
}
