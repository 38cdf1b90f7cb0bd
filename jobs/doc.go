// Package jobs runs a job: it puts sockets and clocks around the pure core of
// package window.
//
// A [Job] takes partitions from a [Source], gives each to one of its workers,
// and flushes what the workers accumulate into a [Sink]: state rows, ledger,
// then the commit. Everything that decides a stored value happens in window, and
// what is to be done when in flow. This package does it, with goroutines,
// channels, timers and contexts, and says what comes of it.
//
// Files:
//
//	job.go      a job, from its first generation to its last rollup
//	plan.go     where the partitions of a generation are read from
//	run.go      one generation: claim, read, drain
//	obey.go     doing what flow says: take, write, commit
//	deliver.go  from the fetch to the workers, as far as memory allows
//	worker.go   counting, on the goroutine that owns the partitions
//	rollup.go   touched windows recomputed into plain numbers
//	watch.go    what the ledger covers of the whole topic; open.go: and what
//	            transactions keep from being read
//	verify.go   how far the ledger is from the log
//	live.go     reads of what is not flushed yet
//	status.go   what a job says about itself; quality.go: malformed records
package jobs
