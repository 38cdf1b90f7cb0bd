// Package memory is a sink made of maps. It does what sinks/clickhouse does, in the
// simplest way, for tests that compare the two.
//
//	store := memory.New()
//	sink, err := store.Job(spec, "clicks")
//	err = sink.Write(ctx, changes)
//	rows := store.Contents("clicks", 1)
//
// A Store stands for the server, which survives a process; a Sink for the connection of
// one process to it. The code is simple and slow: a row is a struct, a merge is a loop
// over a map.
//
// A Store may be used by many goroutines. A Sink is written to by one at a time, and
// read by many.
package memory
