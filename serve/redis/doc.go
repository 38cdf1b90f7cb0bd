// Package redis is a server that any Redis client can talk to: the sketches of
// this repository under the commands that people know them by.
//
//	s := redis.New(redis.Config{})
//	l, err := net.Listen("tcp", "127.0.0.1:6379")
//	…
//	err = s.Serve(ctx, l) // until ctx ends
//
// There are two kinds of keys. Scratch keys live in memory, belong to nobody
// but the clients, and are gone with the process. Window keys (see [Key] and
// [Windows]) begin with "w:", are read-only, and show what a job has counted.
//
// # Contract
//
// Replies, texts of errors and stored bytes are those of Redis 7.0 to 7.2; the
// tests send the same random commands to a real redis-server. What differs is
// said in the command table, from which docs/commands-redis.md is made.
//
// Like Redis, the server runs one command at a time, under one lock: no
// command sees half of another. Looking up window keys happens outside it. A
// peer that sends garbage, or half a command, or takes no answers is cut off,
// and nobody else notices.
//
// # The way of a command
//
// A loop learns from epoll which connections have sent something. Each of them
// has a turn: what it sent is read and cut into commands, those run, batch by
// batch, and their replies are sent with one write, when all have had theirs.
// Before a batch runs, the cache lines of all its keys are fetched at once,
// since with many keys that is what commands wait for. Nothing in a turn waits
// for the peer or for a sink; who must wait is put aside, with what it has.
//
// # The map of the files
//
//	server.go client.go       clients, their limits, their turns
//	loop_linux.go alone.go    who reads and writes the connections
//	poll_linux.go             how a loop waits for them
//	strangers.go              who has not given the password: few, for seconds, with few guesses
//	buffers.go                what is held for clients: one budget for all of them
//	table.go call.go          the command table, and what every command passes through
//	work.go                   how long a command may take, by reckoning, before it runs
//	store.go index.go         scratch keys: items, expiry, memory; how they are found
//	windows.go windowkey.go   window keys: the interface, the grammar
//	strings.go keys.go hyperloglog.go bits.go geo.go zset.go bloom.go
//	throttle.go lists.go locks.go transactions.go connection.go admin.go
//	                          one family of commands each
//	document.go               the table as a document
package redis
