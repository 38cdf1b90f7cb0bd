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
// crash of its process, and because its threads never end. The path of a query:
//
//	HTTP ─► front.go ─► request.go ─► statement.go ─► chdb.go ─► libchdb
//	                    (body.go)      split INSERT     │
//	     ◄─ response.go ◄─ stream.go ◄──────────────────┘
//
// engine.go starts, watches and restarts the child; child.go is the child's
// side; serve.go is the engine without a parent, for `weir engine`; sessions.go
// keeps the sessions of requests with a session_id.
//
// Guarantees:
//
//   - An INSERT that was answered survives a kill of the engine or of its
//     parent. It is in the operating system's hands, not flushed to the disk: a
//     power loss may take the last seconds, as with a ClickHouse server's
//     defaults.
//   - A client that breaks off in the middle of a body has inserted nothing.
//   - Settings, parameters, the database and temporary tables belong to one
//     request, unless it names a session.
//   - Statements that change something run to their end even when their client
//     leaves; reads are stopped then.
//   - There are no accounts and no TLS: any user and password are accepted. The
//     engine listens on loopback by default, and refuses requests that a web
//     page of another origin could send. A client that reaches it can also read
//     and write files with its rights, by file() and INTO FUNCTION file().
//
// What is not obvious:
//
//   - The engine cuts inline INSERT data at the first empty line (0x0A 0x0A),
//     in RowBinary without an error. So rows never go inline: the front splits
//     them off, puts them into a file in memory and has the engine read FROM
//     INFILE '/proc/self/fd/N'.
//   - A session of the engine costs 0.2 ms, so a request gets a fresh one.
//     That is what makes "reset after the request" true without a list of what
//     to reset.
//   - Chunks of a streamed answer are formatted one by one; only formats that
//     are rows and nothing else can be streamed. Others are made whole first.
//   - clickhouse-go is told protocol revision 0 in its handshake: the engine
//     writes Native blocks of that revision.
//   - The child inherits its listening socket, so the port is never lost, and
//     clients wait during a restart instead of being refused.
//
// Missing, because libchdb lacks them: query_log and
// other log tables, Keeper and with it replication, users. The native protocol is there only in a
// process without the front (native.go), which tests of several servers use.
//
// # The broker
//
// The broker is franz-go's kfake with its logs on disk: groups, transactions,
// compaction, every codec, no replication. See BrokerConfig for which records
// survive which failures.
//
// All exported functions are safe for concurrent use.
package local
