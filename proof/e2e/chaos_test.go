//go:build prove

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/await"
)

var (
	chaosCycles = flag.Int("cycles", 0, "TestChaos: how many cycles; 0: each kind of strike once")
	chaosSeed   = flag.Uint64("seed", 1, "TestChaos, TestSoak: the same one strikes in the same order; 0: a new one")
	chaosRate   = flag.Int64("rate", 1500, "TestChaos, TestSoak: events per second")
)

// planned is one cycle of a campaign's plan: its strikes. It depends on the seed
// alone.
type planned struct {
	strikes []*strike
	seed    uint64 // of the cycle's own dice
}

func (p planned) String() string {
	var names []string
	for _, s := range p.strikes {
		names = append(names, s.name)
	}
	return strings.Join(names, " + ")
}

// plan begins with every kind once, in some order; then kinds are drawn by
// weight, and every fifth cycle or so has two at a time.
func plan(kinds []*strike, seed uint64, cycles int) []planned {
	rng := rand.New(rand.NewPCG(seed, 0))
	grown := 0
	draw := func(but part) *strike {
		var choice []*strike
		for _, s := range kinds {
			if s.needs&but == 0 && (s.name != "partition-added" || grown < lastPartitions-firstPartitions) {
				for range s.weight {
					choice = append(choice, s)
				}
			}
		}
		if len(choice) == 0 {
			return nil
		}
		return choice[rng.IntN(len(choice))]
	}
	var all []planned
	for _, i := range rng.Perm(len(kinds)) {
		all = append(all, planned{strikes: []*strike{kinds[i]}})
	}
	grown = 1
	for len(all) < cycles {
		p := planned{strikes: []*strike{draw(0)}}
		if rng.IntN(5) == 0 {
			if second := draw(p.strikes[0].needs); second != nil {
				p.strikes = append(p.strikes, second)
			}
		}
		for _, s := range p.strikes {
			if s.name == "partition-added" {
				grown++
			}
		}
		all = append(all, p)
	}
	all = all[:cycles]
	for i := range all {
		all[i].seed = rng.Uint64()
	}
	return all
}

// totals are the figures of a campaign.
type totals struct {
	cycles, verified int
	strikes          map[string]int
	tally
	began time.Time
}

