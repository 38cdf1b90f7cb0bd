//go:build prove

package e2e

import (
	"bytes"
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

	"weir/demo/local"
	"weir/demo/local/localtest"
	"weir/internal/kafkatest"
)

// A server is a ClickHouse with its own listeners that knows others, and may be killed and started
// again.
type server struct {
	t      *testing.T
	cfg    local.NativeConfig
	native *local.Native
	door   *proxy
	all    []int // the ports of the servers, in the order of the shards
}

// knows writes the server's configuration: the cluster main has these of the servers as shards.
func (s *server) knows(shards ...int) {
	s.t.Helper()
	var b strings.Builder
	for _, i := range shards {
		fmt.Fprintf(&b, "<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>", s.all[i])
	}
	config := "<clickhouse><remote_servers><main>" + b.String() + "</main></remote_servers></clickhouse>"
	if err := os.WriteFile(s.cfg.Config, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) start() {
	s.t.Helper()
	var err error
	if s.native, err = local.StartNative(s.t.Context(), s.cfg); err != nil {
		s.t.Fatal(err)
	}
}

// newCluster starts servers that are the shards of the cluster main, in time zones that all differ. Each has a door in front,
// which stands for what they lack without Keeper: it runs a statement ON CLUSTER on all of them, and makes plain tables of
// Replicated ones.
func newCluster(t *testing.T, zones ...string) []*server {
	t.Helper()
	dir, servers := t.TempDir(), []*server{}
	var ports, order []int
	port := func() int {
		p, err := kafkatest.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for i, zone := range zones {
		s := &server{t: t, cfg: local.NativeConfig{Data: filepath.Join(dir, fmt.Sprint("data", i)), HTTP: port(), TCP: port(), Config: filepath.Join(dir, fmt.Sprintf("config%d.xml", i)), Settings: map[string]string{"max_threads": "1"}, Zone: zone}}
		servers, ports, order = append(servers, s), append(ports, s.cfg.TCP), append(order, i)
	}
	for _, s := range servers {
		s.all = ports
		s.knows(order...)
		s.start()
		t.Cleanup(func() { s.native.Kill() })
		if _, err := localtest.Query(s.native.URL(), "", "CREATE DATABASE weir"); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range servers {
		s.door = newProxy(t, s.native.URL())
		s.door.handle(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			if bytes.Contains(body, []byte(" ON CLUSTER 'main'")) {
				sql := strings.NewReplacer(" ON CLUSTER 'main'", "", "ENGINE = Replicated", "ENGINE = ").Replace(string(body))
				for _, other := range servers {
					if other == s {
						continue
					}
					if _, err := localtest.Query(other.native.URL(), "weir", sql); err != nil {
						http.Error(w, err.Error(), http.StatusInternalServerError)
						return
					}
				}
				body = []byte(sql)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			s.door.forward.ServeHTTP(w, r)
		})
	}
	return servers
}

// TestCluster: a job runs on three servers of a ClickHouse cluster, with Distributed tables over
// ClickHouse's own protocol, while the servers and weir are killed in turn, each at any moment. In the
// end the views of each server, its weir_audit, live answers and weir verify are those of a job on one
// engine, and of the log. weir_audit of one server finds what another one has lost.
// In make test: sinks/clickhouse TestQuorum.
func TestCluster(t *testing.T) {
	parallel(t)
	one := newStage(t)
	one.clicks()
	s := *one // the same topic
	s.dir, s.db = t.TempDir(), "weir"
	servers := newCluster(t, "UTC", "Asia/Kathmandu", "America/New_York")
	var lists []string
	for _, on := range servers {
		lists = append(lists, fmt.Sprintf("[%q]", on.door.url))
	}
	s.url = servers[0].native.URL()
	s.configureLike(one, "shards: ["+strings.Join(lists, ", ")+"], database: weir, cluster: main", "cluster")
	s.migrate()
	backlog := s.produced("clicks", 30_000, "--duplicates", "0.01", "--late", "0.005", "--malformed", "0.002")
	live := s.traffic("clicks", "--rate", "1000", "--seed", "3", "--malformed", "0.002")

	rng := rand.New(rand.NewPCG(20, 7))
	p := s.weir("run")
	for n := range 6 {
		s.passes("clicks", s.position("clicks"))
		time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))) // anywhere between two flushes
		if n%3 == 2 {
			p.kill()
			p = s.weir("run", "--kafka.session=6s")
			continue
		}
		on := servers[rng.IntN(3)]
		on.native.Kill()
		time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
		on.start()
	}
	// A process makes all windows once when it starts. What it flushes after that stays in the live
	// tail, also when it is killed.
	for range 3 {
		s.passes("clicks", s.position("clicks"))
	}
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer())
	s.caughtUp("clicks")
	p.kill()
	t.Logf("%d rows are in the live tail", s.number("SELECT count() FROM clicks_state_all WHERE flushed_in >= (SELECT max(done) FROM weir_rollups_all WHERE job = 'clicks' AND rollup = 60)"))
	one.untilEnd()

	// Windows of half an hour are made of those of a minute and of an hour, and so are the days.
	day := time.Unix(one.number("SELECT toUnixTimestamp(min(window_start)) FROM clicks_1m"), 0).UTC().Truncate(24 * time.Hour)
	moments := fmt.Sprintf("from = %d, to = %d", day.Unix(), day.Unix()+2*86400)
	dates := fmt.Sprintf("from = '%s', to = '%s', unit = 'day', zone = 'Asia/Kolkata'", day.AddDate(0, 0, -1).Format(time.DateOnly), day.AddDate(0, 0, 2).Format(time.DateOnly))
	views := []string{
		"clicks_1m", "clicks_1h",
		"clicks_range(" + moments + ")", "clicks_tumble(" + moments + ", size = '30m')", "clicks_hop_total(" + moments + ", size = '2h', every = '1h')",
		"clicks_calendar(" + dates + ")",
		fmt.Sprintf("clicks_cumulate(%s, every = '1h') WHERE toUnixTimestamp(window_end) <= %d", dates, one.number("SELECT toUnixTimestamp(max(window_start)) + 3600 FROM clicks_1m")), // it goes on with the clock
		"clicks_retention(measure = 'people', " + dates + ")", "clicks_retention_tumble_total(measure = 'active', " + moments + ", size = '1h')",
		"clicks_sessions(measure = 'people', " + moments + ", gap = '5m', every = '1h')",
		"clicks_funnel(" + moments + ", steps = ['people:/p/1', 'people:/p/2', 'people:*'])",
	}
	// The state of a list is no answer: several lists say the same.
	numbers := func(on *stage, view string) [][]string {
		rows := on.sql("SELECT * EXCEPT ('_state$|^often$|^complete$') FROM %s", view)
		slices.SortFunc(rows, slices.Compare[[]string])
		return rows
	}
	s.sameLedger("clicks", truth)
	want := map[string][][]string{}
	for _, view := range views {
		want[view] = numbers(one, view)
	}
	for i, server := range servers {
		on := s
		on.url = server.native.URL()
		on.sameView("clicks_1m", "page", truth)
		on.sameSketches("clicks_state_all", "users", "page", truth)
		on.sameBitmaps("clicks_state_all", "active", "page", truth)
		for _, view := range views {
			got := numbers(&on, view)
			if len(want[view]) == 0 || !slices.EqualFunc(got, want[view], slices.Equal[[]string]) {
				t.Errorf("%s of server %d and of one engine: %s", view, i+1, firstDifference(want[view], got))
			}
		}
		if here := on.number("SELECT uniqExact(page) FROM clicks_state"); here == 0 || here >= int64(pages(truth)) {
			t.Errorf("server %d has %d of %d pages: want a part of them", i+1, here, pages(truth))
		}
	}
	sameAnswers(t, &s, one, truth)
	rested(t, func() int64 { return s.number("%s", newest("weir_ledger")) })
	found := func() (all []string) {
		for _, server := range servers {
			on := s
			on.url = server.native.URL()
			all = append(all, fmt.Sprint(on.sql("SELECT DISTINCT kind FROM weir_audit ORDER BY kind")))
		}
		return all
	}
	if all := found(); fmt.Sprint(all) != "[[] [] []]" {
		t.Errorf("weir_audit of the servers finds %v", all)
	}
	s.weir("verify").exits(0)
	if said := s.weir("check").exits(0).out.tail(100); strings.Contains(said, "for shard") || !strings.Contains(said, "tables of job clicks") {
		t.Errorf("weir check says of the cluster:\n%s", said)
	}
	servers[2].native.Kill()
	servers[2].knows(0, 1, 2, 2)
	servers[2].start()
	s.weir("check").exits(0).prints(`job clicks: for shard 3, cluster main is the shards 1, 2, 3, 3, and clickhouse.shards has 3: `)
	servers[2].native.Kill()
	servers[2].knows(0, 1, 2)
	servers[2].start()
	if _, err := localtest.Query(servers[2].native.URL(), "weir", "TRUNCATE TABLE clicks_state"); err != nil {
		t.Fatal(err)
	}
	s.weir("verify").exits(1).prints(`events were counted, the rows hold`)
	for i, kinds := range found() {
		if !strings.Contains(kinds, "rows missing") {
			t.Errorf("weir_audit of server %d does not find what server 3 has lost: %s", i+1, kinds)
		}
	}
}
