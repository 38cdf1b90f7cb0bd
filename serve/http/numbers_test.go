package http

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the answers of testdata/answers.txt anew")

// TestNumbers: the paths and the Redis endpoint answer about the window keys of each kind of
// measure what testdata/answers.txt has below each question: the numbers of the events, or what
// is wrong with the question.
func TestNumbers(t *testing.T) {
	const file = "testdata/answers.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{
		0: 7, time.Second: 42, 2 * time.Second: 42, 3 * time.Second: 0, // since 12:05
		time.Minute: 7, 61 * time.Second: 8, 2 * time.Minute: 9,
		5 * time.Minute: 512, 5*time.Minute + time.Second: 512, time.Hour: 4294967295,
	})
	h := d.http.Handler()
	changing := regexp.MustCompile(`"(as_of|resp)":"[^"]+"`)
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		question, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> ")
		switch {
		case strings.HasPrefix(line, "#"):
			got.WriteString(line)
		case !ok: // an answer
		case strings.HasPrefix(question, "/"):
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1"+question, nil))
			body := changing.ReplaceAllString(w.Body.String(), `"$1":"…"`)
			fmt.Fprintf(&got, "> %s\n%d %s\n\n", question, w.Code, strings.TrimSpace(body))
		default:
			var command []any
			for word := range strings.FieldsSeq(question) {
				command = append(command, word)
			}
			reply, err := d.conn.Do(command...)
			if err != nil {
				t.Fatalf("%s: %v", question, err)
			}
			fmt.Fprintf(&got, "> %s\n%v\n\n", question, reply)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, is := strings.Split(string(text), "\n\n"), strings.Split(got.String(), "\n\n")
	for i := range is {
		if i >= len(want) || is[i] != want[i] {
			t.Errorf("got\n%s\nwant\n%s", is[i], append(want, "nothing")[min(i, len(want))])
		}
	}
}
