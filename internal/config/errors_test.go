package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A badCase is one entry of testdata/errors.txt:
//
//	== title
//	$ WEIR_FLUSH_INTERVAL=5        (environment, any number of lines)
//	$ --flush.interval=5           (arguments)
//	the YAML
//	-- the message, one line per problem
type badCase struct {
	title     string
	env, args []string
	yaml      string
	want      []string
}

func readBadCases(t testing.TB) []badCase {
	t.Helper()
	data, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []badCase
	for _, block := range strings.Split("\n"+string(data), "\n== ")[1:] {
		var c badCase
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		c.title = lines[0]
		var doc []string
		for _, line := range lines[1:] {
			switch {
			case strings.HasPrefix(line, "$ --"):
				c.args = append(c.args, line[2:])
			case strings.HasPrefix(line, "$ "):
				c.env = append(c.env, line[2:])
			case strings.HasPrefix(line, "-- "):
				c.want = append(c.want, line[3:])
			default:
				doc = append(doc, line)
			}
		}
		c.yaml = strings.Join(doc, "\n")
		cases = append(cases, c)
	}
	return cases
}

func (c badCase) load(t testing.TB) error {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(c.args); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(Options{File: "weir.yaml", Data: []byte(c.yaml), Env: c.env, Flags: fs, NoJobs: !strings.Contains(c.yaml, "jobs")})
	return err
}

// TestMessages compares every message of the package, word by word. With
// -update it rewrites the file, for a review of the diff.
func TestMessages(t *testing.T) {
	var out bytes.Buffer
	for _, c := range readBadCases(t) {
		err := c.load(t)
		if err == nil {
			t.Errorf("%s: no error", c.title)
			continue
		}
		var list *Error
		if !errors.As(err, &list) || list.ExitCode() != 78 {
			t.Errorf("%s: %T: %v; want an *Error with exit code 78", c.title, err, err)
		}
		if got, want := err.Error(), strings.Join(c.want, "\n"); got != want && !*update {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.title, got, want)
		}
		fmt.Fprintf(&out, "== %s\n", c.title)
		for _, line := range append(c.env, c.args...) {
			fmt.Fprintf(&out, "$ %s\n", line)
		}
		fmt.Fprintf(&out, "%s\n", c.yaml)
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(&out, "-- %s\n", line)
		}
	}
	if *update {
		golden(t, "testdata/errors.txt", out.Bytes())
	}
}

// line is the shape of every message about a file. The path may be missing
// when the file as a whole is wrong.
var line = regexp.MustCompile(`^[^ :]+:[0-9]+:[0-9]+: ([a-z][^ ]*: )?[^ ].*$`)

func TestMessagesNameTheirPlace(t *testing.T) {
	for _, c := range readBadCases(t) {
		for _, got := range c.want {
			if strings.HasPrefix(got, "WEIR_") || strings.HasPrefix(got, "--") || strings.HasPrefix(got, "and ") {
				continue
			}
			if !line.MatchString(got) {
				t.Errorf("%s: %q is not of the form file:line:col: path: problem", c.title, got)
			}
		}
	}
}
