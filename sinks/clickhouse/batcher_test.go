package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/flow/rounds"
	"weir/internal/await"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// statements is what a batcher has run, for tests.
type statements struct {
	mu  sync.Mutex
	all [][]string
	err error
	on  func(ctx context.Context) error // nil: return err
}

func (s *statements) run(ctx context.Context, all []string) error {
	s.mu.Lock()
	s.all = append(s.all, slices.Sorted(slices.Values(all)))
	s.mu.Unlock()
	if s.on != nil {
		return s.on(ctx)
	}
	return s.err
}

// TestBatcher: a request waits for those of announced writers, and no longer than batchWait; one that
// comes after a statement has begun is of the next one. A writer that has asked, or that was waited for in
// vain, is not waited for again. If nobody announces, each request waits for batchWait.
func TestBatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &statements{}
		j := newBatcher(s)
		var asked sync.WaitGroup
		ask := func(w *rounds.Writer, request string) {
			asked.Go(func() {
				if err := j.do(t.Context(), w, request); err != nil {
					t.Errorf("%s: %v", request, err)
				}
			})
			synctest.Wait()
		}
		expect := func(want ...string) {
			t.Helper()
			s.mu.Lock()
			defer s.mu.Unlock()
			var got []string
			for _, all := range s.all {
				got = append(got, strings.Join(all, " "))
			}
			if !slices.Equal(got, want) {
				t.Errorf("statements %q, want %q", got, want)
			}
		}
		began := time.Now()

		ask(nil, "alone")
		expect("alone")

		a, b, c := &rounds.Writer{}, &rounds.Writer{}, &rounds.Writer{}
		j.announce(a)
		j.announce(b)
		j.announce(c)
		ask(a, "a")
		ask(nil, "unannounced")
		ask(b, "b")
		expect("alone")
		j.leave(c) // it has nothing to ask
		synctest.Wait()
		expect("alone", "a b unannounced")
		ask(a, "a again")
		expect("alone", "a b unannounced", "a again")
		j.leave(a)
		ask(nil, "after")
		expect("alone", "a b unannounced", "a again", "after")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("they waited %v for nothing", waited)
		}

		slow, quick := &rounds.Writer{}, &rounds.Writer{}
		j.announce(slow)
		j.announce(quick)
		ask(quick, "quick")
		time.Sleep(batchWait - 1)
		synctest.Wait()
		expect("alone", "a b unannounced", "a again", "after")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		expect("alone", "a b unannounced", "a again", "after", "quick")
		ask(quick, "quick again")
		ask(slow, "slow")
		expect("alone", "a b unannounced", "a again", "after", "quick", "quick again", "slow")

		j.unasked = true
		ask(a, "look")
		ask(b, "look too")
		expect("alone", "a b unannounced", "a again", "after", "quick", "quick again", "slow")
		time.Sleep(batchWait)
		synctest.Wait()
		expect("alone", "a b unannounced", "a again", "after", "quick", "quick again", "slow", "look look too")
		asked.Wait()
	})
}

// TestFlushesJoin: two jobs of a client that write at once write their ledger lines with one
// statement, and read their rounds with one; each has its own round and lines. So has each
// its own part of what they ask of the ledger together.
func TestFlushesJoin(t *testing.T) {
	direct := open(t)
	other := actives()
	spec := *other.Spec
	spec.Job = "others"
	other.Spec = &spec
	if _, err := direct.Migrate(t.Context(), []schema.Job{actives(), other}, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	c := through(t, direct.Config.URLs[0], direct.Config.Database, func(statement string) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, what := range []string{"_state", "greatest(max(opened)", schema.LedgerTable} {
			if strings.Contains(statement, what) {
				seen[what]++
			}
		}
		return true
	}, nil)
	var sinks []*Sink
	var all []*window.Changes
	for i, j := range []schema.Job{actives(), other} {
		s, err := c.Job(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		f := &tap{op: operator(t, s.layout.Spec, 0)}
		for range 1 + i { // the second job has another round than the first
			write(t, s, f.flow(t, 8))
			roll(t, s, true)
		}
		sinks, all = append(sinks, s), append(all, f.flow(t, 8+i))
	}
	// Each write waits for the other one, as long as it takes. None asks for its round beforehand,
	// however long ago it was read: that question would wait for the other one's second.
	c.rounds.wait, c.lines.wait = time.Hour, time.Hour
	for _, s := range sinks {
		s.rounds.asked = time.Now().Add(time.Hour)
	}
	first := &rounds.Writer{}
	c.rounds.announce(first)
	clear(seen)
	var writing sync.WaitGroup
	for i, s := range sinks {
		all[i].Table.Seal()
		writing.Go(func() {
			if err := s.Write(t.Context(), all[i]); err != nil {
				t.Error(err)
			}
		})
	}
	await.Until(t, func() error {
		c.rounds.mu.Lock()
		defer c.rounds.mu.Unlock()
		if c.rounds.next == nil || len(c.rounds.next.all) < 2 {
			return fmt.Errorf("they have not both asked: %v", c.rounds.next)
		}
		return nil
	})
	c.rounds.leave(first)
	writing.Wait()
	if want := map[string]int{"_state": 2, "greatest(max(opened)": 1, schema.LedgerTable: 1}; !maps.Equal(seen, want) {
		t.Errorf("statements %v, want %v", seen, want)
	}
	var asked []*roundRequest
	for _, s := range sinks {
		exact(t, s, s.layout.Spec.Job)
		asked = append(asked, &roundRequest{job: &s.layout.Job})
	}
	if err := (readRounds{c}).run(t.Context(), asked); err != nil || asked[0].opened == asked[1].opened {
		t.Fatalf("the rounds are %d and %d, %v; want different ones", asked[0].opened, asked[1].opened, err)
	}
	for i, s := range sinks {
		if want := one(t, c, s.currentRound()); fmt.Sprintf("(%d)", asked[i].opened) != want {
			t.Errorf("the round of %s is %d, want %s", s.layout.Spec.Job, asked[i].opened, want)
		}
	}
	looks := []*coverageRequest{{job: &sinks[0].layout.Job}, {job: &sinks[1].layout.Job}}
	if err := (readCoverage{c}).run(t.Context(), looks); err != nil {
		t.Fatal(err)
	}
	for i, s := range sinks {
		known, err := s.Known(t.Context())
		if covered := looks[i].covered; covered.Now == 0 || len(covered.Partitions) != 1 || covered.Partitions[0].Next != known[0].Next {
			t.Errorf("together, %s is covered as %v, want until %d", s.layout.Spec.Job, covered, known[0].Next)
		}
		if want := all[i].Lines[len(all[i].Lines)-1].Next; err != nil || known[0].Next != want {
			t.Errorf("the ledger has %v of %s, %v; want all until %d", known, s.layout.Spec.Job, err, want)
		}
	}
}

// currentRound returns the query for the current round.
func (s *Sink) currentRound() string {
	return fmt.Sprintf("SELECT greatest(max(opened), max(done)) FROM %s WHERE %s%s", s.client.Name("weir_rollups"), s.layout.Where(), schema.ByKey)
}
