// Package child starts a child process that ends with this one: the engine of weir up, the
// worker that runs its jobs, and the redis-server of tests.
//
// The child inherits files, and as the last of them the lifeline, a pipe. A byte on it asks
// the child to end. Its end means that the parent is gone, even if that was killed.
package child

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// First is the descriptor of the first file that a child inherits.
const First = 3

// A Process is a child that runs, or has ended.
type Process struct {
	Cmd  *exec.Cmd
	Gone chan struct{} // closed when it has ended, and its output is read to the end
	Err  error         // of Cmd.Wait; valid when Gone is closed

	lifeline *os.File
}

// Start starts cmd. The child has the files from descriptor First on, and the lifeline
// behind them. ended is called, if it is not nil, before Gone is closed.
func Start(cmd *exec.Cmd, ended func(), files ...*os.File) (*Process, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd.ExtraFiles = append(append([]*os.File{}, files...), theirs)
	cmd.SysProcAttr = dieWithParent()
	p := &Process{Cmd: cmd, Gone: make(chan struct{}), lifeline: ours}
	started := make(chan error, 1)
	go func() {
		// dieWithParent means the thread that starts the child. The lock keeps it alive
		// until the child has ended; without it Go could end the thread, and the kernel
		// would kill a healthy child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.Err = cmd.Wait()
		if ended != nil {
			ended()
		}
		close(p.Gone)
	}()
	if err := <-started; err != nil {
		ours.Close()
		return nil, err
	}
	return p, nil
}

// Ask asks the child to end. It does not wait.
func (p *Process) Ask() {
	_, _ = p.lifeline.Write([]byte{1}) // an error means that it has ended already
}

// Kill ends the child with signal 9. It does not wait.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // an error means that it has ended already
}

// Close frees the parent's end of the lifeline. A child that runs ends.
func (p *Process) Close() { p.lifeline.Close() }

// Follow is for the child: it has the process end with exit code code when its parent is
// gone, and returns a context that ends when the parent asks for the end. lifeline is the
// descriptor. The child ignores the signals that a terminal, timeout(1) or systemd send to
// the whole process group, because the parent says when to end.
func Follow(lifeline uintptr, code int) context.Context {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		f := os.NewFile(lifeline, "lifeline")
		if n, _ := f.Read(make([]byte, 1)); n > 0 {
			stop()
			_, _ = io.Copy(io.Discard, f)
		}
		os.Exit(code)
	}()
	return ctx
}

// Listener returns the listening socket that the child has inherited with a descriptor.
func Listener(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("inherited listener: %w", err)
	}
	return l, nil
}
