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
//	sink.go ledger.go
//	             writes changes; the ledger
//	repair.go    makes windows of a rollup anew
//	rollup.go    finished numbers
//	rounds.go    writes against rollups, as rounds says
//	audit.go     the numbers that audit compares
//	read.go      reads windows back for live answers
//	funnel.go retention.go sessions.go
//	             the views of questions about ids over several windows
//	steps.go migrate.go
//	             brings the database to what it should be, and the statements which that takes
//	uptime.go    notices that a server was started again
//	ask.go ids.go
//	             asks the views of questions about ids for others
//	long.go      questions about long ranges, from the rollups
//	over.go      the views of windows that a query asks for
//	question.go  questions as statements for people
//	check.go     compares the database with what it should be
//	members.go   whether the shards are those of the database
//	identity.go  the id of the database
//	geo.go       the tables of measures that have rows of their own
//	wide.go      views over the tables of all shards
//	insert.go    sends a block in pieces, each encoded when the one before has left
//	rows.go      a Native block: columns as bytes
//	functions.go schema.go
//	             SQL functions, tables and views as they should be; schema/ has the long SQL
//	dead.go      reads dead letters back
//	job.go       a job as tables: names, columns, rollups
//	kind.go      the columns of a measure
//	client.go    the connection pools
//	shards.go    which shard has a row
//	replicas.go  which of several replicas is asked
//	batcher.go   group commit: one statement for what several jobs ask of the tables that they share
//	errors.go    errors, and which of them are permanent
package clickhouse
