// Package http lets people and programs look at a running process: metrics,
// health, status and live answers over HTTP. docs/http.md describes the paths.
//
//	s := &http.Server{Jobs: all, Windows: windows}
//	err := s.Serve(ctx, listener) // until ctx ends
package http
