package http

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEveryCommand: each command of the Redis endpoint answers about window keys, whatever the kind of their
// measure, if only with an error.
func TestEveryCommand(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42})
	reply, err := d.conn.Do("COMMAND", "DOCS")
	docs, ok := reply.([]any) // a name, then what is known of that command, and so on
	if err != nil || !ok || len(docs) < 100 {
		t.Fatalf("COMMAND DOCS: %v, %v", reply, err)
	}
	measures := []string{"hits", "partial"}
	for _, m := range job.spec.Measures {
		measures = append(measures, m.Name)
	}
	for i := 0; i < len(docs); i += 2 {
		name := docs[i]
		if slices.Contains([]any{"quit", "multi"}, name) { // after these the next one is not answered
			continue
		}
		for n := range 3 {
			m := measures[(3*i/2+n)%len(measures)] // of three measures: all of them for all would take long
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
