//go:build !linux

package e2e

import (
	"errors"
	"syscall"
)

// dieWithTest does nothing where the kernel cannot do it: the tests clean up.
func dieWithTest() *syscall.SysProcAttr { return nil }

func mountDisk(string, int64) error { return errors.ErrUnsupported }

func unmountDisk(string) error { return errors.ErrUnsupported }
