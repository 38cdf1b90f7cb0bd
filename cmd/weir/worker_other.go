//go:build !linux

package main

import "syscall"

// dieWithParent does nothing here; the lifeline ends the child.
func dieWithParent() *syscall.SysProcAttr { return nil }
