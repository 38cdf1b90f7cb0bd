//go:build !linux

package e2e

import (
	"errors"
	"syscall"
)

// dieWithTest is left to the tests' own cleaning up where the kernel offers
// nothing.
func dieWithTest() *syscall.SysProcAttr { return nil }

func mountDisk(string, int64) error { return errors.ErrUnsupported }

func unmountDisk(string) error { return errors.ErrUnsupported }
