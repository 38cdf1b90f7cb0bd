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
// What is particular to a kind of measure is in the kind's own folder of weir/measures; kind.go has what this
// package knows of a kind.
//
// The rule of this package: a stored value is a function of the log alone.
// Every decision depends only on the record, its chunk, and (for deduplication)
// the chunk before it. Rows must not depend on the bounds of batches, the times
// of flushes, the number of workers, memory pressure, or the progress of other
// partitions. TestPurity checks that.
//
// Files:
//
//	meaning.go    the Spec as JSON that is equal for equal specs, and what two of them differ in
//	resume.go     from where a partition is read
//	operator.go   the operator: decides offsets, counts events, hands out changes
//	judge.go      says what the operator decides about each record, for tools that show records
//	each.go       records that are arrays of events
//	partition.go  the state of one partition: the chunk being read, its groups and counts
//	saved.go      the state of a partition as a ledger line has it
//	snapshot.go   copies of rows for live reads
//	changes.go    what a flush writes: table, ledger lines, dead letters
//	fold.go       one line of the ledger for many
//	decode.go     from a block of records to events or reasons against them
//	dedupe.go     the ids of a chunk: Bloom filters, or the ids themselves
//	throttle.go   the limiters of the keys of a partition
//	condition.go  conditions on an event
//	value.go      what a measure comes to over windows and groups
//	spec.go       a Spec: what a job means; slots and outcomes
//	field.go      the fields that a spec reads, and those derived from others
//	load.go       rows read back from the sink
//	table.go      counts and sketches by window and group
//	kind.go       a kind of measure, as the operator and the table know it
package window
