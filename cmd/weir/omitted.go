package main

import (
	"context"
	"log/slog"
	"sync"

	"weir/event"
	"weir/internal/config"
	"weir/jobs"
)

// omissions returns what a job misses of the records of a schema, because their producers do
// not write some values.
func omissions(j *config.Job, s *event.Schema) []config.Omission {
	each := event.ParsePathText(j.Each)
	return j.Omissions(func(path string) (event.Value, bool) { return s.Omitted(each, path) })
}

// omitting finds schemas for a job that runs, and says in the log what the job misses of the
// records of each, every text once. It may be used by several goroutines.
type omitting struct {
	jobs.Schemas
	job *config.Job
	log *slog.Logger

	mu   sync.Mutex
	said map[config.Omission]bool
}

func (o *omitting) Schema(ctx context.Context, id event.SchemaID) (*event.Schema, error) {
	s, err := o.Schemas.Schema(ctx, id)
	if err != nil {
		return s, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, missed := range omissions(o.job, s) {
		if !o.said[missed] {
			o.said[missed] = true
			o.log.Warn("the job misses values that producers do not write", "job", o.job.Name, "schema", id.Name().String(), "place", o.job.Place+"."+missed.At, "what", missed.Text)
		}
	}
	return s, nil
}
