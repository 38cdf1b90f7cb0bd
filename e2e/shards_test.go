//go:build prove

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// mirror lets a door do what replication does, which the engine cannot do by itself: each statement that
// writes goes to the other replica first, and fails as without a quorum if that is away. The
// majority of two replicas is both.
func mirror(door *proxy, other *engine) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		sql := r.URL.Query().Get("query")
		if sql == "" {
			sql = string(body)
		}
		verb, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
		if r.Method == http.MethodPost && !slices.Contains([]string{"SELECT", "WITH", "SHOW", "DESCRIBE", "EXISTS"}, verb) {
			copied, err := http.NewRequestWithContext(r.Context(), r.Method, other.url()+r.URL.RequestURI(), bytes.NewReader(body))
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			copied.Header = r.Header.Clone()
			res, err := http.DefaultTransport.RoundTrip(copied)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			if err != nil || res.StatusCode != http.StatusOK {
				refuse(w, r, 285, "Number of alive replicas (1) is less than requested quorum (2/2). (TOO_FEW_LIVE_REPLICAS)")
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		door.forward.ServeHTTP(w, r)
	}
}

// configureLike writes the configuration of a stage on a single engine for a stage on other servers,
// which stand in the form of the key clickhouse. Its consumer group is the same name with group behind it.
func (s *stage) configureLike(one *stage, servers, group string) {
	s.t.Helper()
	config, err := os.ReadFile(filepath.Join(one.dir, "weir.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	text := string(config)
	for was, is := range map[string]string{
		fmt.Sprintf("clickhouse: {urls: %q, database: %s}", one.url, one.db): "clickhouse: {" + servers + "}",
		"group: " + one.name + ",": "group: " + one.name + "-" + group + ",",
	} {
		if strings.Count(text, was) != 1 {
			s.t.Fatalf("not one %q in\n%s", was, text)
		}
		text = strings.Replace(text, was, is, 1)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// TestShards: a job runs on three shards of two replicas, six engines, while engines, the addresses in front of them and weir
// itself are killed in turn, each of them at any moment. In the end, rows, rollups, live answers
// and what weir verify says are those of a job on one engine, and of the log, on either replica of each shard. An address that is
// away holds up nothing. An engine that is away loses nothing, and the other replica answers. What the replicas have is
// replicated by mirror. In make test: sinks/clickhouse TestQuorum.
func TestShards(t *testing.T) {
	parallel(t)
	one := newStage(t)
	one.clicks()
	s := *one // the same topic
	s.dir, s.db = t.TempDir(), "weir"
	const shards, replicas = 3, 2
	var engines []*engine // the replicas of a shard are neighbours
	var doors []*proxy    // of each engine
	usual := map[*proxy]http.HandlerFunc{}
	var lists []string
	for range shards {
		a, b := newEngine(t, &s), newEngine(t, &s)
		x, y := newProxy(t, a.url()), newProxy(t, b.url())
		usual[x], usual[y] = mirror(x, b), mirror(y, a)
		engines, doors = append(engines, a, b), append(doors, x, y)
		lists = append(lists, fmt.Sprintf("[%q, %q]", x.url, y.url))
	}
	for i, e := range engines {
		doors[i].handle(usual[doors[i]])
		if _, err := localtest.Query(e.url(), "", "CREATE DATABASE weir"); err != nil {
			t.Fatal(err)
		}
	}
	// side is the stage of the replicas of that number.
	side := func(n int) *stage {
		on := s
		on.url, on.shards = engines[n].url(), nil
		for i := n + replicas; i < len(engines); i += replicas {
			on.shards = append(on.shards, engines[i].url())
		}
		return &on
	}
	s = *side(0)
	s.configureLike(one, "shards: ["+strings.Join(lists, ", ")+"], database: weir", "shards")
	s.migrate()
	backlog := s.produced("clicks", 60_000, "--duplicates", "0.01", "--late", "0.005", "--malformed", "0.002")
	live := s.traffic("clicks", "--rate", "1500", "--seed", "2", "--malformed", "0.002")

	rng := rand.New(rand.NewPCG(20, 4))
	p := s.weir("run")
	for n := range 12 {
		s.passes("clicks", s.position("clicks"))
		time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))) // anywhere between two flushes
		switch e, d := engines[n%6], doors[rng.IntN(6)]; n / 3 {
		case 0, 1:
			e.p.kill()
			answers(t, p) // by the other replica
			e.start()
		case 2:
			d.handle([]http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, d.deaf, d.refuse}[n%3])
			s.passes("clicks", s.position("clicks")) // the other address answers
			d.handle(usual[d])
		case 3:
			p.kill()
			if n == 10 { // and an engine with it
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

	for _, on := range []*stage{side(0), side(1), one} {
		on.sameLedger("clicks", truth)
		on.sameView("clicks_1m", "page", truth)
		on.sameSketches("clicks_state", "users", "page", truth)
		on.sameBitmaps("clicks_state", "active", "page", truth)
	}
	for i, e := range engines {
		if rows, err := localtest.Query(e.url(), "weir", "SELECT count() > 0, uniqExact(page) < "+fmt.Sprint(pages(truth))+" FROM clicks_1m_rollup"); err != nil || rows != "1\t1" {
			t.Errorf("engine %d has no rollup, or one of every page: %s, %v", i+1, rows, err)
		}
	}
	for _, table := range []string{"clicks_1m", "clicks_1h", "clicks_1m_rollup FINAL", "clicks_1h_rollup FINAL"} {
		numbers := func(on *stage) [][]string {
			rows := on.sql("SELECT toUnixTimestamp(window_start), page, hits, users, active FROM %s", table)
			slices.SortFunc(rows, slices.Compare[[]string])
			return rows
		}
		for n := range replicas {
			if got, want := numbers(side(n)), numbers(one); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Errorf("%s of the replicas %d of three shards and of one engine: %s", table, n+1, firstDifference(want, got))
			}
		}
	}
	sameAnswers(t, &s, one, truth)

	rested(t, func() int64 { return s.number("%s", newest("weir_ledger")) })
	s.weir("verify").exits(0)
	for _, e := range engines[4:] {
		if _, err := localtest.Query(e.url(), "weir", "TRUNCATE TABLE clicks_state"); err != nil {
			t.Fatal(err)
		}
	}
	s.weir("verify").exits(1).prints(`events were counted, the rows hold`)
}

// answers waits until a process answers a live question whole.
func answers(t *testing.T, p *process) {
	t.Helper()
	await.Until(t, func() error {
		code, body, err := p.get("/api/v1/top?last=5m")
		if err != nil || code != http.StatusOK || strings.Contains(body, `"partial"`) {
			return notYet("%d %s %v", code, body, err)
		}
		return nil
	})
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

func firstDifference(before, after [][]string) string {
	for i := range min(len(before), len(after)) {
		if !slices.Equal(before[i], after[i]) {
			return fmt.Sprintf("row %d was %v and is %v", i, before[i], after[i])
		}
	}
	return fmt.Sprintf("%d rows before, %d after", len(before), len(after))
}
