//go:build !mistakes

package window

// What an Operator is made of. A build with the tag "mistakes" has another type
// by this name: see mistakes.go.
type lane = Lane
