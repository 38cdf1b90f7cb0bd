// Package redis is a server that speaks the Redis protocol: it offers the
// sketches of this repository under the commands of Redis.
//
//	s := redis.New(redis.Config{})
//	l, err := net.Listen("tcp", "127.0.0.1:6379")
//	…
//	err = s.Serve(ctx, l) // until ctx ends
//
// There are two kinds of keys. Scratch keys are written by clients, live in
// memory, and are lost when the process ends. Window keys (see [Windows])
// begin with "w:", are read-only, and show what a job has counted.
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
// its replies; other clients do not notice. A long command takes as long as in Redis, and
// the others wait for it.
//
// # The way of a command
//
// Each connection has a goroutine (client.go). It reads what the client sent, cuts it into
// commands, and runs these in batches, each under the lock: a command is found in the
// table, checked, and called. Its function gets a call (its arguments, and where the reply
// goes) and the keyspace. At the end the goroutine sends the replies with one write. Window
// keys are looked up before a batch runs, without the lock.
//
// Files:
//
//	server.go          the server: settings, accepting connections, stopping
//	client.go          a client: its goroutine and its limits
//	unauthenticated.go clients that have not given the password: few, for seconds, with few guesses
//	admin.go connection.go transactions.go locks.go bloom.go geo.go zset.go bits.go sets.go keys.go
//	hyperloglog.go strings.go topk.go quantile.go throttle.go lists.go
//	                   one family of commands each
//	windows.go set.go  window keys: how answers become what commands read
//	glob.go            patterns of keys
//	store.go           scratch keys: items, expiry, memory; the keys as a command sees them
//	buffers.go         the bytes held for clients: one budget for all of them
//	table.go call.go   the command table; what a command's function gets
package redis
