package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/config"
)

// TestScale: weir check says how many entries a row has and what a restart reads, and names the least
// chunk with which rows have few. docs/sizing.md has these figures.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		rate  float64 // records a second, of 32 partitions
		chunk int
		each  string
		want  string
	}{
		{0, 1 << 18, "", "0 records a second in the last 10 minutes: with chunk: 262144 a state row has up to 0 slots, and a restart reads up to 0 records again, 0.0 s of one CPU"},
		{100_000, 1 << 18, "", "up to 55 slots, and a restart reads up to 8388608 records again, 3.8 s of one CPU"},
		{1e6, 1 << 18, "", "up to 261 slots, and a restart reads up to 8388608 records again, 3.8 s of one CPU; each takes 16 bytes, and a value of each measure that adds up: " +
			"set chunk: 2097152 with the job's next version. Then a row has up to 61, and a restart reads up to 8388608 records again, 3.8 s of one CPU"},
		{10e6, 1 << 18, "", "up to 2321 slots, and a restart reads up to 8388608 records again, 3.8 s of one CPU; each takes 16 bytes, and a value of each measure that adds up: " +
			"set chunk: 33554432 with the job's next version. Then a row has up to 50, and a restart reads up to 8388608 records again, 3.8 s of one CPU"},
		{1e9, 1 << 28, "", "up to 256 slots, and a restart reads up to 8388608 records again, 3.8 s of one CPU; no chunk may be larger: a shorter window has fewer"},
		{10e6, 1 << 25, "dedupe", "up to 50 slots, and a restart reads up to 1073741824 records again, 488.1 s of one CPU"},
		{1e6, 1 << 12, "events", "set chunk: 8192 with the job's next version. Then a row has up to 7357, and a restart reads up to 262144 records again, 0.1 s of one CPU"},
	} {
		newer := map[int32]int64{}
		for p := range int32(32) {
			newer[p] = int64(c.rate * rateOver.Seconds() / 32)
		}
		newer[32] = 0 // at rest
		j := &config.Job{Window: config.Duration(time.Minute), Chunk: c.chunk, Each: c.each}
		if c.each == "dedupe" {
			j.Each, j.Dedupe = "", &config.Dedupe{}
		}
		at := rateOf(j, newer)
		if got := at.String() + at.advice(); !strings.HasSuffix(got, c.want) {
			t.Errorf("%.0f records a second, chunk %d:\n%s\nwant …\n%s", c.rate, c.chunk, got, c.want)
		}
	}
}

// TestScaleOfTopic: the rate that weir check names is that of the topic's newest records.
func TestScaleOfTopic(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	if out := s.done(t, "check"); strings.Contains(out, "rate of topic") {
		t.Errorf("a rate of topics without records:\n%s", out)
	}
	const records = 1_200
	for range records {
		s.produce(t)
	}
	want := fmt.Sprintf("rate of topic clicks: %d records a second in the last 10 minutes", int(records/rateOver.Seconds()))
	if out := s.done(t, "check"); strings.Count(out, want) != 1 || strings.Contains(out, "rate of topic appended") {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// TestRacks: weir check warns where reading across racks can be avoided.
func TestRacks(t *testing.T) {
	for _, c := range []struct {
		rack  string
		racks []string
		warns bool
	}{{"", nil, false}, {"", []string{"a"}, false}, {"", []string{"a", "b"}, true}, {"a", []string{"a", "b"}, false}} {
		if got := unracked(c.rack, c.racks); (got != "") != c.warns {
			t.Errorf("kafka.rack %q, brokers in %q: %q", c.rack, c.racks, got)
		}
	}
}
