//go:build !linux

package e2e

import "syscall"

// dieWithTest is left to the tests' own cleaning up where the kernel offers
// nothing.
func dieWithTest() *syscall.SysProcAttr { return nil }
