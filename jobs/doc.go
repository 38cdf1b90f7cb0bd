// Package jobs runs a job: it puts sockets and clocks around the pure core of
// package window.
//
// A [Job] takes partitions from a [Source], gives each to one of its workers,
// and flushes what the workers accumulate into a [Sink]: state rows, ledger,
// then the commit. Everything that decides a stored value happens in window;
// this package decides only when.
package jobs
