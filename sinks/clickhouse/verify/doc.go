// Package verify reads the numbers of a database for package audit. It also makes the view weir_audit, which
// makes the same checks for a reader who has only SQL.
//
// Files:
//
//	audit.go     passes what is stored of a job to an audit
//	views.go     weir_audit, over all jobs
//	compare.go   a rollup and the rows that it is made from
package verify
