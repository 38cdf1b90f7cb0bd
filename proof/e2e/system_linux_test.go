package e2e

import (
	"syscall"
)

// dieWithTest has the kernel kill a process when the test binary is gone.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
