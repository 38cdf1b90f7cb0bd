package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
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
			default:
				doc = append(doc, line)
			}
		}
		c.yaml = strings.Join(doc, "\n")
		cases = append(cases, c)
	}
	return cases
}

// line is the shape of every message about a file. The path may be missing
// when the file as a whole is wrong.
var line = regexp.MustCompile(`^[^:]+:[0-9]+:[0-9]+: ([a-z][^ ]*: )?[^ ].*$`)

// TestMessages compares every message of the package, word by word. With
// -update it rewrites the file, for a review of the diff.
func TestMessages(t *testing.T) {
	var out bytes.Buffer
	for _, c := range readBadCases(t) {
		_, _, err := Load(Options{File: "weir.yaml", Data: []byte(c.yaml), Env: c.env, Flags: flagsOf(t, c.args...), NoJobs: !strings.Contains(c.yaml, "jobs")})
		fmt.Fprintf(&out, "== %s\n", c.title)
		for _, line := range append(c.env, c.args...) {
			fmt.Fprintf(&out, "$ %s\n", line)
		}
		fmt.Fprintf(&out, "%s\n", c.yaml)
		var list *Error
		if !errors.As(err, &list) {
			t.Errorf("%s: no problem, but %v", c.title, err)
			continue
		}
		for got := range strings.SplitSeq(list.Error(), "\n") {
			fmt.Fprintf(&out, "-- %s\n", got)
			if !line.MatchString(got) && !strings.HasPrefix(got, "WEIR_") && !strings.HasPrefix(got, "--") {
				t.Errorf("%s: %q is not of the form file:line:col: path: problem", c.title, got)
			}
		}
		for _, secret := range []string{"hunter2", "hush"} {
			if strings.Contains(list.Error(), secret) {
				t.Errorf("%s: a message repeats a password", c.title)
			}
		}
	}
	golden(t, "testdata/errors.txt", out.Bytes())
}
