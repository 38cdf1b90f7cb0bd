//go:build !mistakes

package window

// planted reports whether a mistake was planted by the simulator's negative
// controls. That takes a build with the tag "mistakes"; in this one it is a
// constant, and the branches that ask are not compiled.
func planted(string) bool { return false }
