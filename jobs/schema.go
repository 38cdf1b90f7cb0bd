package jobs

import (
	"context"
	"errors"
	"fmt"

	"weir/event"
	"weir/internal/outage"
)

// This file waits for the schemas that records name.

// Schemas finds the schemas of records. An error means that a schema cannot be had now; the
// job then waits with the partition and asks again, as for a broker that is away. It calls no
// record malformed for that: what is counted must not depend on when the registry answers.
type Schemas interface {
	Schema(ctx context.Context, id event.SchemaID) (*event.Schema, error)
}

// unreadSchema is the subject of log lines about schemas that cannot be had.
var unreadSchema = outage.Subject{
	Begins: "schema registry: outage; records that need a schema wait, and it is asked for again until it comes",
	GoesOn: "schema registry: the outage goes on; records still wait for a schema",
	Ends:   "schema registry: the outage is over; reading goes on where it stood",
}

// observe counts a batch. If a record needs a schema that the operator does not have, observe
// waits for it.
func (w *worker) observe(b *event.Batch) error {
	for {
		err := w.op.Observe(b)
		if err == nil {
			return nil
		}
		var unknown *event.UnknownSchema
		if !errors.As(err, &unknown) {
			return err
		}
		if err := w.learn(unknown); err != nil {
			return err
		}
	}
}

// learn gets a schema and tells it to the operator. Until it comes, the worker answers calls,
// so that what was counted before is flushed, and live reads are answered.
func (w *worker) learn(u *event.UnknownSchema) error {
	if w.schemas == nil {
		return fmt.Errorf("jobs: no schemas are configured: %w", u)
	}
	type answer struct {
		schema *event.Schema
		err    error
	}
	asked := make(chan answer, 1)
	go func() {
		s, err := retry(w.ctx, nil, w.asks, func() (*event.Schema, error) {
			s, err := w.schemas.Schema(w.ctx, u.ID)
			if err != nil {
				err = fmt.Errorf("partition %d waits at offset %d: %w", u.Partition, u.Offset, err)
			}
			return s, err
		})
		asked <- answer{s, err}
	}()
	for {
		select {
		case a := <-asked:
			if a.err == nil {
				w.op.Learn(u.ID, a.schema)
			}
			return a.err
		case f := <-w.calls:
			f()
		}
	}
}
