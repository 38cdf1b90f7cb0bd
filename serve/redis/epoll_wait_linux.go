//go:build !noepoll

package redis

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A poller is the epoll instance with which a loop waits.
//
// A goroutine that sleeps in epoll_wait keeps one of the GOMAXPROCS processors for
// up to 10 ms, until the scheduler takes it away, and the jobs of the process
// would have one less. So the poller of the Go runtime waits instead: it watches a
// second instance, outer, as a file, and fd is nested in outer. But then each
// arriving request wakes both instances. Therefore fd is taken out of outer while
// requests arrive in quick succession.
type poller struct {
	fd, outer int
	file      *os.File // outer as a file, which the runtime's poller watches
	raw       syscall.RawConn
	nested    bool // fd is in outer
	busy      bool // the last wait took no longer than linger

	events []unix.EpollEvent
	n      int // how many of events are valid
	errno  syscall.Errno
	look   func(uintptr) (done bool) // is ready: asks epoll without waiting
}

const (
	// linger is how long a busy loop asks epoll again and again before it sleeps:
	// waking the loop takes some microseconds of its time and of the sender's.
	linger = 25 * time.Microsecond

	// gather is how long a busy loop with more than manyClients waits before it asks
	// epoll: several requests at a time cost less to serve, and to send, than single
	// ones. With few clients, no further request would arrive in that time.
	gather      = 15 * time.Microsecond
	manyClients = 16

	pollMost = 256 // the most events of one call
)

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	outer, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	_ = unix.SetNonblock(outer, true) // os.NewFile registers only non-blocking files with the runtime's poller
	p := &poller{fd: fd, outer: outer, file: os.NewFile(uintptr(outer), "epoll"), events: make([]unix.EpollEvent, pollMost)}
	p.look = p.ready
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) close() { _, _ = p.file.Close(), unix.Close(p.fd) }

// control adds, changes or removes a descriptor and the events it is watched for.
func (p *poller) control(op, fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}))
}

// until sets the time at which wait returns even without events.
func (p *poller) until(t time.Time) error {
	if err := p.file.SetReadDeadline(t); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// wait waits for events and returns them and the time; it returns none at the time
// set by until. The events are valid until the next call.
func (p *poller) wait(many bool) (events []unix.EpollEvent, now time.Time, err error) {
	p.n, p.errno = 0, 0
	began := time.Now()
	if p.busy {
		if err := p.nest(false); err != nil {
			return nil, began, err
		}
		for now = began; p.n == 0 && now.Sub(began) < linger; now = time.Now() {
			if !many || now.Sub(began) >= gather {
				p.look(0)
			}
		}
	}
	if p.n == 0 {
		err = p.sleep()
	}
	if p.errno != 0 {
		err = os.NewSyscallError("epoll_wait", p.errno)
	}
	now = time.Now()
	p.busy = now.Sub(began) < linger
	return p.events[:p.n], now, err
}

// sleep lets other goroutines run until there are events or the time set by until
// comes.
func (p *poller) sleep() error {
	if err := p.nest(true); err != nil {
		return err
	}
	if err := p.raw.Read(p.look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// nest puts fd into outer, or takes it out.
func (p *poller) nest(nested bool) error {
	if nested == p.nested {
		return nil
	}
	op := unix.EPOLL_CTL_DEL
	if nested {
		op = unix.EPOLL_CTL_ADD
	}
	p.nested = nested
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.outer, op, p.fd, &unix.EpollEvent{Events: unix.EPOLLIN}))
}

// ready asks epoll for the events there are now, and reports whether there are
// any.
func (p *poller) ready(uintptr) bool {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), 0, 0, 0)
		switch errno {
		case unix.EINTR:
			continue
		case 0:
			p.n = int(n)
		}
		p.errno = errno
		return p.n > 0 || errno != 0
	}
}

// descriptor duplicates the file descriptor of a connection; it returns −1 if the
// process has none left.
func descriptor(conn syscall.Conn) int {
	fd := -1
	raw, err := conn.SyscallConn()
	if err == nil {
		_ = raw.Control(func(p uintptr) { fd, err = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0) })
	}
	if err != nil {
		return -1
	}
	return fd
}

// nonblocking is a file descriptor whose Read and Write never wait: if there is
// nothing to read, or no room to write, they return zero bytes.
//
// They make raw system calls. golang.org/x/sys/unix tells Go's scheduler about
// each call, which is needed only for calls that may wait and costs as much as a
// short command; and a loop that has told it may have to wait for a processor
// afterwards, with all its clients. So that a call does not take long, it transfers
// transferMost bytes at most.
type nonblocking int

const transferMost = 1 << 20

func (fd nonblocking) Read(b []byte) (int, error) {
	n, errno := transfer(unix.SYS_READ, fd, b)
	switch {
	case errno == unix.EAGAIN:
		return 0, nil
	case errno != 0:
		return 0, os.NewSyscallError("read", errno)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (fd nonblocking) Write(b []byte) (int, error) {
	n, errno := transfer(unix.SYS_WRITE, fd, b)
	switch {
	case errno == unix.EAGAIN:
		return 0, nil
	case errno != 0:
		return 0, os.NewSyscallError("write", errno)
	}
	return n, nil
}

// transfer makes one read or write call; b must not be empty.
func transfer(call uintptr, fd nonblocking, b []byte) (n int, errno syscall.Errno) {
	for {
		var r uintptr
		r, _, errno = unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(min(len(b), transferMost)))
		if errno != unix.EINTR {
			return int(r), errno
		}
	}
}
