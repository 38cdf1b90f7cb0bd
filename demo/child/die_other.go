//go:build !linux

package child

import "syscall"

// dieWithParent does nothing where the kernel cannot do it: the lifeline ends the child.
func dieWithParent() *syscall.SysProcAttr { return nil }
