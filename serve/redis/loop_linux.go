package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/serve/resp"
)

// A loop serves many connections by one goroutine: it asks the kernel (epoll)
// which of them have sent something, and reads, runs and answers one after the
// other, without ever waiting for one. Beside a goroutine for each, that
// spares two switches and most of the bookkeeping per round trip, and the
// memory too: what one needs to read and write, they take in turns, so an idle
// connection costs its descriptor and some hundred bytes.
//
// A client whose command takes long (window keys) is away meanwhile, with a
// goroutine of its own, and comes back through the inbox.
type loop struct {
	server     *Server
	poll, wake int      // descriptors: of epoll, and of an event that ends its wait
	file       *os.File // is poll, as the runtime's own poller knows it
	raw        syscall.RawConn
	room       *resp.Room
	w          resp.Writer
	guests     []*guest // by descriptor
	number     int
	now        time.Time // when epoll last returned
	away       sync.WaitGroup

	mu     sync.Mutex
	inbox  []*guest
	closed bool
}

// A guest is a client of a loop.
type guest struct {
	*client
	fd      int
	stage   stage
	heard   time.Time // when something last came
	unsent  []byte    // replies that the kernel did not take yet
	since   time.Time // when it first refused them
	leaving bool      // once they are sent
	failed  error     // of a turn away
}

// A stage is what a loop waits for.
type stage uint8

const (
	outside stage = iota // new, or away
	reading
	sending
)

const (
	loopRoom   = 64 << 10
	loopEvents = 256
)

// newLoops makes so many loops.
func newLoops(s *Server, n int) (loops []*loop, err error) {
	defer func() {
		if err != nil {
			for _, l := range loops {
				l.close()
			}
			loops = nil
		}
	}()
	for range n {
		poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return loops, os.NewSyscallError("epoll_create1", err)
		}
		wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			_ = unix.Close(poll)
			return loops, os.NewSyscallError("eventfd", err)
		}
		_ = unix.SetNonblock(poll, true) // so that os.NewFile makes it known to the poller
		l := &loop{server: s, poll: poll, wake: wake, file: os.NewFile(uintptr(poll), "epoll"), room: resp.NewRoom(loopRoom)}
		loops = append(loops, l)
		if l.raw, err = l.file.SyscallConn(); err != nil {
			return loops, err
		}
		if err := l.control(unix.EPOLL_CTL_ADD, wake, unix.EPOLLIN); err != nil {
			return loops, err
		}
	}
	return loops, nil
}

func (l *loop) control(op, fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.poll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}))
}

// take makes a client a guest, if its connection is a plain descriptor. That
// is taken away from the runtime's poller, which would be woken by whatever
// arrives as well.
func (l *loop) take(c *client, conn net.Conn) bool {
	fd := -1
	switch conn := conn.(type) {
	case *net.TCPConn:
		fd = descriptor(conn)
	case *net.UnixConn:
		fd = descriptor(conn)
	}
	if fd < 0 {
		return false
	}
	_ = conn.Close() // fd is the connection now
	l.enter(&guest{client: c, fd: fd})
	return true
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

// enter puts a guest into the inbox. Any goroutine may call it.
func (l *loop) enter(g *guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.end(g, nil)
		return
	}
	l.inbox = append(l.inbox, g)
	l.ring()
}

// ring ends the wait of epoll. The mutex is held.
func (l *loop) ring() {
	if !l.closed {
		_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // if it is full, it rings
	}
}

// run serves until ctx ends, and then ends every connection.
func (l *loop) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ring()
	})
	defer stop()
	defer l.close()
	events := make([]unix.EpollEvent, loopEvents)
	tick := l.tick()
	var n int
	var errno syscall.Errno
	look := func(uintptr) (done bool) {
		n, errno = ready(l.poll, events)
		return n > 0 || errno != 0
	}
	l.now = time.Now()
	for next := l.now; ctx.Err() == nil; {
		if !l.now.Before(next) { // deadlines are looked at
			l.cutOff()
			next = l.now.Add(tick)
			if err := l.file.SetReadDeadline(next); err != nil {
				return fmt.Errorf("epoll: %w", err)
			}
		}
		n = 0
		// The waiting is the runtime's: in epoll_wait itself it would hold one
		// of GOMAXPROCS for up to 10 ms, until the scheduler takes that away, and
		// the jobs of the process would have one less.
		if err := l.raw.Read(look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("epoll: %w", err)
		}
		if errno != 0 {
			return os.NewSyscallError("epoll_wait", errno)
		}
		l.now = time.Now()
		for _, e := range events[:n] {
			switch fd := int(e.Fd); {
			case fd == l.wake:
				l.welcome()
			case l.guests[fd] != nil:
				l.attend(l.guests[fd])
			}
		}
	}
	return nil
}

