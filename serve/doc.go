// Package serve lets people and programs look at a running process: metrics,
// health and status over HTTP.
package serve
