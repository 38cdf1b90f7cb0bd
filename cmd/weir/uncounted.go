package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/jobs"
	"weir/window"
)

// waitingForSchemas says which partitions of a job wait for a schema that cannot be had: it reads the
// record at which each of them stands. It returns how many do, and an empty text if none does or
// that cannot be found out.
func waitingForSchemas(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source, ledger jobs.Ledger, partitions []int32) (waiting int, text string) {
	spec := j.Spec()
	if !spec.Framed() {
		return 0, ""
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	logs, err := src.Spans(ctx)
	if err != nil && !ingest.Lacks(err) {
		return 0, ""
	}
	covered, err := ledger.Coverage(ctx)
	if err != nil {
		return 0, ""
	}
	covered.Of(logs)
	spans, from := map[int32]event.Span{}, map[int32]int64{}
	for _, p := range partitions {
		if at := max(logs[p].First, covered.Partitions[p].Next); at < logs[p].Next {
			spans[p], from[p] = event.Span{First: at, Next: at + 1}, at
		}
	}
	judge, err := window.NewJudge(spec)
	if err != nil || len(spans) == 0 {
		return 0, ""
	}
	schemas, end, err := schemasOf(cfg, j, spec)
	if err != nil {
		return 0, ""
	}
	defer end()
	wait := map[int32]string{}
	r := &reading{judge: judge, schemas: schemas, spans: spans, tell: func(v *window.Verdict) error {
		if v.Waits {
			wait[v.Partition] = fmt.Sprintf("partition %d waits at offset %d: %s", v.Partition, v.Offset, v.Reason)
		}
		return nil
	}}
	if err := r.run(ctx, src, from); err != nil && len(wait) == 0 {
		return 0, ""
	}
	var all []string
	for _, p := range slices.Sorted(maps.Keys(wait)) {
		all = append(all, printable(wait[p]))
	}
	return len(wait), strings.Join(all, "; ")
}

// remedyOfUncounted says what to do about records that are not counted.
func remedyOfUncounted(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source, ledger jobs.Ledger, u *jobs.Uncounted) string {
	n, text := waitingForSchemas(ctx, cfg, j, src, ledger, u.Partitions)
	switch n {
	case 0:
		return whoReads(ctx, cfg, j, src)
	case len(u.Partitions):
		return text + ". They are counted as soon as the schema can be had; for one that is lost see docs/inputs.md"
	}
	return text + ". Of the others, " + whoReads(ctx, cfg, j, src)
}
