// Package local embeds the services that weir otherwise reaches over the
// network: a Kafka broker in this process and ClickHouse in a child process.
// `weir up` and the tests use them; the jobs, the sink and the SQL are the same
// as in production, only the addresses change.
//
//	func main() {
//		local.MaybeChild() // the engine is this binary, started again
//		…
//		engine, err := local.StartEngine(ctx, local.EngineConfig{Data: "data/engine"})
//		broker, err := local.StartBroker(ctx, local.BrokerConfig{Data: "data/broker"})
//		// engine.URL() for clickhouse-go, curl, Grafana; broker.Addr() for any Kafka client
//	}
//
// # The engine
//
// libchdb is ClickHouse as a shared library of 560 MB (package libchdb finds
// and fetches it). It runs in a process of its own, because a crash in it is a
// crash of its process, and because its threads never end. ClickHouse's own HTTP
// listener answers there, on a port of loopback that wants a secret. The path of a query:
//
//	HTTP ─► proxy.go ─► ClickHouse in a child process
//
// engine.go starts, watches and restarts the child, and keeps its address; native.go
// is the child.
//
// Guarantees:
//
//   - An INSERT that was answered survives a kill of the engine or of its
//     parent. It is in the operating system's hands, not flushed to the disk: a
//     power loss may take the last seconds, as with a ClickHouse server's
//     defaults.
//   - There are no accounts and no TLS: any user and password in the headers are accepted. The
//     engine listens on loopback by default, and refuses requests that a web
//     page of another origin could send. A client that reaches it can also read
//     and write files with its rights, by file() and INTO FUNCTION file().
//   - The address is never lost. Requests wait during a restart instead of being refused; those
//     that the crash interrupts end with their connection.
//
// Missing, because clickhouse-local lacks them: query_log and other log tables, Keeper and with it
// replication.
//
// # The broker
//
// The broker is franz-go's kfake with its logs on disk: groups, transactions,
// compaction, every codec, no replication. See BrokerConfig for which records
// survive which failures.
//
// All exported functions are safe for concurrent use.
package local
