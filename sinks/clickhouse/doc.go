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
// # Files
//
//	client.go     connections, settings
//	replicas.go   which of several replicas is asked
//	shards.go     which shard has a row; members.go: the shards of a database; wide.go: views over all
//	job.go        a job's tables and names
//	schema.go     tables and views as they should be; schema/*.sql has the statements
//	kind.go       what is stored of a kind of measure: hll.go bitmap.go bloom.go max.go geo.go
//	functions.go  SQL functions
//	migrate.go    creates and extends what is missing
//	check.go      compares what the database has with what the job needs
//	rows.go       makes Native blocks of changes
//	sink.go       Write
//	ledger.go     Known, Coverage, lines
//	read.go       reads windows back, for live answers
//	question.go   questions as statements; ask.go, long.go: those that views answer
//	rounds.go     the current round, and writes against it
//	joint.go      one statement for what several jobs ask at the same moment
//	rollup.go     Rollup
//	audit.go      reads the numbers that package audit compares
//	repair.go     recomputes windows of rollups
//	errors.go     which errors are worth another attempt
//	identity.go   the id of the database
package clickhouse
