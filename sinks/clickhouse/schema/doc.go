// Package schema says how a job is stored: its tables, views and SQL functions as they should be. Package
// migrate makes them. The long statements are in files that end in .sql.
//
// Files:
//
//	register.go  what weir_jobs says of a job
//	wide.go      views over the tables of all shards
//	view.go      the views of rollups, and what their templates see
//	tables.go    all tables, and those of measures that have rows of their own
//	job.go       a job: the names and columns of its tables
//	measure.go   the columns of a measure
//	about.go     the comments of columns
//	functions.go the SQL functions
//	template.go  the statements
package schema
