package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/window"
)

// The bounds of a sample of a topic.
const (
	sampleBytes  = 64 << 20 // of values
	sampleGroups = 5        // groups that are named
	keptRecords  = 1000     // whose paths are looked at
)

// sampleTimeout is how long a sample may take; a variable as checkTimeout is.
var sampleTimeout = 20 * time.Second

// A sample counts the verdicts of the newest records of a topic under the job's rules.
type sample struct {
	records  uint64 // with Spec.Each their events
	outcomes [window.Outcomes]uint64
	waiting  uint64            // records whose schema cannot be had
	reasons  map[reason]uint64 // of those, and of late, future and malformed ones
	examples map[reason]position
	groups   map[string]uint64 // hits
	bytes    int               // of values
	written  times             // of the records, in Kafka
	windows  times             // of the counted events
	ids      spread            // of dedupe
	keys     spread            // of throttle
	cut      string            // why it ended early
}

type reason struct{ outcome, text string }

type position struct {
	partition int32
	offset    int64
}

// times are the first and the last of some.
type times struct{ first, last event.Time }

func (t *times) add(at event.Time) { t.first, t.last = min(t.first, at), max(t.last, at) }

func newSample() *sample {
	none := times{window.Newest, window.Oldest}
	return &sample{reasons: map[reason]uint64{}, examples: map[reason]position{}, groups: map[string]uint64{}, ids: spread{in: map[[2]uint64]int32{}}, keys: spread{in: map[[2]uint64]int32{}}, written: none, windows: none}
}

// newestOf reduces spans to their n newest offsets in all: equal shares of the
// partitions, where small partitions leave the rest of their share to others.
func newestOf(spans map[int32]event.Span, n int64) map[int32]event.Span {
	out := map[int32]event.Span{}
	order := slices.SortedFunc(maps.Keys(spans), func(a, b int32) int {
		return cmp.Or(cmp.Compare(spans[a].Next-spans[a].First, spans[b].Next-spans[b].First), cmp.Compare(a, b))
	})
	for i, p := range order {
		rest := int64(len(order) - i)
		take := min((n+rest-1)/rest, spans[p].Next-spans[p].First)
		if take > 0 {
			out[p] = event.Span{First: spans[p].Next - take, Next: spans[p].Next}
			n -= take
		}
	}
	return out
}

// sample shows the outcomes of the newest n records of a job's topic.
func (k *checker) sample(cfg *config.Config, j *config.Job, src *ingest.Source, n int64) {
	subject := "job " + j.Name
	fail := func(err error) { k.result("sample", subject, "", err, exitFailed) }
	ctx, cancel := context.WithTimeout(k.ctx, sampleTimeout)
	defer cancel()
	all, err := src.Spans(ctx)
	if err != nil {
		if fail(err); !ingest.Lacks(err) {
			return
		}
	}
	spans := newestOf(all, n)
	if len(spans) == 0 {
		k.warn("sample", subject, "topic "+j.Topic+" holds no records now: nothing to sample")
		return
	}
	from := map[int32]int64{}
	for p, span := range spans {
		from[p] = span.First
	}
	s := newSample()
	r := &reading{spans: maps.Clone(spans), tell: s.add}
	err = readJob(ctx, cfg, j, src, r, from)
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		s.cut, err = fmt.Sprintf("; stopped after %s", sampleTimeout), nil
	}
	if err != nil {
		fail(err)
		return
	}
	k.report(j, s, len(spans))
	k.values(j, s, r.judge.Found())
	if err := k.paths(ctx, cfg, j, src, newestOf(all, min(n, keptRecords)), r.judge.Found()); err != nil {
		k.warn("sample", subject, "the paths of the records are not known: "+err.Error())
	}
}

// add counts a verdict.
func (s *sample) add(v *window.Verdict) error {
	s.records += uint64(v.Records)
	s.written.add(v.Record)
	if v.Waits {
		s.waiting++
	} else {
		s.outcomes[v.Outcome] += uint64(v.Records)
	}
	switch v.Outcome {
	case window.Counted:
		s.windows.add(v.Window)
		s.groups[groupText(v.Group)]++
	case window.Late, window.Future, window.Malformed:
		text, _, _ := strings.Cut(v.Reason, event.Place)
		r := reason{outcomeOf(v), text}
		if at, ok := s.examples[r]; !ok || cmp.Or(cmp.Compare(v.Partition, at.partition), cmp.Compare(v.Offset, at.offset)) < 0 {
			s.examples[r] = position{v.Partition, v.Offset}
		}
		s.reasons[r] += uint64(v.Records)
	}
	s.ids.add(v.ID, v.Partition)
	s.keys.add(v.Key, v.Partition)
	if s.bytes += v.Size; s.bytes >= sampleBytes {
		s.cut = fmt.Sprintf("; stopped at %d MiB", sampleBytes>>20)
		return errRead
	}
	return nil
}

