// Package clickhouse merges what jobs count into ClickHouse, and makes and
// changes the tables, views and SQL functions there.
//
//	client, err := clickhouse.Open(wire.Config{URLs: []string{"http://127.0.0.1:8123"}, Database: "weir"})
//	job := schema.Job{Spec: spec, Topic: "clicks", Keep: 7 * 24 * time.Hour}
//	statements, err := client.Migrate(ctx, []schema.Job{job}, migrate.Options{})
//	sink, err := client.Job(ctx, job) // compares the tables with what the job needs
//	known, err := sink.Known(ctx)     // how far the ledger says we are
//	err = sink.Write(ctx, changes)    // state rows, dead letters, ledger, in this order
//	err = sink.Rollup(ctx, false, 0)  // recomputes windows with new rows as plain numbers
//
// # Contract
//
// Every insert is merged with the rows that are there, and merging twice
// changes nothing. So Write and Rollup may be repeated, reordered, interrupted,
// or called by two processes at once. After an error some rows may be written:
// send the same or a later state again. An error whose Fatal method returns true does
// not go away by itself; it says what to do.
//
// Write makes one Native block for each table, and inserts it with InsertFormat of
// clickhouse-go over HTTP, because no other function of that library accepts sketch
// states. async_insert is always off, so that an acknowledgement means that the rows
// are there.
//
// A Client may be used by many goroutines. One goroutine at a time may call Write of a
// Sink, and one at a time Rollup; the two may run at the same time.
//
// Rooms, each above those behind it:
//
//	migrate      brings a database to what its jobs need, and compares it with that
//	questions    what people and live answers ask of a job
//	verify       the numbers that package audit compares, and the view weir_audit
//	schema       a job as tables and views
//	wire         the servers of a database, and statements to them
//	native       a block of rows as bytes
//
// Files:
//
//	sink.go      what Write does, in its order
//	ledger.go    reads and writes the ledger
//	repair.go    makes windows of a rollup anew
//	rollup.go    finished numbers
//	rounds.go    writes against rollups, as package rounds says
//	batcher.go   group commit: one statement for what several jobs ask of the tables that they share
//	rows.go      the columns that are written, and the positions of measures that have rows of their own
package clickhouse
