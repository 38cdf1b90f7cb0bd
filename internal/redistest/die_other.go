//go:build !linux

package redistest

import "os/exec"

// dieWithParent does nothing where the kernel cannot do it: Stop ends the
// server.
func dieWithParent(*exec.Cmd) {}
