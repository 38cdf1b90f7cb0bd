package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weir/audit"
	"weir/event"
)

// A remedy collects what can be done about an audit's findings: an explanation
// for each kind, once, and the offsets from which to read again what is still
// in the log.
type remedy struct {
	topic  compaction
	advice []string
	back   map[counted]int64 // the lowest offset from which to read again
}

// counted is what an epoch counts of a partition.
type counted struct {
	partition int32
	epoch     uint8
}

func newRemedy(topic compaction) *remedy { return &remedy{topic: topic, back: map[counted]int64{}} }

// take adds a finding.
func (r *remedy) take(f audit.Finding) {
	if a := advice(f, r.topic); !slices.Contains(r.advice, a) {
		r.advice = append(r.advice, a)
	}
	back := messageOf(f).back
	if back == nil || r.topic.explains(f) { // reading it again does not help
		return
	}
	offset, of := back(f), counted{f.Partition, f.Epoch}
	if old, ok := r.back[of]; !ok || offset < old {
		r.back[of] = offset
	}
}

// print writes what to do, with the commands for it. log has the partitions as
// Kafka has them; current reports whether one of them is what an epoch counts.
func (r *remedy) print(w io.Writer, brokers []string, group, topic string, log []event.Assignment, current func(epoch uint8, of event.Assignment) bool) {
	for _, a := range r.advice {
		fmt.Fprintf(w, "  %s\n", a)
	}
	said := false
	for _, of := range slices.SortedFunc(maps.Keys(r.back), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.epoch, b.epoch))
	}) {
		p, offset := of.partition, r.back[of]
		at := slices.IndexFunc(log, func(a event.Assignment) bool { return a.Partition == p })
		if at < 0 || offset < log[at].LogStart {
			fmt.Fprintf(w, "  partition %d cannot be read again from %d: the log does not hold it any more\n", p, offset)
			continue
		}
		if !current(of.epoch, log[at]) {
			fmt.Fprintf(w, "  partition %d cannot be read again under epoch %d: the topic was deleted and created again, or truncated, since it was counted\n", p, of.epoch)
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
