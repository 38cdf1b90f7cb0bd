// Package memory is a sink made of maps: the plain twin of sinks/clickhouse,
// for tests and for the simulator, which also makes it fail.
//
//	store := memory.New()
//	sink, err := store.Job(spec, "clicks")
//	err = sink.Write(ctx, changes)
//	rows := store.Contents("clicks", 1)
//
// A Store is what survives a process, as a server does; a Sink is one
// process' way to it. Nothing here is fast, everything is obvious: a row is a
// struct, a merge is a loop over a map.
//
// A Store may be used by many goroutines, a Sink by one at a time.
package memory
