// Package window is the core: a pure function from (state, batch) to
// (state', changes). It has no clock, goroutine, lock or I/O, and imports none
// of the packages that could give it one, so the simulator runs it as it is.
//
// An [Operator] is what one worker owns. It decides the outcome of every record
// of the partitions handed to it (their [Lane]s), counts the good ones per
// (window, group) and chunk of the log, and feeds the sketches:
//
//	op := window.NewOperator(spec)
//	plan, err := spec.Resume(assignment, known, policy)
//	op.Start(plan)
//	op.Observe(batch)       // as often as batches come
//	changes := op.Take()    // what a flush must join into the sink
//
// The law of this package: a stored value is a function of the log alone.
// Every decision below is made from the record, its chunk, and (for
// deduplication) the chunk before it. Batch bounds, flush times, the number of
// workers, memory pressure and the progress of other partitions must not be
// able to reach a row. TestPurity holds it to that.
package window
