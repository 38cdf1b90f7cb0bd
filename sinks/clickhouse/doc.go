// Package clickhouse merges what jobs count into ClickHouse, and makes and
// changes the tables, views and SQL functions there.
//
//	client, err := clickhouse.Open(clickhouse.Config{URLs: []string{"http://127.0.0.1:8123"}, Database: "weir"})
//	job := clickhouse.Job{Spec: spec, Topic: "clicks", Keep: 7 * 24 * time.Hour}
//	statements, err := client.Migrate(ctx, []clickhouse.Job{job}, clickhouse.Migration{})
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
// Files:
//
//	client.go    the connection pools
//	replicas.go  which of several replicas is asked
//	uptime.go    notices that a server was started again
//	members.go shards.go
//	             which shard has a row; whether the shards are those of the database
//	wide.go      views over the tables of all shards
//	job.go       a job as tables: names, columns, rollups
//	functions.go schema.go
//	             tables, views and SQL functions as they should be; schema/ has the long SQL
//	migrate.go steps.go
//	             brings the database to that, and the statements which that takes
//	check.go     compares the database with that
//	identity.go  the id of the database
//	ledger.go sink.go
//	             writes changes; the ledger
//	rows.go      a Native block: columns as bytes
//	insert.go    sends a block in pieces, each encoded when the one before has left
//	batcher.go   group commit: one statement for what several jobs ask of the tables that they share
//	rollup.go rounds.go
//	             finished numbers, and writes against rollups, as rounds says
//	over.go      the views of windows that a query asks for
//	funnel.go ids.go retention.go sessions.go
//	             the views of questions about ids over several windows
//	ask.go       asks these views for others
//	long.go      questions about long ranges, from the rollups
//	read.go      reads windows back for live answers
//	question.go  questions as statements for people
//	dead.go      reads dead letters back
//	audit.go     the numbers that audit compares
//	repair.go    makes windows of a rollup anew
//	errors.go    errors, and which of them are permanent
//	geo.go       the tables of measures that have rows of their own
//	kind.go      the columns of a measure
package clickhouse
