//go:build prove

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
)

var soakMinutes = flag.Float64("minutes", 0.1, "TestSoak, TestPageHeap: how long; memory is judged from ten on")

// A sample is the figures of one process at one time.
type sample struct {
	at         time.Duration // since the process is watched
	rss, heap  float64       // bytes
	goroutines float64
	mismatches float64 // of the last audit; -1: none yet
}

var sampled = map[string]func(*sample) *float64{
	"process_resident_memory_bytes": func(s *sample) *float64 { return &s.rss },
	"go_memstats_heap_alloc_bytes":  func(s *sample) *float64 { return &s.heap },
	"go_goroutines":                 func(s *sample) *float64 { return &s.goroutines },
	"weir_audit_mismatches":         func(s *sample) *float64 { return &s.mismatches },
}

// parseSample reads a sample from the output of /metrics.
func parseSample(text string) (s sample, err error) {
	s.mismatches = -1
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if field := sampled[name]; field != nil {
			if *field(&s), err = strconv.ParseFloat(value, 64); err != nil {
				return s, err
			}
			found++
		}
	}
	if found < 3 {
		return s, fmt.Errorf("%d of the metrics are there", found)
	}
	return s, nil
}

// enoughSamples is the least number of samples of a soak.
const enoughSamples = 5

func (s sample) since() time.Duration { return s.at }

func rssOf(s sample) float64        { return s.rss }
func heapOf(s sample) float64       { return s.heap }
func goroutinesOf(s sample) float64 { return s.goroutines }

// ofProcess are the bounds of a process after its warm-up: memory may grow because of the
// garbage collector, and goroutines by those of a rebalance.
var ofProcess = []bound[sample]{
	{"resident memory", rssOf, 0.10, 8 << 20},
	{"the heap", heapOf, 0.10, 8 << 20},
	{"the number of goroutines", goroutinesOf, 0, 5},
}

// TestSoak runs a steady rate for a long time, with strikes that the oldest
// process survives: its memory and goroutines stay flat, its audits find
// nothing, and the numbers are those of the log. In make test: jobs TestMemory.
func TestSoak(t *testing.T) {
	parallelFirst(t)
	seed := cmp.Or(*chaosSeed, rand.Uint64N(1_000_000))
	length := time.Duration(*soakMinutes * float64(time.Minute))
	long := length >= 10*time.Minute
	pause := min(15*time.Second, length/10)
	t.Logf("seed %d, %s", seed, length)

	var kinds []*strike
	for _, k := range strikes {
		if k.gentle && (long || k.name != "broker-killed") {
			kinds = append(kinds, k)
		}
	}
	kafka := house.broker.get(t) // a short run needs no broker of its own, because no strike of it kills one
	if long {
		kafka = ownBroker(t)
	}
	// An audit takes a tenth of a second of CPU, and a short run waits for one.
	a := newArena(t, kafka, house.binary.get(t), chunk, *chaosRate, seed, max(5*time.Second, min(30*time.Second, length/2).Round(time.Second)))
	veteran := a.run(0)
	a.run(1)
	a.owns(veteran)
	s := &totals{strikes: map[string]int{}, began: time.Now()}
	var samples []sample
	look := func() {
		t.Helper()
		_, text, err := veteran.get("/metrics")
		if err != nil {
			t.Fatal(err)
		}
		x, err := parseSample(text)
		if err != nil {
			t.Fatal(err)
		}
		x.at = time.Since(s.began)
		samples = append(samples, x)
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for i, p := range plan(kinds, seed, 10_000) {
		if time.Since(s.began) > length {
			break
		}
		v := a.cycle(p, s)
		t.Logf("%s: strike %d: %v, %d counted", time.Since(s.began).Round(time.Second), i+1, p, v.counted)
		for _, wrong := range v.wrong {
			t.Errorf("strike %d (%v): %s", i+1, p, wrong)
		}
		if t.Failed() {
			break
		}
		a.producer.resume()
		time.Sleep(pause/2 + time.Duration(rng.Int64N(int64(pause))))
		look()
		a.producer.pause()
	}
	a.settled()
	v := a.judge(0)
	s.tally = v.tally
	for _, wrong := range v.wrong {
		t.Error(wrong)
	}
	await.Until(t, func() error { // an audit ends within its interval
		if look(); len(samples) < enoughSamples || samples[len(samples)-1].mismatches < 0 {
			return notYet("%d samples, and no audit", len(samples))
		}
		return nil
	})
	a.proxy.late.Wait()
	a.audited()
	if a.members[0] != veteran {
		t.Fatal("the process that was watched is another now")
	}
	warm := samples[len(samples)/5:]
	t.Logf("the totals of seed %d:\n%s\ngrowth after the first fifth of %d samples: rss %+.1f MiB, heap %+.1f MiB, goroutines %+.1f", seed, s.table(a), len(samples),
		growth(warm, rssOf)/(1<<20), growth(warm, heapOf)/(1<<20), growth(warm, goroutinesOf))
	for _, x := range samples {
		if x.mismatches > 0 {
			t.Fatalf("after %s the audit has %.0f mismatches", x.at.Round(time.Second), x.mismatches)
		}
	}
	for _, x := range samples {
		if limit := 512.0 * (1 << 20); x.rss > limit {
			t.Fatalf("after %s %.0f MiB are resident, with a budget of 256 MiB at most %.0f are expected", x.at.Round(time.Second), x.rss/(1<<20), limit/(1<<20))
		}
	}
	if !long {
		return // the whole run is warm-up
	}
	for _, wrong := range flat(warm, ofProcess) {
		t.Error(wrong)
	}
	if t.Failed() { // its stacks, for the log that is kept
		veteran.signal(syscall.SIGQUIT)
		<-veteran.done
	}
}

// TestFlat checks what flat accepts and what it does not. In make test: nothing, because it is about TestSoak.
func TestFlat(t *testing.T) {
	series := func(rss, heap, goroutines func(i int) float64) (all []sample) {
		for i := range 300 {
			all = append(all, sample{at: time.Duration(i) * 5 * time.Second, rss: rss(i), heap: heap(i), goroutines: goroutines(i)})
		}
		return all
	}
	const mb = 1 << 20
	noise := func(about, by float64) func(int) float64 {
		rng := rand.New(rand.NewPCG(1, uint64(about)))
		return func(int) float64 { return about + by*(2*rng.Float64()-1) }
	}
	creeping := func(from, perMinute float64) func(int) float64 {
		return func(i int) float64 { return from + perMinute*float64(i)/12 }
	}
	for _, c := range []struct {
		name string
		with []sample
		want string
	}{
		{"quiet", series(noise(120*mb, 30*mb), noise(40*mb, 20*mb), noise(40, 8)), ""},
		{"a leak of 1 MiB a minute", series(creeping(120*mb, mb), noise(40*mb, 5*mb), noise(40, 8)), "resident memory"},
		{"a heap that creeps", series(noise(120*mb, 10*mb), creeping(30*mb, mb), noise(40, 8)), "the heap"},
		{"a goroutine lost every other minute", series(noise(120*mb, 10*mb), noise(40*mb, 5*mb), creeping(40, 0.5)), "goroutines"},
	} {
		wrong := strings.Join(flat(c.with, ofProcess), "\n")
		if (wrong == "") != (c.want == "") || !strings.Contains(wrong, c.want) {
			t.Errorf("%s: %q, want %q", c.name, wrong, c.want)
		}
	}
}
