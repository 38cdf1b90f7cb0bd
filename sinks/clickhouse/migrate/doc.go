// Package migrate brings a database to what its jobs need, and compares it with that.
//
//	statements, err := migrate.Run(ctx, db, jobs, migrate.Options{})
//	layout, notes, lags, err := migrate.Check(ctx, db, job)
//
// Files:
//
//	check.go     compares the database with what a job needs
//	migrate.go   runs the statements
//	steps.go     the statements
//	accounts.go  the accounts of weir run and of dashboards
//	differ.go    what a table or a meaning may not differ in
//	wanted.go    the views and entries as they should be, and which rollups have to be made anew
//	inventory.go what the database contains
package migrate