// ready asks epoll what is ready now.
func ready(poll int, events []unix.EpollEvent) (n int, errno syscall.Errno) {
	for {
		r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		switch errno {
		case 0:
			return int(r), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// tick is how often deadlines are looked at: an eighth of the shortest one.
func (l *loop) tick() time.Duration {
	c := l.server.config
	shortest := min(c.Stall, c.Write)
	if c.Idle > 0 {
		shortest = min(shortest, c.Idle)
	}
	return min(max(shortest/8, 5*time.Millisecond), time.Second)
}

// welcome lets in who is in the inbox: new ones, and those who were away.
func (l *loop) welcome() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:]) // it is clear again
	l.mu.Lock()
	list := l.inbox
	l.inbox = nil
	l.mu.Unlock()
	for _, g := range list {
		if g.fd >= len(l.guests) {
			l.guests = append(l.guests, make([]*guest, g.fd+1-len(l.guests))...)
		}
		if l.guests[g.fd] == nil {
			l.guests[g.fd] = g
			l.number++
		}
		g.heard, g.stage = l.now, reading
		if err := l.control(unix.EPOLL_CTL_ADD, g.fd, unix.EPOLLIN); err != nil {
			l.leave(g, err)
			continue
		}
		if g.failed != nil {
			l.leave(g, g.failed)
			continue
		}
		l.drain(g) // what was answered away
	}
}

// attend reads from a guest or writes to it, whichever it waits for.
func (l *loop) attend(g *guest) {
	if g.stage == sending {
		l.drain(g)
		return
	}
	if err := g.r.Fill(l.room, nonblocking(g.fd)); err != nil {
		l.leave(g, err)
		return
	}
	g.heard = l.now
	l.serve(g)
}

// serve runs what has arrived, until the guest must wait for something, or has
// been given so much that it is the others' turn.
func (l *loop) serve(g *guest) {
	next, err := g.turn(l.room, &l.w, false)
	if err != nil {
		l.w.Reset()
		l.leave(g, err)
		return
	}
	g.leaving = next == ends
	if l.w.Len() > 0 {
		n, err := nonblocking(g.fd).Write(l.w.Bytes())
		if err != nil {
			l.w.Reset()
			l.leave(g, err)
			return
		}
		if n < l.w.Len() {
			g.unsent = l.w.Take()[n:]
			l.expect(g, sending)
			return
		}
		l.w.Reset()
	}
	switch next {
	case ends:
		l.leave(g, g.why)
	case needsPatience:
		l.dispatch(g)
	case needsInput:
		g.waits(l.now)
	case needsOutput:
		l.expect(g, sending) // of nothing: it goes on when epoll comes to it again
	}
}

// drain sends what is unsent, and goes on if that is all.
func (l *loop) drain(g *guest) {
	if len(g.unsent) > 0 {
		n, err := nonblocking(g.fd).Write(g.unsent)
		if err != nil {
			l.leave(g, err)
			return
		}
		if g.unsent = g.unsent[n:]; len(g.unsent) > 0 {
			l.expect(g, sending)
			return
		}
	}
	g.unsent = nil
	if g.leaving {
		l.leave(g, g.why)
		return
	}
	if l.expect(g, reading) {
		l.serve(g)
	}
}

// expect changes what a guest waits for, and says whether it stays. Nothing is
// read from one that does not take its replies.
func (l *loop) expect(g *guest, s stage) bool {
	if g.stage == s {
		return true
	}
	g.stage = s
	events := uint32(unix.EPOLLIN)
	if s == sending {
		g.since = l.now
		events = unix.EPOLLOUT
	}
	if err := l.control(unix.EPOLL_CTL_MOD, g.fd, events); err != nil {
		l.leave(g, err)
		return false
	}
	return true
}

// dispatch sends a guest away to look up window keys.
func (l *loop) dispatch(g *guest) {
	if err := l.control(unix.EPOLL_CTL_DEL, g.fd, 0); err != nil {
		l.leave(g, err)
		return
	}
	g.stage = outside
	l.away.Go(func() {
		var w resp.Writer
		next, err := g.turn(resp.NewRoom(0), &w, true)
		g.unsent, g.leaving, g.failed = w.Take(), next == ends, err
		l.enter(g)
	})
}

// cutOff ends the connections whose time is over.
func (l *loop) cutOff() {
	for _, g := range l.guests {
		if g == nil {
			continue
		}
		var due time.Time
		switch g.stage {
		case reading:
			due = g.due(g.heard)
		case sending:
			due = g.since.Add(l.server.config.Write)
		}
		if !due.IsZero() && l.now.After(due) {
			l.leave(g, os.ErrDeadlineExceeded)
		}
	}
}

// leave ends a connection.
func (l *loop) leave(g *guest, why error) {
	l.guests[g.fd] = nil
	l.number--
	l.end(g, why)
}

func (l *loop) end(g *guest, why error) {
	_ = unix.Close(g.fd) // what could be sent has been
	l.server.dismiss(g.client, why)
}

// close ends every connection and the loop.
func (l *loop) close() {
	l.away.Wait() // they use their clients
	l.mu.Lock()
	late := l.inbox
	l.inbox, l.closed = nil, true
	_, _ = l.file.Close(), unix.Close(l.wake)
	l.mu.Unlock()
	for _, g := range late {
		if g.fd >= len(l.guests) || l.guests[g.fd] != g { // not one back from being away
			l.end(g, nil)
		}
	}
	for _, g := range l.guests {
		if g != nil {
			l.leave(g, nil)
		}
	}
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
