package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the server when this process is gone.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
