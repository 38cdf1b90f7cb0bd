package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/event"
	"weir/ingest"
	"weir/internal/config"
	"weir/window"
)

// The bounds of a sample of a topic.
const (
	sampleTimeout = 20 * time.Second
	sampleBytes   = 64 << 20 // of values
	sampleGroups  = 5        // groups that are named
)

// A sample is the outcome of the newest records of a topic under the job's
// rules. Nothing is written, also not to Kafka: the sample joins no group and
// commits no offset.
type sample struct {
	mu       sync.Mutex // several brokers deliver at the same time
	operator *window.Operator
	spans    map[int32]event.Span // what is left to read
	bytes    int
	oldest   event.Time // of the records
	newest   event.Time
	cut      string // why it ended early
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
func (k *checker) sample(j *config.Job, src *ingest.Source, n int64) {
	subject := "job " + j.Name
	fail := func(err error) { k.result("sample", subject, "", err, exitFailed) }
	spec, err := j.Spec()
	if err != nil {
		fail(err)
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, sampleTimeout)
	defer cancel()
	all, err := src.Spans(ctx)
	if err != nil {
		fail(err)
		return
	}
	s := &sample{spans: newestOf(all, n)}
	if len(s.spans) == 0 {
		k.add(finding{"sample", subject, "warning", "topic " + j.Topic + " holds no records now: nothing to sample", 0})
		return
	}
	partitions := len(s.spans)
	if s.operator, err = window.NewOperator(spec); err != nil {
		fail(err)
		return
	}
	if err := s.read(ctx, src); err != nil {
		fail(err)
		return
	}
	k.report(j, s, partitions)
}

var errSampled = errors.New("the sample is complete")

// read passes the sample's offsets to its operator.
func (s *sample) read(ctx context.Context, src *ingest.Source) error {
	from := map[int32]int64{}
	for p, span := range s.spans {
		from[p] = span.First
		s.operator.Start(window.Plan{Partition: p, Warm: span.First, Start: span.First, Durable: span.First, Lost: span.First, Committed: span.First})
	}
	g, err := src.Assign(ctx)
	if err != nil {
		return err
	}
	defer g.Release()
	err = g.Fetch(ctx, from, func(p event.Part) error {
		defer p.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		return p.Unpack(func(b *event.Batch) error { return s.observe(b) })
	})
	switch {
	case errors.Is(err, errSampled):
		return nil
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		s.cut = fmt.Sprintf("; stopped after %s", sampleTimeout)
		return nil
	}
	return err
}

// observe counts a batch, up to the end that the log had when the sample began.
func (s *sample) observe(b *event.Batch) error {
	span, wanted := s.spans[b.Partition]
	if !wanted {
		return nil
	}
	part := *b
	part.Next = min(b.Next, span.Next)
	part.Records = slices.Clone(b.Records)
	part.Records = slices.DeleteFunc(part.Records, func(r event.Record) bool { return r.Offset < span.First || r.Offset >= span.Next })
	for _, r := range part.Records {
		s.bytes += len(r.Value)
		if s.oldest == 0 || r.Time < s.oldest {
			s.oldest = r.Time
		}
		s.newest = max(s.newest, r.Time)
	}
	if err := s.operator.Observe(&part); err != nil {
		return err
	}
	if part.Next >= span.Next {
		delete(s.spans, b.Partition)
	}
	switch {
	case len(s.spans) == 0:
		return errSampled
	case s.bytes >= sampleBytes:
		s.cut = fmt.Sprintf("; stopped at %d MiB", sampleBytes>>20)
		return errSampled
	}
	return nil
}

// report adds the findings: outcomes, reasons, groups and times. They are a
// failure if more than half of the records are malformed.
func (k *checker) report(j *config.Job, s *sample, partitions int) {
	subject := "job " + j.Name
	changes := s.operator.Take()
	changes.Table.Seal()
	records := uint64(0)
	for f, n := range changes.Outcomes {
		if window.Outcome(f) != window.Gap {
			records += n
		}
	}
	if records == 0 {
		k.add(finding{"sample", subject, "warning", fmt.Sprintf("the newest offsets of topic %s hold no records (markers of transactions, or compacted away)%s: sample more", j.Topic, s.cut), 0})
		return
	}
	share := func(n uint64) string {
		return fmt.Sprintf("%d (%s %%)", n, strings.TrimSuffix(strconv.FormatFloat(100*float64(n)/float64(records), 'f', 1, 64), ".0"))
	}
	var outcomes []string
	for f, n := range changes.Outcomes {
		if window.Outcome(f) != window.Gap && n > 0 {
			outcomes = append(outcomes, window.Outcome(f).String()+" "+share(n))
		}
	}
	f := finding{"sample", subject, "ok", fmt.Sprintf("%d records, the newest of %d partitions%s: %s", records, partitions, s.cut, strings.Join(outcomes, ", ")), 0}
	switch bad := changes.Outcomes[window.Malformed]; {
	case 2*bad > records:
		f.Result, f.code = "failed", exitFailed
		f.Detail += "; more than half are malformed: the job does not fit what is in the topic"
	case changes.Outcomes[window.Counted] == 0:
		f.Result = "warning"
		f.Detail += "; none would be counted"
	}
	k.add(f)

	type reason struct {
		outcome window.Outcome
		text    string
	}
	count, example := map[reason]uint64{}, map[reason]window.DeadLetter{}
	for _, d := range changes.Dead {
		r := reason{d.Outcome, d.Reason}
		if count[r]++; count[r] == 1 {
			example[r] = d
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(count), func(a, b reason) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.text, b.text))
	}) {
		k.add(finding{"sample", subject, "warning", fmt.Sprintf("%s %s: %s, e.g. partition %d offset %d",
			r.outcome, share(count[r]), r.text, example[r].Partition, example[r].Offset), 0})
	}

	times := fmt.Sprintf("records were written from %s to %s", clock(s.oldest), clock(s.newest))
	if changes.Table.Len() > 0 {
		groups := map[string]uint64{}
		first, last := window.Newest, window.Oldest
		for row := range changes.Table.Rows {
			first, last = min(first, row.Window()), max(last, row.Window())
			var texts []string
			for _, g := range row.Group(nil) {
				texts = append(texts, strconv.Quote(string(g)))
			}
			for _, n := range row.Hits {
				groups[strings.Join(texts, ", ")] += n
			}
		}
		times += fmt.Sprintf("; their events fall into windows from %s to %s", clock(first), clock(last+event.Time(time.Duration(j.Window).Milliseconds())))
		if len(j.By) > 0 {
			k.add(finding{"sample", subject, "ok", "groups: " + largestGroups(groups), 0})
		}
	}
	k.add(finding{"sample", subject, "ok", times, 0})
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

func clock(t event.Time) string { return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05Z") }
