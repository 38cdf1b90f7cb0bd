// Package redis is a server that speaks the Redis protocol: it offers the
// sketches of this repository under the commands of Redis.
//
//	s := redis.New(redis.Config{})
//	l, err := net.Listen("tcp", "127.0.0.1:6379")
//	…
//	err = s.Serve(ctx, l) // until ctx ends
//
// There are two kinds of keys. Scratch keys are written by clients, live in
// memory, and are lost when the process ends. Window keys (see [Key] and
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
// A loop learns from epoll which connections have sent something. Each of them
// gets a turn: the loop reads what it sent, cuts it into commands and runs
// these batch by batch. When all have had their turns, the loop sends the
// replies, with one write for each connection. Before a batch runs, the loop
// fetches the cache lines of all its keys at once, because with many keys these
// cache misses take most of the time. Nothing in a turn waits for the client or
// for a sink: a client that must wait is put aside with the rest of its
// commands.
//
// # The map of the files
//
//	server.go client.go       clients, their limits, their turns
//	loop_linux.go alone.go    who reads and writes the connections
//	poll_linux.go             how a loop waits for them
//	unauthenticated.go              clients that have not given the password: few, for seconds, with few guesses
//	buffers.go                what is held for clients: one budget for all of them
//	table.go call.go          the command table, and what every command passes through
//	work.go                   how long a command may take, by reckoning, before it runs
//	store.go index.go         scratch keys: items, expiry, memory; how they are found
//	windows.go windowkey.go   window keys: the interface, the grammar
//	strings.go keys.go hyperloglog.go bits.go geo.go zset.go bloom.go number.go
//	throttle.go lists.go locks.go transactions.go connection.go admin.go
//	                          one family of commands each
//	document.go               the table as a document
package redis
