package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/event"
	"weir/window"
)

// A remedy is what can be done about an audit's findings: what each kind of
// them means, said once, and where to read again what is still in the log.
type remedy struct {
	chunk     int64 // offsets in a chunk
	compacted bool  // the topic is
	advice    []string
	back      map[int32]int64 // by partition, the lowest offset to read again from
}

func newRemedy(s *window.Spec, compacted bool) *remedy {
	return &remedy{chunk: s.Chunk, compacted: compacted, back: map[int32]int64{}}
}

// take notes a finding and returns how it reads: the audit's words, with the
// time of its window or the offsets of its chunk.
func (r *remedy) take(f window.Finding) string {
	thinned := r.compacted && f.Thinned()
	if !r.compacted {
		f.Gaps = 0
	}
	a := f.Advice()
	if thinned {
		a = window.Compaction
	}
	if !slices.Contains(r.advice, a) {
		r.advice = append(r.advice, a)
	}
	if thinned { // to read it again is of no use
		return r.words(f)
	}
	switch f.Misfit {
	case window.Hole:
		r.from(f.Partition, int64(f.Expected))
	case window.Missing, window.Unknown, window.Unbalanced:
		r.from(f.Partition, f.Chunk*r.chunk)
	}
	return r.words(f)
}

// words is how a finding reads.
func (r *remedy) words(f window.Finding) string {
	text := f.String()
	switch f.Misfit {
	case window.Lost, window.Behind:
		return strings.Replace(text, fmt.Sprintf("window at %d ms", f.Window), "window "+time.UnixMilli(int64(f.Window)).UTC().Format(time.RFC3339), 1)
	case window.Twice:
		return text
	}
	return fmt.Sprintf("%s (offsets %d to %d)", text, f.Chunk*r.chunk, (f.Chunk+1)*r.chunk)
}

func (r *remedy) from(partition int32, offset int64) {
	if old, ok := r.back[partition]; !ok || offset < old {
		r.back[partition] = offset
	}
}

// print says what to do, with the commands that do it. log is what Kafka holds
// of the partitions.
func (r *remedy) print(w io.Writer, brokers []string, group, topic string, log []event.Assignment) {
	for _, a := range r.advice {
		fmt.Fprintf(w, "  %s\n", a)
	}
	said := false
	for _, p := range slices.Sorted(maps.Keys(r.back)) {
		offset := r.back[p]
		at := slices.IndexFunc(log, func(a event.Assignment) bool { return a.Partition == p })
		if at < 0 || offset < log[at].LogStart {
			fmt.Fprintf(w, "  partition %d cannot be read again from %d: the log does not hold it any more\n", p, offset)
			continue
		}
		if !said {
			fmt.Fprintln(w, "  to set offsets back, with every weir of the group stopped:")
			said = true
		}
		fmt.Fprintf(w, "    kafka-consumer-groups.sh --bootstrap-server %s --group %s --topic %s:%d --reset-offsets --to-offset %d --execute\n",
			strings.Join(brokers, ","), group, topic, p, offset)
	}
}
