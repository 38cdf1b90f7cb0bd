// Package event holds what a log says: records, batches of them, and the
// strict scanner that finds the wanted fields of a JSON event without
// allocating.
package event
