// Package wire sends statements and blocks to the servers of one ClickHouse database, which may be
// replicas and shards, over HTTP. It knows no job.
//
// Files:
//
//	members.go   whether the shards are those of the database
//	uptime.go    notices that a server was started again
//	insert.go    sends a block, encoded while it is sent
//	db.go        the connection pools, and the settings of statements
//	shards.go    which shard has a row
//	replicas.go  which of several replicas is asked, and the id of their database
//	errors.go    errors, and which of them are permanent
package wire