// A spread says in which partitions some ids are.
type spread struct {
	in    map[[2]uint64]int32 // the partition of each; several if an id is in more than one
	apart int                 // how many ids are in more than one
}

// several stands for more than one partition.
const several = -1

// add notes an id in a partition. Zero is none.
func (s *spread) add(id [2]uint64, partition int32) {
	switch in, known := s.in[id]; {
	case id == [2]uint64{}:
	case !known:
		s.in[id] = partition
	case in != partition && in != several:
		s.in[id] = several
		s.apart++
	}
}

// report adds the diagnostics: outcomes, reasons, groups and times. They are a
// failure if more than half of the records are malformed.
func (k *checker) report(j *config.Job, s *sample, partitions int) {
	subject := "job " + j.Name
	if s.records == 0 {
		k.warn("sample", subject, fmt.Sprintf("the newest offsets of topic %s hold no records (markers of transactions, or compacted away)%s: sample more", j.Topic, s.cut))
		return
	}
	share := func(n uint64) string {
		return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(s.records))
	}
	var outcomes []string
	for f, n := range s.outcomes {
		if n > 0 {
			outcomes = append(outcomes, window.Outcome(f).String()+" "+share(n))
		}
	}
	if s.waiting > 0 {
		outcomes = append(outcomes, waits+" "+share(s.waiting))
	}
	what := "records, the newest"
	if j.Each != "" {
		what = "events of arrays, in the newest records"
	}
	f := diagnostic{"sample", subject, "ok", fmt.Sprintf("%d %s of %d partitions%s: %s", s.records, what, partitions, s.cut, strings.Join(outcomes, ", ")), 0}
	switch bad := s.outcomes[window.Malformed]; {
	case 2*bad > s.records:
		f.Result, f.code = "failed", exitFailed
		f.Detail += "; more than half are malformed: the job does not fit what is in the topic"
	case s.waiting > 0:
		f.Result = "warning"
		f.Detail += "; weir run waits at a record whose schema cannot be had, and counts none behind it in its partition"
	case s.outcomes[window.Counted] == 0:
		f.Result = "warning"
		f.Detail += "; none would be counted"
	}
	k.add(f)

	for _, r := range slices.SortedFunc(maps.Keys(s.reasons), func(a, b reason) int {
		return cmp.Or(cmp.Compare(s.reasons[b], s.reasons[a]), cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.text, b.text))
	}) {
		k.warn("sample", subject, fmt.Sprintf("%s %s: %s, e.g. partition %d offset %d",
			r.outcome, share(s.reasons[r]), printable(r.text), s.examples[r].partition, s.examples[r].offset))
	}

	if d := j.Dedupe; d != nil {
		k.add(scattered(subject, "dedupe", "ids", "counts the events of an id once by itself", d.Field, &s.ids))
	}
	if t := j.Throttle; t != nil {
		k.add(scattered(subject, "throttle", "keys", "limits them by itself", t.Field, &s.keys))
	}

	when := fmt.Sprintf("records were written from %s to %s", clock(s.written.first), clock(s.written.last))
	if s.outcomes[window.Counted] > 0 {
		when += fmt.Sprintf("; their events fall into windows from %s to %s", clock(s.windows.first), clock(s.windows.last+event.Time(time.Duration(j.Window).Milliseconds())))
		if len(j.By) > 0 {
			k.result("sample", subject, "groups: "+largestGroups(s.groups), nil, 0)
		}
	}
	k.result("sample", subject, when, nil, 0)
}

// scattered says how many ids of dedupe, or keys of throttle, are in more than one partition, where
// each partition does something by itself.
func scattered(subject, key, what, does string, field []string, s *spread) diagnostic {
	all, apart := len(s.in), s.apart
	if apart == 0 {
		return diagnostic{"sample", subject, "ok", fmt.Sprintf("%s: %d %s, none in more than one partition", key, all, what), 0}
	}
	return diagnostic{"sample", subject, "warning", fmt.Sprintf("%s: %d of %d %s (%.1f %%) are in more than one partition, and each partition %s: produce with %s as the record's key",
		key, apart, all, what, 100*float64(apart)/float64(all), does, strings.Join(field, " or ")), 0}
}

// largestGroups names the groups with the most hits.
func largestGroups(groups map[string]uint64) string {
	names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[b], groups[a]), cmp.Compare(a, b))
	})
	var texts []string
	for _, g := range names[:min(len(names), sampleGroups)] {
		texts = append(texts, fmt.Sprintf("(%s) %d", g, groups[g]))
	}
	if more := len(names) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
