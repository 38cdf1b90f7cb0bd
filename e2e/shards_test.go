package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/gen"
	"weir/internal/await"
	"weir/internal/local/localtest"
)

// An engine is a ClickHouse of one test, which may be killed and started again with what it has
// on disk.
type engine struct {
	s         *stage
	addr, dir string
	p         *process
}

func newEngine(t *testing.T, s *stage) *engine {
	t.Helper()
	e := &engine{s: s, addr: closedPort(t), dir: t.TempDir()}
	e.start()
	return e
}

func (e *engine) url() string { return "http://" + e.addr }

func (e *engine) start() {
	e.s.t.Helper()
	e.p = e.s.weir("engine", "--data", e.dir, "--listen", e.addr)
	e.p.says("engine: ready")
}

// TestShards: a job runs on three shards of two addresses each, while engines, addresses and weir
// itself are killed in turn, each of them at any moment. In the end, rows, rollups, live answers
// and what weir verify says are those of a job on one engine, and of the log. An address that is
// away holds up nothing; an engine that is away loses nothing.
func TestShards(t *testing.T) {
	parallel(t)
	one := newStage(t)
	one.clicks()
	s := *one // the same topic
	s.dir, s.db = t.TempDir(), "weir"
	var engines []*engine
	var doors []*proxy // two of each engine
	var lists []string
	for range 3 {
		e := newEngine(t, &s)
		a, b := newProxy(t, e.url()), newProxy(t, e.url())
		engines, doors = append(engines, e), append(doors, a, b)
		lists = append(lists, fmt.Sprintf("[%q, %q]", a.url, b.url))
		if s.shards == nil {
			s.url, s.shards = e.url(), []string{}
		} else {
			s.shards = append(s.shards, e.url())
		}
		if _, err := localtest.Query(e.url(), "", "CREATE DATABASE weir"); err != nil {
			t.Fatal(err)
		}
	}
	config, err := os.ReadFile(filepath.Join(one.dir, "weir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), fmt.Sprintf("clickhouse: {url: %q, database: %s}", one.url, one.db), "clickhouse: {shards: ["+strings.Join(lists, ", ")+"], database: weir}", 1)
	text = strings.Replace(text, "group: "+s.name, "group: "+s.name+"-shards", 1)
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(text), 0o644); err != nil || !strings.Contains(text, "shards: [[") || !strings.Contains(text, "-shards,") {
		t.Fatal(err, text)
	}
	s.migrate()
	backlog := s.produced("clicks", 60_000, "--duplicates", "0.01", "--late", "0.005", "--malformed", "0.002")
	live := s.traffic("clicks", "--rate", "1500", "--seed", "2", "--malformed", "0.002")

	rng := rand.New(rand.NewPCG(20, 4))
	p := s.weir("run")
	for n := range 9 {
		s.passes("clicks", s.position("clicks"))
		time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))) // anywhere between two flushes
		switch e, d := engines[n%3], doors[rng.IntN(6)]; n / 3 {
		case 0:
			e.p.kill()
			time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
			e.start()
		case 1:
			d.handle([]http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, d.deaf, d.refuse}[n%3])
			s.passes("clicks", s.position("clicks")) // the other address answers
			d.handle(nil)
		case 2:
			p.kill()
			if n == 7 { // and an engine with it
				e.p.kill()
				e.start()
			}
			p = s.weir("run", "--kafka.session=6s")
		}
	}
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer())
	s.caughtUp("clicks")
	p.signal(syscall.SIGTERM)
	p.exits(0)
	one.untilEnd()

	for _, on := range []*stage{&s, one} {
		on.sameLedger("clicks", truth)
		on.sameView("clicks_1m", "page", truth)
		on.sameSketches("clicks_state", "users", "page", truth)
		on.sameBitmaps("clicks_state", "active", "page", truth)
	}
	for i, url := range append([]string{s.url}, s.shards...) {
		if rows, err := localtest.Query(url, "weir", "SELECT count() > 0, uniqExact(page) < "+fmt.Sprint(pages(truth))+" FROM clicks_1m_rollup"); err != nil || rows != "1\t1" {
			t.Errorf("shard %d has no rollup, or one of every page: %s, %v", i+1, rows, err)
		}
	}
	for _, table := range []string{"clicks_1m", "clicks_1h", "clicks_1m_rollup FINAL", "clicks_1h_rollup FINAL"} {
		numbers := func(on *stage) [][]string {
			rows := on.sql("SELECT toUnixTimestamp(window_start), page, hits, users, active FROM %s", table)
			slices.SortFunc(rows, slices.Compare[[]string])
			return rows
		}
		if got, want := numbers(&s), numbers(one); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%s of three shards and of one engine: %s", table, firstDifference(want, got))
		}
	}
	sameAnswers(t, &s, one, truth)

	rested(t, func() int64 { return s.number("%s", newest("weir_ledger")) })
	s.weir("verify").exits(0)
	if _, err := localtest.Query(engines[2].url(), "weir", "TRUNCATE TABLE clicks_state"); err != nil {
		t.Fatal(err)
	}
	s.weir("verify").exits(1).prints(`events were counted, the rows hold`)
}

// pages returns the number of pages of a truth.
func pages(truth *gen.Truth) int {
	all := map[string]bool{}
	for g := range truth.Counts {
		all[g.Name] = true
	}
	return len(all)
}

// sameAnswers compares the live answers of two stages, which have counted the same and come from
// ClickHouse, because the processes that give them have counted nothing.
func sameAnswers(t *testing.T, a, b *stage, truth *gen.Truth) {
	t.Helper()
	first, last := truth.Groups()[0].Window, truth.Groups()[0].Window
	for _, g := range truth.Groups() {
		first, last = min(first, g.Window), max(last, g.Window)
	}
	span := fmt.Sprintf("from=%s&until=%s", time.UnixMilli(int64(first)).UTC().Format(time.RFC3339), time.UnixMilli(int64(last)+60_000).UTC().Format(time.RFC3339))
	x, y := a.weir("run"), b.weir("run")
	for _, path := range []string{
		"/api/v1/series?step=1h&" + span, "/api/v1/series?step=1h&measure=users&" + span, "/api/v1/series?step=1h&measure=active&" + span,
		"/api/v1/top?" + span, "/api/v1/top?measure=users&" + span, "/api/v1/series?step=1h&measure=users&by.page=/p/3&" + span,
	} {
		answer := func(p *process) (v map[string]any) {
			await.Until(t, func() error {
				code, body, err := p.get(path)
				if err != nil || code != http.StatusOK {
					return notYet("%s: %d %s %v", path, code, body, err)
				}
				v = nil
				if err := json.Unmarshal([]byte(body), &v); err != nil {
					return err
				}
				if v["partial"] != nil {
					return notYet("%s is partial", path)
				}
				delete(v, "as_of")
				return nil
			})
			return v
		}
		if got, want := fmt.Sprint(answer(x)), fmt.Sprint(answer(y)); got != want {
			t.Errorf("%s\n%s of shards\n%s of one engine", path, got, want)
		}
	}
	for _, p := range []*process{x, y} {
		p.signal(syscall.SIGTERM)
		p.exits(0)
	}
}
