//go:build !linux

package e2e

import (
	"syscall"
)

// dieWithTest does nothing where the kernel cannot do it: the tests clean up.
func dieWithTest() *syscall.SysProcAttr { return nil }
