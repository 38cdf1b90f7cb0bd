// Package jobs runs a job: it connects the pure core of package window to Kafka,
// to the sink and to the clock.
//
// A [Job] gets partitions from a [Source], gives each to one of its workers, and
// flushes the workers' changes into a [Sink]: state rows, ledger, then the
// commit. Package window decides every stored value, and package flow decides
// the order of the steps. This package takes the steps, with goroutines, channels, timers and
// contexts, and tells flow the results.
//
// Files:
//
//	job.go      a job, from its first generation to its last rollup
//	run.go      one generation: claim, read, drain
//	drive.go    doing what flow says: take, write, commit
//	live.go     reads of windows that are not flushed yet
//	deliver.go  from the fetch to the workers, as far as memory allows
//	worker.go   counting, on the goroutine that owns the partitions
//	schema.go   schemas that records wait for
//	rollup.go   touched windows recomputed into plain numbers
//	plan.go     where the partitions of a generation are read from
//	pace.go     how far behind the log a run is
//	watch.go    what the ledger covers of the whole topic; open.go: and what
//	            transactions keep from being read
//	lost.go     a sink that lost what it acknowledged
//	status.go   what a job says about itself; quality.go: malformed records
package jobs
