package jobs

import (
	"context"
	"fmt"
	"time"

	"weir/event"
	"weir/internal/outage"
)

// This file waits for the schemas that records name.

// Schemas finds the schemas of records. An error means that a schema cannot be had now; the
// job then waits with the partition and asks again, as for a broker that is away. It calls no
// record malformed for that: the counts must not depend on when the registry answers.
type Schemas interface {
	Schema(ctx context.Context, id event.SchemaID) (*event.Schema, error)
}

// unreadSchema is the subject of log lines about schemas that cannot be had.
var unreadSchema = outage.Subject{
	Begins: "schema registry: outage; records that need a schema wait, and it is asked for again until it comes",
	GoesOn: "schema registry: the outage goes on; records still wait for a schema",
	Ends:   "schema registry: the outage is over; reading goes on where it stood",
}

// schemaWait is how long a worker with all its partitions waits for a schema, before it goes
// on with the others. A registry that is well answers much sooner.
const schemaWait = time.Second

// An answer comes from the registry.
type answer struct {
	schema *event.Schema
	err    error
}

// learn gets a schema and tells it to the operator. Meanwhile the worker answers calls, so
// flushes and live reads go on. If the schema does not come soon, known is false, and later
// tells it to the operator.
func (w *worker) learn(u *event.UnknownSchema) (known bool, err error) {
	if w.job.cfg.Schemas == nil {
		return false, fmt.Errorf("jobs: no schemas are configured: %w", u)
	}
	asked := make(chan answer, 1)
	go func() { asked <- w.ask(u) }()
	soon := time.NewTimer(schemaWait)
	defer soon.Stop()
	for {
		select {
		case a := <-asked:
			if a.err == nil {
				w.op.Learn(u.ID, a.schema)
			}
			return a.err == nil, a.err
		case f := <-w.calls:
			f()
		case <-soon.C:
			name := u.ID.Name()
			w.wait(u.Partition, &name)
			go w.later(u, asked)
			return false, nil
		}
	}
}

// wait notes for which schema a partition waits; nil: for none any more.
func (w *worker) wait(partition int32, schema *event.SchemaName) {
	w.waits[partition] = schema != nil
	if b := w.board.partition(partition); b != nil {
		b.waits.Store(schema)
	}
	w.changed()
}

// ask asks for a schema until it comes.
func (w *worker) ask(u *event.UnknownSchema) answer {
	tries := w.job.cfg.Outages.Of(unreadSchema, fmt.Sprintf("partition %d of job %s", u.Partition, w.job.cfg.Spec.Job))
	s, err := retry(w.ctx, nil, tries, func() (*event.Schema, error) {
		s, err := w.job.cfg.Schemas.Schema(w.ctx, u.ID)
		if err != nil {
			err = fmt.Errorf("partition %d waits at offset %d: %w", u.Partition, u.Offset, err)
		}
		return s, err
	})
	return answer{s, err}
}

// later ends the wait of a partition when its schema has come.
func (w *worker) later(u *event.UnknownSchema, asked <-chan answer) {
	a := <-asked
	if a.err != nil {
		if w.ctx.Err() == nil {
			w.fail(a.err)
		}
		return
	}
	select {
	case w.calls <- func() {
		w.op.Learn(u.ID, a.schema)
		w.wait(u.Partition, nil)
	}:
	case <-w.ctx.Done():
	}
}