func (s *totals) table(a *arena) string {
	truth, records := a.producer.state()
	var b strings.Builder
	row := func(name string, format string, args ...any) {
		fmt.Fprintf(&b, "%-34s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("cycles", "%d in %s", s.cycles, time.Since(s.began).Round(time.Second))
	for _, name := range slices.SortedFunc(maps.Keys(s.strikes), func(x, y string) int {
		return cmp.Or(cmp.Compare(s.strikes[y], s.strikes[x]), cmp.Compare(x, y))
	}) {
		row("  "+name, "%d", s.strikes[name])
	}
	row("records produced", "%d", records)
	row("events to count", "%d", truth.Outcomes.Valid)
	row("events counted", "%d", s.counted)
	row("lost", "%d", s.lost)
	row("doubled", "%d", s.doubled)
	row("weir verify, all clean", "%d", s.verified)
	return b.String()
}

// cycle makes the strikes of one cycle, waits until everything is durable, and
// compares with the truth.
func (a *arena) cycle(p planned, s *totals) *verdict {
	a.t.Helper()
	rng := rand.New(rand.NewPCG(p.seed, 1))
	c := &cycle{arena: a, rng: rng, alone: len(p.strikes) == 1}
	if len(p.strikes) > 1 {
		p.strikes = slices.Clone(p.strikes)
		// The longer strike encloses the shorter one, and a strike at the sink
		// encloses one at Kafka, because it may wait for flushes, which need records.
		slices.SortStableFunc(p.strikes, func(x, y *strike) int {
			return cmp.Or(cmp.Compare(x.needs&fleet, y.needs&fleet), cmp.Compare(x.needs&kafka, y.needs&kafka))
		})
	}
	a.producer.resume()
	time.Sleep(300 * time.Millisecond)
	var ends []func()
	for _, k := range p.strikes {
		if end := k.begin(c); end != nil {
			ends = append(ends, end)
		}
		s.strikes[k.name]++
	}
	for _, end := range slices.Backward(ends) {
		end()
	}
	c.nap(300 * time.Millisecond)
	a.producer.pause()
	a.settled()
	v := a.judge(a.latest() - 2*clicksRules.Window)
	if err := a.verified(); err != nil {
		v.add("%v", err)
	} else {
		s.verified++
	}
	s.cycles++
	s.tally = v.tally
	return v
}

// TestChaos runs real processes with real faults, in an order that depends on a
// seed: after each fault every count, every sketch and every outcome must be
// that of the log. In make test: sim TestSchedules, TestKillInBacklog and TestEngineDown.
func TestChaos(t *testing.T) {
	parallelFirst(t)
	seed := cmp.Or(*chaosSeed, rand.Uint64N(1_000_000))
	cycles := cmp.Or(*chaosCycles, len(strikes))
	again := fmt.Sprintf("make chaos CYCLES=%d SEED=%d", cycles, seed)
	t.Logf("seed %d, %d cycles; again: %s", seed, cycles, again)

	a := newArena(t, ownBroker(t), house.binary.get(t), chunk, *chaosRate, seed, time.Hour)
	a.run(0)
	a.run(1)
	s := &totals{strikes: map[string]int{}, began: time.Now()}
	at := "before the first cycle"
	defer func() {
		if t.Failed() {
			t.Logf("it failed in %s of seed %d; again: %s\n%s", at, seed, again, s.table(a))
		}
	}()
	for i, p := range plan(strikes, seed, cycles) {
		at = fmt.Sprintf("cycle %d (%v)", i+1, p)
		began := time.Now()
		v := a.cycle(p, s)
		t.Logf("cycle %d: %v: %s, %d counted, %d members", i+1, p, time.Since(began).Round(10*time.Millisecond), v.counted, len(a.alive()))
		for _, wrong := range v.wrong {
			t.Errorf("%s: %s", at, wrong)
		}
		if t.Failed() {
			return
		}
	}
	at = "the end"
	a.proxy.late.Wait()
	a.audited()
	v := a.judge(0)
	s.tally = v.tally
	for _, wrong := range v.wrong {
		t.Error(wrong)
	}
	truth, _ := a.producer.state()
	a.sameView("clicks_1h", "page", rollup(truth, 3_600_000))
	t.Logf("the totals of seed %d:\n%s", seed, s.table(a))
}

// TestChaosControls checks that the comparison of TestChaos notices faults: a
// count raised and rows deleted by hand, and inserts that were acknowledged and
// dropped. Mistakes in the core are for make sim-controls. In make test: sim TestControls.
func TestChaosControls(t *testing.T) {
	parallel(t)
	a := newArena(t, house.broker.get(t), house.binary.get(t), smallChunk, 1500, 1, time.Hour)
	a.run(0)
	quiet := func(strike func()) *verdict {
		t.Helper()
		_, before := a.producer.state()
		a.producer.resume()
		await.Until(t, func() error {
			if _, now := a.producer.state(); now < before+1000 {
				return notYet("%d records", now-before)
			}
			return nil
		})
		strike()
		a.producer.pause()
		a.settled()
		return a.judge(0)
	}
	notices := func(what string, v *verdict, word string) {
		t.Helper()
		t.Logf("%s: %d lost, %d doubled; %s", what, v.lost, v.doubled, strings.Join(v.wrong, "\n"))
		if !slices.ContainsFunc(v.wrong, func(wrong string) bool { return strings.Contains(wrong, word) }) {
			t.Errorf("%s goes unnoticed", what)
		}
	}
	if v := quiet(func() {}); len(v.wrong) > 0 {
		t.Fatalf("before anything was done to it: %s", strings.Join(v.wrong, "\n"))
	}
	window := a.latest() / 1000

	a.sql("INSERT INTO clicks_state (window_start, page, hits) VALUES (%d, '/p/1', map(99, 1000))", window)
	notices("a count raised by hand", quiet(func() {}), "slot 99: rows hold 1000, the ledger counted 0")

	a.sql("ALTER TABLE clicks_state DELETE WHERE window_start = %d AND page = '/p/2' SETTINGS mutations_sync = 2", window)
	notices("a row deleted by hand", a.judge(0), "users in ")

	// Counts only grow by slot, so the next flush of its window restores the
	// deleted row. The comparisons below are with the state after that.
	before := quiet(func() {})
	drop := func() {
		var dropped atomic.Int64
		_, from := a.producer.state()
		swallow := a.proxy.swallow("clicks_state")
		a.proxy.handle(func(w http.ResponseWriter, r *http.Request) {
			swallow(w, r)
			if inserts(r, "clicks_state") {
				dropped.Add(1)
			}
		})
		await.Until(t, func() error {
			if n := dropped.Load(); n < 3 {
				return notYet("%d inserts were dropped", n)
			}
			if _, now := a.producer.state(); now < from+firstPartitions*smallChunk { // a chunk of each partition
				return notYet("%d records", now-from)
			}
			return nil
		})
		a.proxy.handle(nil)
	}
	// Counts are lost only if a chunk ends among the dropped inserts.
	var v *verdict
	await.Until(t, func() error {
		if v = quiet(drop); v.lost <= before.lost {
			return notYet("no events are lost with dropped inserts: %d before, %d after", before.lost, v.lost)
		}
		return nil
	})
	notices("dropped inserts", v, "other registers")
}
