// Package http lets people and programs look at a running process: metrics,
// health, status and live answers over HTTP. docs/http.md describes the paths.
//
//	s := &http.Server{Jobs: all, Windows: windows}
//	err := s.Serve(ctx, listener) // until ctx ends
//
// Files:
//
//	server.go       the paths, and serving
//	health.go metrics.go
//	                health checks, figures
//	guard.go        who may ask: token, session cookie, same site
//	stream.go       streams: each question answered once for all viewers
//	explain.go      a question in SQL and for redis-cli
//	query.go        the value of a window key
//	top.go          the greatest groups, and top lists
//	map.go          heat and positions
//	returning.go    who came back
//	series.go       people now, a measure over time, what there is to ask
//	ids.go          who came back by a calendar, sessions and funnels, of ClickHouse
//	long.go         series and top of long ranges and old windows, of the rollups
//	board.go status.go
//	                health of the jobs; status
//	dead.go         dead letters
//	process.go      the process of weir up: the path that kills it, and what came of a death
//	private.go      the values that k-anonymity withholds
//	api.go          how a question of the API is read and answered
//	connections.go  how many connections and requests at a time
//	openapi.go      the description for programs, in openapi.json
package http
