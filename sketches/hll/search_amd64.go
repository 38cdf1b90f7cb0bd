//go:build !purego

package hll

// searchLines is searchPlain for the first n events of b, n at least 1.
//
//go:noescape
func searchLines(b *batch, n int)
