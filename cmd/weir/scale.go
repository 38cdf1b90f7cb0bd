package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"weir/config"
	"weir/ingest"
	"weir/internal/spelling"
	"weir/window"
)

const (
	rateOver = 10 * time.Minute // over which the rate of a topic is measured

	// The figures of docs/sizing.md: how many events a second one CPU counts, and how many entries
	// a row may have, or twice as many as there are partitions.
	perCPU      = 2_200_000
	manyEntries = 64

	mostChunk = 1 << 28 // that a configuration may have
)

// scale says what the job's chunk means at the rate of its topic, and names another one if rows
// would have many entries.
func (k *checker) scale(ctx context.Context, j *config.Job, src *ingest.Source) {
	subject := "rate of topic " + j.Topic
	newer, err := src.Newer(ctx, k.now().Add(-rateOver))
	if err != nil && !ingest.Lacks(err) { // the ledger's check reports missing partitions
		k.result("kafka", subject, "", err, exitFailed)
		return
	}
	at := rateOf(j, newer)
	if at.rate < 1 {
		return // nothing to say of a topic at rest
	}
	if advice := at.advice(); advice != "" {
		k.warn("kafka", subject, at.String()+advice)
		return
	}
	k.result("kafka", subject, at.String(), nil, 0)
}

// A topicRate is what a job meets at the rate of its topic.
type topicRate struct {
	rate       float64 // records a second
	partitions int     // with records
	window     time.Duration
	chunk      int
	most       int // the largest chunk that the job may have
	again      int // how much of a chunk is read again at most
}

// rateOf takes the numbers of records of the last rateOver, by partition.
func rateOf(j *config.Job, newer map[int32]int64) topicRate {
	t := topicRate{window: time.Duration(j.Window), chunk: j.Chunk, most: mostChunk, again: config.SaveAfter}
	if j.Each != "" {
		t.most = window.MaxEachChunk
	}
	if j.Dedupe != nil || j.Throttle != nil {
		t.again = mostChunk
	}
	for _, n := range newer {
		if n > 0 {
			t.partitions++
			t.rate += float64(n) / rateOver.Seconds()
		}
	}
	return t
}

// chunks returns how many chunks of a length a window takes, all partitions together.
func (t topicRate) chunks(length int) float64 {
	return t.rate * t.window.Seconds() / float64(length)
}

// entries returns how many entries a row has at most: each partition may begin and end a window
// within a chunk.
func (t topicRate) entries(length int) int {
	return t.partitions + int(math.Ceil(t.chunks(length)))
}

// recovery says what a restart reads again.
func (t topicRate) recovery(length int) string {
	records := t.partitions * min(length, t.again)
	return fmt.Sprintf("up to %s again, %.1f s of one CPU", spelling.Count(records, "record"), float64(records)/perCPU)
}

func (t topicRate) String() string {
	return fmt.Sprintf("%.0f records a second in the last 10 minutes: with chunk: %d a state row has up to %s, and a restart reads %s",
		t.rate, t.chunk, spelling.Count(t.entries(t.chunk), "slot"), t.recovery(t.chunk))
}

// advice returns what to do about rows with many entries; empty if there are none.
func (t topicRate) advice() string {
	few := max(manyEntries, 2*t.partitions)
	if t.entries(t.chunk) <= few {
		return ""
	}
	chunk := t.chunk
	for chunk < t.most && t.entries(chunk) > few {
		chunk *= 2
	}
	if chunk == t.chunk {
		return "; no chunk may be larger: a shorter window has fewer"
	}
	return fmt.Sprintf("; each takes 16 bytes, and a value of each measure that adds up: set chunk: %d with the job's next version. "+
		"Then a row has up to %d, and a restart reads %s", chunk, t.entries(chunk), t.recovery(chunk))
}

// unracked returns a warning if brokers are in several racks, and the process in none that it knows.
func unracked(rack string, racks []string) string {
	if rack != "" || len(racks) < 2 {
		return ""
	}
	return fmt.Sprintf("the brokers are in the racks %q, and kafka.rack is not set: each partition is read from its leader, "+
		"also across zones, and that traffic may cost more than all else. Set kafka.rack of each process to its own rack", racks)
}
