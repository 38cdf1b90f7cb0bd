// Package clickhouse joins what jobs count into ClickHouse and keeps the
// tables, views and SQL functions that make it readable there.
//
//	client, err := clickhouse.Open(clickhouse.Config{URL: "http://127.0.0.1:8123", Database: "weir"})
//	job := clickhouse.Job{Spec: spec, Topic: "clicks", Keep: 7 * 24 * time.Hour}
//	statements, err := client.Migrate(ctx, []clickhouse.Job{job}, clickhouse.Migration{})
//	sink, err := client.Job(ctx, job) // compares the tables with what the job needs
//	known, err := sink.Known(ctx)     // how far the ledger says we are
//	err = sink.Write(ctx, changes)    // state rows, dead letters, ledger, in this order
//	err = sink.Rollup(ctx, false, 0)  // touched windows into plain numbers
//
// # Contract
//
// Every value is a join-semilattice element and every insert joins, so Write
// and Rollup may be repeated, reordered, cut short or sent by two processes at
// once. An error therefore never says that nothing was written: send the same
// or a later state again. Errors with Fatal() true will not go away by
// themselves; they say in words what to do.
//
// Rows go out as Native blocks built by hand, one block a table and flush, over
// the one route that accepts ready-made sketch states: InsertFormat of
// clickhouse-go over HTTP. async_insert is always off, because an
// acknowledgement has to mean that the rows are there.
//
// A Client may be used by many goroutines. Of one Sink, Write belongs to one
// goroutine at a time and Rollup to one; the two may run beside each other.
//
// # Files
//
//	client.go     connection, settings
//	job.go        a job's tables and names
//	schema.go     objects as they should be; schema/*.sql their text
//	kind.go       what a kind of measure keeps: hll.go bitmap.go bloom.go max.go geo.go
//	functions.go  SQL functions
//	migrate.go    from what is there to what should be
//	check.go      what is there against what the job needs
//	rows.go       changes to Native blocks
//	sink.go       Known, Write
//	rounds.go     what is written against what is rolled up
//	rollup.go     Rollup
//	audit.go      does it add up: the numbers that package audit judges
//	repair.go     rollups made anew
//	errors.go     retryable or fatal
package clickhouse
