// Package clickhouse merges what jobs count into ClickHouse, and makes and
// changes the tables, views and SQL functions there.
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
// Every insert is merged with the rows that are there, and merging twice
// changes nothing. So Write and Rollup may be repeated, reordered, interrupted,
// or called by two processes at once. After an error some rows may be written:
// send the same or a later state again. Errors with Fatal() true do not go away
// by themselves; they say what to do.
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
//	rows.go       Native blocks made from changes
//	sink.go       Known, Write
//	rounds.go     which rows a rollup may lack
//	rollup.go     Rollup
//	audit.go      reads the numbers that package audit compares
//	repair.go     makes windows of rollups anew
//	errors.go     retryable or fatal
package clickhouse
