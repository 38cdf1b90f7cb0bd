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

// A poller is what a loop waits with: an epoll instance.
//
// Sleeping in epoll_wait would hold one of GOMAXPROCS for up to 10 ms, until
// the scheduler takes that away, and the jobs of the process would have one
// less. So it is the runtime's own poller that waits, for the instance as a
// file. But one instance inside another makes whoever sends something wake
// both, each time; therefore it is taken out while requests come one upon the
// other: out of the bell, an instance that the runtime always watches.
type poller struct {
	fd, bell int
	file     *os.File // is the bell, as the runtime's poller knows it
	raw      syscall.RawConn
	inside   bool // fd is in the bell
	brisk    bool // it took no longer than linger until something came

	events []unix.EpollEvent
	n      int // of them are ready
	errno  syscall.Errno
	look   func(uintptr) (done bool) // looks, without waiting
}

const (
	// linger is how long a loop looks for more before it sleeps, if what came
	// last came as soon as that: being woken costs some microseconds, of the time
	// of who sends as well.
	linger = 25 * time.Microsecond

	// gather is how long it leaves a crowd alone meanwhile: several requests at
	// a time are cheaper, to serve and to send, than one by one. Few clients
	// would wait for it in vain.
	gather = 15 * time.Microsecond
	crowd  = 16

	pollMost = 256 // events at a time
)

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	bell, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	_ = unix.SetNonblock(bell, true) // so that os.NewFile makes it known to the runtime's poller
	p := &poller{fd: fd, bell: bell, file: os.NewFile(uintptr(bell), "epoll"), events: make([]unix.EpollEvent, pollMost)}
	p.look = p.ready
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) close() { _, _ = p.file.Close(), unix.Close(p.fd) }

// control adds, changes or removes what is waited for.
func (p *poller) control(op, fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}))
}

// until sets when waiting ends for lack of events.
func (p *poller) until(t time.Time) error {
	if err := p.file.SetReadDeadline(t); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// wait waits for events, and tells the time then; it ends without any at the
// time set for that. They are valid until the next call.
func (p *poller) wait(crowded bool) (events []unix.EpollEvent, now time.Time, err error) {
	p.n, p.errno = 0, 0
	began := time.Now()
	if p.brisk {
		if err := p.ring(false); err != nil {
			return nil, began, err
		}
		for now = began; p.n == 0 && now.Sub(began) < linger; now = time.Now() {
			if !crowded || now.Sub(began) >= gather {
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
	p.brisk = now.Sub(began) < linger
	return p.events[:p.n], now, err
}

// sleep lets other goroutines run until something comes, or the time.
func (p *poller) sleep() error {
	if err := p.ring(true); err != nil {
		return err
	}
	if err := p.raw.Read(p.look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// ring has what comes ring the bell, or not.
func (p *poller) ring(inside bool) error {
	if inside == p.inside {
		return nil
	}
	op := unix.EPOLL_CTL_DEL
	if inside {
		op = unix.EPOLL_CTL_ADD
	}
	p.inside = inside
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.bell, op, p.fd, &unix.EpollEvent{Events: unix.EPOLLIN}))
}

// ready asks epoll what is ready now, and reports whether anything is.
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

// descriptor duplicates that of a connection; it is negative if there is none
// left.
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

// nonblocking is a descriptor that never makes anybody wait: where there is
// nothing to read, or no room to write, it says zero bytes.
//
// The system calls are raw: telling Go's scheduler about each, which
// golang.org/x/sys/unix does, costs as much as a short command takes to run,
// and is for calls that may wait. What is long is written in the usual way.
type nonblocking int

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

// transfer reads or writes once; b is not empty.
func transfer(call uintptr, fd nonblocking, b []byte) (n int, errno syscall.Errno) {
	for {
		var r uintptr
		if len(b) > loopRoom {
			r, _, errno = unix.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		} else {
			r, _, errno = unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		}
		if errno != unix.EINTR {
			return int(r), errno
		}
	}
}
