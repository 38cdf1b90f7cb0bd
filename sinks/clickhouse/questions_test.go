package clickhouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"weir/demo/local"
	"weir/demo/local/localtest"
	"weir/internal/await"
	"weir/internal/kafkatest"
	"weir/sinks/clickhouse/wire"
)

// TestQuestions: however many questions are not answered, the jobs write: questions take half of
// the connections, and the others wait.
func TestQuestions(t *testing.T) {
	engine, database := localtest.Engine(t)
	to, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	var held, most atomic.Int64
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("query") == "" {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
			if strings.Contains(string(text), "LIMIT 1 BY epoch") { // a question about dead letters
				if n := held.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer held.Add(-1)
				<-answer
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := dial(t, wire.Config{URLs: []string{server.URL}, Database: database, InsertTimeout: await.Never})
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/p/1", 1, "1"))
	changes := op.Take()
	changes.Table.Seal()

	const questions = 4 * wire.QuestionsMost
	done := make(chan error, questions)
	for range questions {
		go func() {
			_, err := s.DeadLetters(t.Context(), 1)
			done <- err
		}()
	}
	await.Until(t, func() error {
		if n := held.Load(); n < wire.QuestionsMost {
			return fmt.Errorf("%d questions are under way, want %d", n, wire.QuestionsMost)
		}
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.DeadLetters(ctx, 1); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "8 other questions are not answered yet") {
		t.Errorf("a question that gives up: %v", err)
	}
	if err := s.Write(t.Context(), changes); err != nil {
		t.Errorf("while %d questions are not answered: %v", held.Load(), err)
	}
	close(answer)
	for range questions {
		if err := <-done; err != nil && !errors.Is(err, context.DeadlineExceeded) { // it has a minute
			t.Errorf("a question that waited: %v", err)
		}
	}
	if most.Load() != wire.QuestionsMost {
		t.Errorf("%d questions at a time, want %d", most.Load(), wire.QuestionsMost)
	}
}

// TestQuestionGivenUp: the server ends a question that nothing waits for any more.
func TestQuestionGivenUp(t *testing.T) {
	var ports [2]int
	for i := range ports {
		var err error
		if ports[i], err = kafkatest.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := local.StartNative(t.Context(), local.NativeConfig{Data: t.TempDir(), HTTP: ports[0], TCP: ports[1], Settings: map[string]string{"max_threads": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Kill)
	c := dial(t, wire.Config{URLs: []string{engine.URL()}, Database: "default"})
	runs := func(want int) func() error {
		return func() error {
			var n int
			err := c.Home().Query(t.Context(), "look", "SELECT toInt64(count()) FROM system.processes WHERE query LIKE 'SELECT sum(sipHash64(number))%'", func(scan func(...any) error) error {
				var found int64
				err := scan(&found)
				n = int(found)
				return err
			})
			if err == nil && n != want {
				err = fmt.Errorf("the server answers %d questions, want %d", n, want)
			}
			return err
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Home().Question(ctx, "ask", "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)", func(func(...any) error) error { return nil })
	}()
	await.Until(t, runs(1))
	giveUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the question: %v", err)
	}
	await.Until(t, runs(0))
}

// TestRowRefused: an error about a row is that of the query, whatever it is: an end in the middle of a state is
// not the end of the answer.
func TestRowRefused(t *testing.T) {
	c := open(t)
	rows := 0
	err := c.Query(t.Context(), "read states", "SELECT number FROM numbers(3)", func(func(...any) error) error {
		rows++
		return fmt.Errorf("state %d: %w", rows, io.EOF)
	})
	if !errors.Is(err, io.EOF) || rows != 1 {
		t.Errorf("%v after %d rows", err, rows)
	}
}
