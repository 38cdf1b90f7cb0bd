// Package face has the faces of a kind of measure besides how it is counted, which is a
// window.Kind.
//
//	sql.go   SQL: how ClickHouse stores it
//	live.go  Live: how a question about it is answered from memory
//	panels.go
//	         Panels: how a dashboard shows it
//	config.go
//	         Config: what a configuration knows of it
package face
