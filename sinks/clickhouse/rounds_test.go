package clickhouse

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/event"
	"weir/sinks/clickhouse/wire"
	"weir/sinks/memory"
	"weir/window"
)

// through connects to the engine by way of f, which sees the text of every
// statement and says whether it gets there (before), and whether its answer
// gets back (after).
func through(t *testing.T, url, database string, before, after func(statement string) bool) *Client {
	t.Helper()
	where, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	engine := httputil.NewSingleHostReverseProxy(where)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		statement := q.URL.Query().Get("query")
		if statement == "" {
			statement = string(body)
		}
		if before != nil && !before(statement) {
			panic(http.ErrAbortHandler)
		}
		// What is under way gets there, even if the one who asked is gone.
		a := q.Clone(context.WithoutCancel(q.Context()))
		a.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		engine.ServeHTTP(answer, a)
		if after != nil && !after(statement) {
			panic(http.ErrAbortHandler)
		}
		for k, v := range answer.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(s.Close)
	return dial(t, wire.Config{URLs: []string{s.URL}, Database: database})
}

// another returns the job of s once more by way of c, as another process has it.
func another(c *Client, s *Sink) *Sink { return c.sink(s.layout) }

// roll rolls up windows that are open, too: with all, past every row, and otherwise as
// if their live tails had grown for long.
func roll(t *testing.T, s *Sink, all bool) {
	t.Helper()
	for i := range s.memos {
		s.memos[i].due = time.Time{}
	}
	if err := s.Rollup(t.Context(), all, 0); err != nil {
		t.Fatal(err)
	}
}

// exact compares the views of the job with what the state rows make.
func exact(t *testing.T, s *Sink, what string) {
	t.Helper()
	b, l := &backend{c: s.client}, s.layout
	held := &memory.Contents{Rows: map[memory.Key]*memory.Row{}}
	b.rows(t, l, held)
	for _, v := range l.Levels {
		length := event.Time(v.Seconds) * 1000
		if got, want := b.view(t, l, length), memory.Merge(held.Rows, length); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %s:\n got %v\nwant %v", what, v.View, got, want)
		}
	}
}

// noTail fails if a window is in the live tail of the first view.
func noTail(t *testing.T, s *Sink) {
	t.Helper()
	d := s.level(0)
	at, err := s.progress(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	d.Since = at.done
	if list, err := (rollup{s, t.Context(), d}).Touched(); err != nil || len(list) > 0 {
		t.Errorf("%d windows are in the live tail of %s after a rollup of everything, %v", len(list), d.Level.View, err)
	}
}

// A tap is one partition whose events are observed and taken bit by bit.
type tap struct {
	op     *window.Operator
	next   int64
	minute bool // a minute each, no window twice; otherwise over six windows again and again
}

// flow observes n events, within two hours.
func (f *tap) flow(t *testing.T, n int) *window.Changes {
	t.Helper()
	var docs []string
	for i := range int64(n) {
		at := f.next + i
		ts := at * 1_200_000 % 7_200_000
		if f.minute {
			ts = at * 60_000
		}
		docs = append(docs, click(noon+ts, fmt.Sprintf("/p/%d", at%3), int(at), fmt.Sprint(at)))
	}
	observe(t, f.op, 0, f.next, noon+7_200_000, docs...)
	f.next += int64(n)
	c := f.op.Take()
	c.Table.Seal()
	return c
}

// TestClocks: the server's clock, by which rows say when they were written,
// steps back and ahead by minutes between flushes and rollups, and is another
// for state rows than for rollups, as on two replicas. The first view is exact
// as of the last flush all the while, and all are once they are rolled up.
func TestClocks(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0), minute: true}
	b := &backend{c: c}
	clock := func(table, column string, seconds int) {
		b.exec(t, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN %s DEFAULT now() + %d", c.Name(table), column, seconds))
	}
	for i, shift := range [][2]int{{0, 0}, {3600, 3600}, {-600, -600}, {-600, 600}, {86400, -86400}, {0, 0}} {
		clock("clicks_state", "flushed_at", shift[0])
		clock("weir_ledger", "flushed_at", shift[0])
		clock("clicks_1m_rollup", "rolled_at", shift[1])
		clock("clicks_1h_rollup", "rolled_at", shift[1])
		for n := range 2 {
			write(t, s, f.flow(t, 4))
			what := fmt.Sprintf("clocks %d, %v, flush %d", i, shift, n)
			exact(t, s, what)
			roll(t, s, false)
			exact(t, s, what+", rolled up")
		}
		roll(t, another(c, s), true)
		exact(t, s, fmt.Sprintf("clocks %d, %v, all rolled up", i, shift))
	}
	// The windows that nothing was written to since are in the rollup itself.
	if got, want := one(t, c, "SELECT sum(h) FROM (SELECT max(hits) AS h FROM "+c.Name("clicks_1m_rollup")+" GROUP BY page, country, window_start)"), fmt.Sprintf("(%d)", f.next); got != want {
		t.Errorf("the rollup holds %s events, want %s", got, want)
	}
}

