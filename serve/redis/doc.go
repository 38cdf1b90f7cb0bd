// Package redis is a server that speaks the Redis protocol: it offers the
// sketches of this repository under the commands of Redis.
//
//	s := redis.New(redis.Config{})
//	l, err := net.Listen("tcp", "127.0.0.1:6379")
//	…
//	err = s.Serve(ctx, l) // until ctx ends
//
// There are two kinds of keys. Scratch keys are written by clients, live in
// memory, and are lost when the process ends. Window keys (package key, and
// [Windows]) begin with "w:", are read-only, and show what a job has counted.
//
// # Contract
//
// Replies, texts of errors and stored bytes are those of Redis 7.0 to 7.2; the
// tests send the same random commands to a real redis-server and compare. The
// command table, from which docs/commands-redis.md is made, lists the
// differences.
//
// Like Redis, the server runs one command at a time, under one lock: no command
// sees another one half done. It looks up window keys without the lock. It cuts
// off a client that sends garbage, does not finish a command, or does not read
// its replies; other clients do not notice.
//
// # The way of a command
//
// Each connection has a goroutine (loop.go), which reads what the client sent and
// gives it a turn (turn.go). The turn cuts the bytes into commands and runs these in
// batches, each under the lock: a command is found in the table, checked, and called.
// Its function gets a call (its arguments, where the reply goes, the time it may take)
// and, beside that, only what the table says it needs: the keyspace, the transaction,
// or, for the few commands about them, the client or the server. At the end of the turn
// the loop sends the replies with one write.
//
// Before a batch runs, the server fetches the cache lines of all its keys at once,
// because with many keys these cache misses take most of the time. Window keys are
// looked up before a batch runs, without the lock.
//
// On Linux, epoll_linux.go takes the place of loop.go: a few goroutines serve all
// connections. They run the same turns, but put a client aside that must wait for a
// lookup.
//
// # The map of the files
//
//	server.go                 the server: settings, accepting connections, stopping
//	client.go turn.go loop.go a client; its turns; the loop of its goroutine
//	epoll_linux.go epoll_wait_linux.go
//	                          many connections in one goroutine, and how it waits for them
//	unauthenticated.go        clients that have not given the password: few, for seconds, with few guesses
//	buffers.go                what is held for clients: one budget for all of them
//	table.go call.go          the command table; what a command's function gets
//	work.go                   how long a command may take, estimated before it runs
//	keyspace.go store.go index.go
//	                          the keys as a command sees them; scratch keys: items, expiry, memory, index
//	windows.go                window keys: how answers become what commands read
//	strings.go keys.go hyperloglog.go bits.go geo.go zset.go bloom.go number.go
//	sets.go members.go throttle.go lists.go locks.go transactions.go connection.go admin.go
//	                          one family of commands each
//	document.go               the table as a document
package redis
