// Package window is the core: a pure function from (state, batch) to
// (state', changes). It has no clock, goroutine, lock or I/O, and imports none
// of the packages that could give it one, so the simulator runs it as it is.
//
// One worker owns an [Operator]. The operator has the state of each of its
// partitions (a [Partition]), decides the outcome of every record, counts the
// good ones per (window, group) and chunk, and adds them to the sketches:
//
//	op := window.NewOperator(spec)
//	plan, err := spec.Resume(assignment, known, policy)
//	op.Start(plan)
//	op.Observe(batch)       // as often as batches come
//	changes := op.Take() // what a flush must merge into the sink
//
// What is particular to a kind of measure is in the kind's own file; kind.go has all kinds, and what the rest
// knows of them.
//
// The rule of this package: a stored value is a function of the log alone.
// Every decision depends only on the record, its chunk, and (for deduplication)
// the chunk before it. Rows must not depend on the bounds of batches, the times
// of flushes, the number of workers, memory pressure, or the progress of other
// partitions. TestPurity checks that.
package window
