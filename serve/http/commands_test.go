package http

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestEveryCommand: each command of the Redis endpoint answers about window keys, whatever the kind of their
// measure, if only with an error.
func TestEveryCommand(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42})
	document, err := os.ReadFile("../../docs/commands-redis.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\| ([A-Z][A-Z._]+) \|`).FindAllStringSubmatch(string(document), -1)
	if len(names) < 100 {
		t.Fatalf("the document names %d commands", len(names))
	}
	measures := []string{"hits", "partial"}
	for _, m := range job.spec.Measures {
		measures = append(measures, m.Name)
	}
	for i := range names {
		name := names[i][1]
		if name == "QUIT" || name == "MULTI" { // after these the next one is not answered
			continue
		}
		for n := range 3 {
			m := measures[(3*i+n)%len(measures)] // of three measures: all of them for all would take long
			for _, rest := range []string{
				"KEY", "KEY a", "KEY 1", "KEY 0 -1", "KEY 0 1 2", "KEY a 1 2", "KEY - + BYLEX", "KEY 7 42", "KEY GET u8 0", "KEY ITEMS a",
				"to KEY", "to KEY a", "KEY to", "1 KEY", "2 KEY KEY", "2 KEY to", "OR to KEY", "NOT to KEY",
				"USAGE KEY", "ENCODING KEY", "GETREG KEY", "TODENSE KEY",
				"KEY 15 37 100 km", "KEY a 100 km", "KEY FROMLONLAT 15 37 BYRADIUS 100 km", "to KEY FROMLONLAT 15 37 BYRADIUS 100 km",
			} {
				command := []any{name}
				for word := range strings.FieldsSeq(strings.ReplaceAll(rest, "KEY", "w:clicks:"+m+":now")) {
					command = append(command, word)
				}
				if _, err := d.conn.Do(command...); err != nil {
					t.Fatalf("%v: %v", command, err)
				}
			}
		}
	}
	d.asks("PONG", "PING")
}
