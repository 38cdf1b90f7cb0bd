package redis

import (
	"bytes"
	"context"
	"net"
	"os"
	"sync"
	"time"

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
	server  *Server
	poll    *poller
	wake    int // the descriptor of an event that ends its wait
	room    *resp.Room
	w       resp.Writer // replies of several guests, who are told in mail
	mail    []letter
	guests  []*guest // by descriptor
	number  int
	resting int       // guests who have to wait
	now     time.Time // when epoll last returned
	away    sync.WaitGroup

	mu       sync.Mutex
	inbox    []*guest
	expelled []*guest
	closed   bool
}

// A guest is a client of a loop.
type guest struct {
	*client
	fd      int
	stage   stage
	heard   time.Time // when something last came
	served  time.Time // when it last had its turn, if it is heavy
	unsent  []byte    // replies that the kernel did not take yet
	heavy   bool      // its last turn took long
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
	resting
)

// A letter is what a turn of a guest has led to. Replies are sent when all who
// are heard at a time have been served, as Redis does it: who asks is woken
// less often.
type letter struct {
	*guest
	from, to int // its replies, in the writer
	next     verdict
}

const loopRoom = 64 << 10

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
		poll, err := newPoller()
		if err != nil {
			return loops, err
		}
		wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			poll.close()
			return loops, os.NewSyscallError("eventfd", err)
		}
		l := &loop{server: s, poll: poll, wake: wake, room: resp.NewRoom(loopRoom)}
		loops = append(loops, l)
		if err := l.poll.control(unix.EPOLL_CTL_ADD, wake, unix.EPOLLIN); err != nil {
			return loops, err
		}
	}
	return loops, nil
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
	g := &guest{client: c, fd: fd}
	l.server.mu.Lock()
	c.cut = func() { l.expel(g) } // if it was evicted before, the inbox says so
	l.server.mu.Unlock()
	l.enter(g)
	return true
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

// expel has the loop end a guest. Any goroutine may call it.
func (l *loop) expel(g *guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expelled = append(l.expelled, g)
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
	tick := l.tick()
	l.now = time.Now()
	for next := l.now; ctx.Err() == nil; {
		if !l.now.Before(next) { // deadlines are looked at
			l.cutOff()
			l.post()
			if next = l.now.Add(tick); l.resting > 0 {
				next = l.now.Add(min(tick, l.server.config.pause))
			}
			if err := l.poll.until(next); err != nil {
				return err
			}
		}
		events, now, err := l.poll.wait(l.number > crowd)
		if err != nil {
			return err
		}
		l.now = now
		// Those whose last turn took long have theirs when all others have had
		// theirs, one at a time, the one who has waited for longest first.
		var heavy *guest
		for _, e := range events {
			switch fd := int(e.Fd); {
			case fd == l.wake:
				l.welcome()
			case l.guests[fd] == nil:
			case l.guests[fd].heavy:
				if g := l.guests[fd]; heavy == nil || g.served.Before(heavy.served) {
					heavy = g
				}
			default:
				l.attend(l.guests[fd])
			}
			if l.w.Len() >= flushAt {
				l.post()
			}
		}
		l.post()
		if heavy != nil && l.guests[heavy.fd] == heavy {
			heavy.served = l.now
			l.attend(heavy)
			l.post()
		}
	}
	return nil
}

// tick is how often deadlines are looked at: an eighth of the shortest one.
func (l *loop) tick() time.Duration {
	c := l.server.config
	shortest := min(c.Stall, c.Write)
	if c.Password != "" {
		shortest = min(shortest, c.Greet)
	}
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
	list, expelled := l.inbox, l.expelled
	l.inbox, l.expelled = nil, nil
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
		if err := l.poll.control(unix.EPOLL_CTL_ADD, g.fd, unix.EPOLLIN); err != nil {
			l.leave(g, err)
			continue
		}
		if g.failed != nil {
			l.leave(g, g.failed)
			continue
		}
		if g.evicted.Load() {
			l.leave(g, errEvicted)
			continue
		}
		l.drain(g) // what was answered away
	}
	for _, g := range expelled {
		if g.stage != outside && g.fd < len(l.guests) && l.guests[g.fd] == g { // who is away leaves on return
			l.leave(g, errEvicted)
		}
	}
}

// attend reads from a guest or writes to it, whichever it waits for.
func (l *loop) attend(g *guest) {
	switch g.stage {
	case sending:
		l.drain(g)
		return
	case resting:
		l.leave(g, nil) // it has hung up: nothing else is asked of epoll
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
	from := l.w.Len()
	next, err := g.turn(l.room, &l.w, false)
	if err != nil {
		l.w.Truncate(from)
		l.leave(g, err)
		return
	}
	g.heavy = g.work >= turnMost
	l.mail = append(l.mail, letter{g, from, l.w.Len(), next})
}

// post sends what guests have been replied, and sees to what they need next.
func (l *loop) post() {
	for _, m := range l.mail {
		l.send(m)
	}
	clear(l.mail)
	l.mail = l.mail[:0]
	l.w.Reset()
}

func (l *loop) send(m letter) {
	g := m.guest
	g.leaving = m.next == ends
	if m.from < m.to {
		replies := l.w.Bytes()[m.from:m.to]
		n, err := nonblocking(g.fd).Write(replies)
		if err != nil {
			l.leave(g, err)
			return
		}
		if n < len(replies) {
			if g.unsent = replies[n:]; m.to == l.w.Len() {
				l.w.Take() // it may be large, and is the last
			} else {
				g.unsent = bytes.Clone(g.unsent)
			}
			if l.expect(g, sending) {
				l.server.hold(g.client, g.holding()+cap(g.unsent))
			}
			return
		}
	}
	l.server.hold(g.client, g.holding())
	switch m.next {
	case ends:
		l.leave(g, g.why)
	case needsPatience:
		l.dispatch(g)
	case needsInput:
		g.waits(l.now)
	case needsOutput:
		l.expect(g, sending) // of nothing: it goes on when epoll comes to it again
	case needsPause:
		l.expect(g, resting)
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
	if g.stage == resting {
		l.resting--
	}
	g.stage = s
	events := uint32(unix.EPOLLIN)
	switch s {
	case sending:
		g.since = l.now
		events = unix.EPOLLOUT
	case resting:
		g.since = l.now
		events = 0
		l.resting++
	}
	if err := l.poll.control(unix.EPOLL_CTL_MOD, g.fd, events); err != nil {
		l.leave(g, err)
		return false
	}
	return true
}

// dispatch sends a guest away to look up window keys.
func (l *loop) dispatch(g *guest) {
	if err := l.poll.control(unix.EPOLL_CTL_DEL, g.fd, 0); err != nil {
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
		case resting:
			if l.now.Sub(g.since) >= g.pause {
				g.pause = 0
				l.drain(g)
			}
			continue
		}
		if !due.IsZero() && l.now.After(due) {
			l.leave(g, os.ErrDeadlineExceeded)
		}
	}
}

// leave ends a connection.
func (l *loop) leave(g *guest, why error) {
	if g.stage == resting {
		l.resting--
	}
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
	l.poll.close()
	_ = unix.Close(l.wake)
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