// TestOvertaken: a writer stalls at each of its steps while several rollups
// pass. When it says that the rows are written, the view has them, and the
// rollups get them.
func TestOvertaken(t *testing.T) {
	url, database := localtest.Engine(t)
	direct := dial(t, wire.Config{URLs: []string{url}, Database: database})
	other := install(t, direct, actives())
	f := &tap{op: operator(t, other.layout.Spec, 0)}
	write(t, other, f.flow(t, 6))
	roll(t, other, true)

	var stall func(step string) // once
	at := func(step string) func(string) bool {
		return func(statement string) bool {
			for _, x := range []string{"`.`clicks_state`", "SELECT job, version, greatest(max(opened)", "`.`weir_ledger`"} {
				if g := stall; strings.Contains(statement, x) && g != nil {
					g(step + " " + strings.Trim(x, "`."))
				}
			}
			return true
		}
	}
	s := another(through(t, url, database, at("before"), at("behind")), other)
	for _, step := range []string{
		"before SELECT job, version, greatest(max(opened)", "behind SELECT job, version, greatest(max(opened)", "before clicks_state", "behind clicks_state", "before weir_ledger", "behind weir_ledger",
	} {
		for _, steady := range []bool{true, false} {
			if !steady && !strings.Contains(step, "SELECT") {
				continue // it would be the same: it has just asked for the round
			}
			s.rounds.asked = time.Time{} // does not know the round
			if steady {
				if _, err := s.round(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			changes, stalled := f.flow(t, 6), 0
			stall = func(at string) {
				if at != step {
					return
				}
				stall = nil
				stalled++
				for range 2 { // each opens a round, because something was written
					b := &backend{c: direct}
					b.exec(t, fmt.Sprintf("INSERT INTO %s (page, country, window_start, hits, flushed_in) SELECT '/filler', '', toDateTime(%d, 'UTC'), map(), max(opened) FROM %s", direct.Name("clicks_state"), noon/1000, direct.Name("weir_rollups")))
					roll(t, other, false)
				}
			}
			before, err := other.round(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			write(t, s, changes)
			after, err := other.round(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if stalled != 1 || after < before+2 {
				t.Errorf("%s: it stalled %d times, from round %d to %d: the test tests nothing", step, stalled, before, after)
			}
			stall = nil
			exact(t, other, "stalled "+step)
			roll(t, other, false)
			exact(t, other, "stalled "+step+", rolled up")
			roll(t, other, true)
			exact(t, other, "stalled "+step+", all rolled up")
			noTail(t, other) // although the writer stamped its rows ahead
		}
	}
}

// TestSentOvertaken: rows that earlier flushes inserted are written again if a round was opened after their
// stamp, and only then.
func TestSentOvertaken(t *testing.T) {
	url, database := localtest.Engine(t)
	direct := dial(t, wire.Config{URLs: []string{url}, Database: database})
	other := install(t, direct, actives())
	f := &tap{op: operator(t, other.layout.Spec, 0), minute: true}
	write(t, other, f.flow(t, 6))
	rows, asked := 0, 0
	s := another(through(t, url, database, func(statement string) bool {
		if strings.Contains(statement, "INSERT INTO") && strings.Contains(statement, "`.`clicks_state` (`page`") {
			rows++
		}
		if strings.Contains(statement, "SELECT job, version, greatest(max(opened)") {
			asked++
		}
		return true
	}, nil), other)
	for _, overtaken := range []bool{false, true} {
		if _, err := s.round(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if overtaken {
			roll(t, other, true) // what is inserted next is of a round that is done
		}
		c := f.flow(t, 6)
		c.Table.Seal()
		rows, asked = 0, 0
		round, err := s.Insert(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		c.Inserted(round)
		c.Sent.Table.Seal()
		write(t, s, c)
		if want := map[bool]int{false: 1, true: 2}[overtaken]; rows != want || asked != want {
			t.Errorf("overtaken %t: %d statements of state rows, %d questions for the round; want %d of each", overtaken, rows, asked, want)
		}
		exact(t, other, fmt.Sprint("made durable, overtaken ", overtaken))
	}
}

// TestOvertakenInParts: while another process opens a round with every statement, a flush of many of them
// writes few rows twice. Beside it, the process rolls up what is written so far.
func TestOvertakenInParts(t *testing.T) {
	url, database := localtest.Engine(t)
	direct := dial(t, wire.Config{URLs: []string{url}, Database: database})
	other := install(t, direct, actives())
	f := &tap{op: operator(t, other.layout.Spec, 0), minute: true}
	write(t, other, f.flow(t, 6))
	statements, line := 0, 0
	s := another(through(t, url, database, func(statement string) bool {
		switch {
		case strings.Contains(statement, "INSERT INTO") && strings.Contains(statement, "`.`weir_ledger`"):
			line = statements
		case strings.Contains(statement, "INSERT INTO") && strings.Contains(statement, "`.`clicks_state` (`page`"):
			statements++
		}
		return true
	}, func(statement string) bool {
		if strings.Contains(statement, "INSERT INTO") && strings.Contains(statement, "`.`clicks_state` (`page`") {
			roll(t, other, false)
		}
		return true
	}), other)
	s.client.limit, s.client.rounds.wait, s.fresh = 4, 0, 0
	const rows = 20
	write(t, s, f.flow(t, rows))
	// A writer stamps its rows ahead once it was overtaken twice.
	if most := rows/4 + 2; statements > most || line != statements {
		t.Errorf("%d statements of state rows, %d before the line; want at most %d, all before it", statements, line, most)
	}
	exact(t, other, "written in parts")
	roll(t, other, true)
	exact(t, other, "written in parts, rolled up")
	noTail(t, other)
}

// TestZombieRows: rows of a writer that was overtaken land long after, when the
// partition's next owner has counted the same events and rollups have passed.
func TestZombieRows(t *testing.T) {
	url, database := localtest.Engine(t)
	direct := dial(t, wire.Config{URLs: []string{url}, Database: database})
	owner := install(t, direct, actives())
	f := &tap{op: operator(t, owner.layout.Spec, 0)}
	write(t, owner, f.flow(t, 12))
	roll(t, owner, true)

	frozen, thaw := make(chan struct{}), make(chan struct{})
	rows := func(statement string) bool {
		return strings.Contains(statement, "`.`clicks_state`") && strings.HasPrefix(statement, "INSERT INTO")
	}
	zombie := another(through(t, url, database, func(statement string) bool {
		if rows(statement) {
			close(frozen)
			<-thaw
		}
		return true
	}, func(statement string) bool { return !rows(statement) }), owner)
	changes := f.flow(t, 12)
	ended := make(chan error)
	go func() { ended <- zombie.Write(t.Context(), changes) }()
	select {
	case <-frozen:
	case err := <-ended:
		t.Fatalf("the zombie did not get as far as its insert: %v", err)
	}
	// The next owner reads the chunk from its beginning, and counts more.
	next := &tap{op: operator(t, owner.layout.Spec, 0)}
	for range 4 {
		write(t, owner, next.flow(t, 9))
		roll(t, owner, true)
	}
	exact(t, owner, "without the zombie")
	close(thaw)
	if err := <-ended; err == nil {
		t.Error("the zombie had an answer")
	}
	exact(t, owner, "with the zombie's rows")
	roll(t, owner, true)
	exact(t, owner, "with the zombie's rows, rolled up")
	if got := one(t, direct, "SELECT sum(hits) FROM "+direct.Name("clicks_1m")); got != "(36)" {
		t.Errorf("%s events, want 36", got)
	}
}

// TestRoundsStartOver: rows of weir_rollups are deleted. Everything is rolled
// up once more, and the live tail becomes short again.
func TestRoundsStartOver(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	b := &backend{c: c}
	b.exec(t, fmt.Sprintf("INSERT INTO %s (job, version, rollup, opened) VALUES ('clicks', 1, 60, 5000)", c.Name("weir_rollups")))
	write(t, s, f.flow(t, 6))
	roll(t, s, true)
	b.exec(t, "TRUNCATE TABLE "+c.Name("weir_rollups"))
	for _, name := range []string{"clicks_1m_rollup", "clicks_1h_rollup"} {
		b.exec(t, "TRUNCATE TABLE "+c.Name(name))
	}
	exact(t, s, "without weir_rollups")
	write(t, s, f.flow(t, 6))
	s = another(c, s)
	for range 2 {
		write(t, s, f.flow(t, 6))
		exact(t, s, "starting over")
		roll(t, s, true)
		exact(t, s, "starting over, rolled up")
	}
	noTail(t, s)
}

// TestSweep: with replicas, a rollup looks again at rounds that were current
// for as long as a replica may lag, by this process's own time; without, it
// does not. A row that a replica gets at any time within that is seen by the
// sweep after it, whether rollups are made all the time or after a long rest.
func TestSweep(t *testing.T) {
	start := time.Now()
	s := &Sink{client: &Client{DB: &wire.DB{Config: wire.Config{InsertTimeout: 30 * time.Second}}}, memos: make([]memo, 1)}
	if _, due := s.sweep(0, start, 1000); due {
		t.Error("it sweeps a table without replicas")
	}
	s.lags = true
	if from, due := s.sweep(0, start, 1000); !due || from != 1000-sweepRounds {
		t.Errorf("a new process sweeps from round %d, %t", from, due)
	}
	const lag = 90
	calls := []int{}
	for i := 0; i <= 600; i++ {
		calls = append(calls, i)
	}
	calls = append(calls, 620, 920, 1220)
	last := 0 // when it swept
	s.memos[0].swept = start
	for _, i := range calls {
		at := start.Add(time.Duration(i) * time.Second)
		from, due := s.sweep(0, at, uint64(1000+min(i, 600))) // a round a second, then a rest
		if due != (i-last >= 60) {
			t.Fatalf("after %d s it is due: %t", i, due)
		}
		if !due {
			continue
		}
		if last > 200 {
			if want := uint64(1000 + min(last-lag, 600)); from > want || from+2 < want {
				t.Fatalf("after %d s it sweeps from round %d, want %d", i, from, want)
			}
		}
		s.memos[0].swept, last = at, i
	}
	if len(s.passed) > 400 {
		t.Errorf("it remembers %d rounds", len(s.passed))
	}
	if from, _ := s.sweep(0, start, 3); from > 3 {
		t.Errorf("it sweeps from round %d of 3", from)
	}
}
