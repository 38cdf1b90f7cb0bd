//go:build mistakes

package window

// Planted names the mistake that the core makes, for the negative controls of
// package sim. Set it only while nothing runs.
var Planted string

func planted(mistake string) bool { return mistake == Planted }
