//go:build !noepoll

package redis

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"weir/serve/resp"
)

// An epollLoop serves many connections in one goroutine, in place of the loops of
// loop.go. It asks the kernel (epoll) which of them have sent something, and reads, runs
// and answers one after the other; it never waits for a single one. It is optional: with
// the build tag noepoll the server works without it, as it does where there is no epoll.
//
// What it brings, on two cores: an idle connection takes 0.9 KB instead of 12 KB
// (TestIdleConnections), because connections share the buffers for reading and writing.
// 50 clients that send one PFADD at a time get 1.08 times the throughput of redis-server,
// and 0.71 times without this loop; with 64 commands in a pipeline 1.9 and 1.5 times (make
// bench-resp, and the same with TAGS=noepoll; medians of 7 rounds, which scatter by a
// tenth). A round trip saves two switches of goroutines. And clients with long commands can have
// their turns after all others (TestHeavyAreLast).
//
// A client whose command must look up window keys, which may take long, is detached:
// a goroutine of its own runs the turn and then returns the client through the
// inbox.
type epollLoop struct {
	server  *Server
	poll    *poller
	wake    int // an eventfd that ends the wait of poll
	room    *resp.Room
	w       resp.Writer // the replies of the clients in results, one after the other
	results []turnResult
	fresh   []*epollClient // clients that have sent something and had no turn yet
	owed    bool           // a heavy client let the fresh ones have the long turn of a round
	clients []*epollClient // by file descriptor
	number  int
	resting int       // how many clients are in stage resting
	now     time.Time // when epoll last returned
	check   time.Time // when the deadlines are checked next
	lookups sync.WaitGroup

	mu      sync.Mutex
	inbox   []*epollClient
	evicted []*epollClient
	closed  bool
}

// An epollClient is a client that an epollLoop serves.
type epollClient struct {
	*client
	fd         int
	stage      stage
	lastInput  time.Time // when the client last sent something
	lastTurn   time.Time // when it last had a turn, if it is heavy
	unsent     []byte    // replies that the kernel has not taken yet
	heavyUntil time.Time // until then it is heavy
	known      bool      // it has had a turn
	since      time.Time // since when it has been in its stage, sending or resting
	leaving    bool      // the connection ends when unsent is sent
	failed     error     // the error of a detached turn
}

// A stage says what a loop waits for.
type stage uint8

const (
	detached stage = iota // new, or detached: not in poll
	reading
	sending
	resting
)

// A turnResult is the result of a client's turn. The loop sends replies after it has
// served all clients that epoll reported, as Redis does: then the clients' processes
// are woken less often.
type turnResult struct {
	*epollClient
	from, to int // its replies are these bytes of the loop's writer
	next     verdict
}

const (
	epollRoom  = 64 << 10
	epollSpare = 8 << 20 // bytes of buffers that long commands leave for the next ones, in all loops

	// A client is heavy for a while after a turn that took long, or after a long command
	// began to arrive. One light turn does not end that: otherwise several clients with
	// alternating turns delayed a PING in one round, and its 99th percentile was 47 ms
	// instead of 22 (`make hostile MINUTES=1` on two cores with nothing else).
	heavyFor   = time.Second
	heavyInput = 64 << 10
)

// epollLoopsMost bounds the number of loops, which is half of the processors
// otherwise: commands run one at a time, so many loops would only wait for each
// other.
const epollLoopsMost = 4

// epoll starts the loops, which run until ctx ends. It returns a function that makes
// one of them serve a client, if its connection is a plain file descriptor. A loop that
// fails ends the server.
func (s *Server) epoll(ctx context.Context, end context.CancelFunc, running *sync.WaitGroup) (take func(*client, net.Conn) bool, err error) {
	loops, err := newEpollLoops(s, min(max(runtime.GOMAXPROCS(0)/2, 1), epollLoopsMost))
	if err != nil {
		return nil, err
	}
	for _, l := range loops {
		running.Go(func() {
			if err := l.run(ctx); err != nil {
				s.config.Log.Error("connections are no longer served", "error", err)
				end()
			}
		})
	}
	return func(c *client, conn net.Conn) bool { return loops[int(c.id)%len(loops)].take(c, conn) }, nil
}

// newEpollLoops makes n loops.
func newEpollLoops(s *Server, n int) (loops []*epollLoop, err error) {
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
		l := &epollLoop{server: s, poll: poll, wake: wake, room: resp.NewRoom(epollRoom, min(s.config.Buffers/4, epollSpare)/n)}
		loops = append(loops, l)
		if err := l.poll.control(unix.EPOLL_CTL_ADD, wake, unix.EPOLLIN); err != nil {
			return loops, err
		}
	}
	return loops, nil
}

// take makes the loop serve a client, if its connection is a plain file descriptor;
// it reports whether it is. take duplicates the descriptor and closes conn, because
// otherwise the poller of the Go runtime would be woken by everything that arrives.
func (l *epollLoop) take(c *client, conn net.Conn) bool {
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
	_ = conn.Close() // fd is now the only descriptor of the connection
	lc := &epollClient{client: c, fd: fd}
	l.server.mu.Lock()
	c.cut = func() { l.requestEviction(lc) } // takeInbox handles a client that was evicted before
	l.server.mu.Unlock()
	l.enter(lc)
	return true
}

// enter puts a client into the inbox. Any goroutine may call it.
func (l *epollLoop) enter(lc *epollClient) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.end(lc, nil)
		return
	}
	l.inbox = append(l.inbox, lc)
	l.wakeUp()
}

// requestEviction makes the loop cut off a client. Any goroutine may call it.
func (l *epollLoop) requestEviction(lc *epollClient) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evicted = append(l.evicted, lc)
	l.wakeUp()
}

// wakeUp ends the wait of epoll. The mutex is held.
func (l *epollLoop) wakeUp() {
	if !l.closed {
		_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // if the eventfd is full, the loop is being woken already
	}
}

// run serves until ctx ends, and then ends every connection.
func (l *epollLoop) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.wakeUp()
	})
	defer stop()
	defer l.close()
	tick := l.tick()
	l.now = time.Now()
	for until := l.now; ctx.Err() == nil; {
		if !l.now.Before(l.check) {
			l.cutOff()
			l.sendResults()
			if l.check = l.now.Add(tick); l.resting > 0 {
				l.check = l.now.Add(min(tick, l.server.config.pause))
			}
		}
		if !until.Equal(l.check) {
			until = l.check
			if err := l.poll.until(until); err != nil {
				return err
			}
		}
		events, now, err := l.poll.wait(l.number > manyClients)
		if err != nil {
			return err
		}
		l.now = now
		// Clients without a turn yet have theirs after those that are known, until they
		// have taken as long as one turn may. Heavy clients have their turns after all
		// others, one at a time, the one that has waited longest first. If both would take
		// long, they alternate, so that the light ones wait for one long turn, not for two.
		clear(l.fresh) // keeps none that has left
		l.fresh = l.fresh[:0]
		var heavy *epollClient
		for _, e := range events {
			switch fd := int(e.Fd); {
			case fd == l.wake:
				l.takeInbox()
			case l.clients[fd] == nil:
			case l.now.Before(l.clients[fd].heavyUntil):
				if lc := l.clients[fd]; heavy == nil || lc.lastTurn.Before(heavy.lastTurn) {
					heavy = lc
				}
			case !l.clients[fd].known:
				l.fresh = append(l.fresh, l.clients[fd])
			default:
				l.handle(l.clients[fd])
			}
			if l.w.Len() >= flushAt {
				l.sendResults()
			}
		}
		l.sendResults()
		used := cost(0)
		for i := 0; i < len(l.fresh) && used < turnMost && !(l.owed && heavy != nil); i++ { // epoll reports the others again
			if lc := l.fresh[i]; l.clients[lc.fd] == lc {
				l.handle(lc)
				used += lc.work.used
			}
			l.sendResults()
		}
		if l.owed = heavy != nil && used >= turnMost; heavy != nil && !l.owed && l.clients[heavy.fd] == heavy {
			heavy.lastTurn = l.now
			l.handle(heavy)
			l.sendResults()
		}
	}
	return nil
}

// tick returns how often deadlines are checked: an eighth of the shortest one.
func (l *epollLoop) tick() time.Duration {
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

// takeInbox adds the clients in the inbox, new ones and detached ones that return,
// and cuts off the evicted ones.
func (l *epollLoop) takeInbox() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:]) // resets the eventfd
	l.mu.Lock()
	list, evicted := l.inbox, l.evicted
	l.inbox, l.evicted = nil, nil
	l.mu.Unlock()
	for _, lc := range list {
		if lc.fd >= len(l.clients) {
			l.clients = append(l.clients, make([]*epollClient, lc.fd+1-len(l.clients))...)
		}
		if l.clients[lc.fd] == nil {
			l.clients[lc.fd] = lc
			l.number++
		}
		lc.lastInput, lc.stage = l.now, reading
		if err := l.poll.control(unix.EPOLL_CTL_ADD, lc.fd, unix.EPOLLIN); err != nil {
			l.leave(lc, err)
			continue
		}
		if lc.failed != nil {
			l.leave(lc, lc.failed)
			continue
		}
		if lc.evicted.Load() {
			l.leave(lc, errEvicted)
			continue
		}
		l.drain(lc) // send the replies of the detached turn
	}
	for _, lc := range evicted {
		if lc.stage != detached && lc.fd < len(l.clients) && l.clients[lc.fd] == lc { // a detached client is cut off when it returns
			l.leave(lc, errEvicted)
		}
	}
}

// handle reads from a client or writes to it, whichever epoll reported.
func (l *epollLoop) handle(lc *epollClient) {
	switch lc.stage {
	case sending:
		l.drain(lc)
		return
	case resting:
		l.leave(lc, nil) // the client has hung up: at this stage epoll reports nothing else
		return
	}
	if err := lc.r.Fill(l.room, nonblocking(lc.fd)); err != nil {
		l.leave(lc, err)
		return
	}
	lc.lastInput = l.now
	lc.known = lc.authed // giving the password does not count
	l.serve(lc)
}

// serve gives a client a turn.
func (l *epollLoop) serve(lc *epollClient) {
	from := l.w.Len()
	next, err := lc.turn(l.room, &l.w, false)
	if err != nil {
		l.w.Truncate(from)
		l.leave(lc, err)
		return
	}
	if lc.work.used >= turnMost || lc.r.Held() > heavyInput {
		lc.heavyUntil, lc.lastTurn = l.now.Add(cmp.Or(l.server.config.heavy, heavyFor)), l.now
	}
	l.results = append(l.results, turnResult{lc, from, l.w.Len(), next})
}

// sendResults sends the replies of all turns and does what the clients need next.
func (l *epollLoop) sendResults() {
	for _, m := range l.results {
		l.send(m)
	}
	clear(l.results)
	l.results = l.results[:0]
	l.w.Reset()
}

func (l *epollLoop) send(m turnResult) {
	lc := m.epollClient
	lc.leaving = m.next == ends
	if m.from < m.to {
		replies := l.w.Bytes()[m.from:m.to]
		n, err := nonblocking(lc.fd).Write(replies)
		if err != nil {
			l.leave(lc, err)
			return
		}
		if n < len(replies) {
			if lc.unsent = replies[n:]; m.to == l.w.Len() {
				l.w.Take() // these are the last bytes of the writer: no copy is needed
			} else {
				lc.unsent = bytes.Clone(lc.unsent)
			}
			if l.waitFor(lc, sending) {
				l.server.hold(lc.client, lc.holding()+cap(lc.unsent))
			}
			return
		}
	}
	l.server.hold(lc.client, lc.holding())
	switch m.next {
	case ends:
		l.leave(lc, lc.why)
	case needsLookup:
		l.lookUp(lc)
	case needsInput:
		lc.waits(l.now)
	case needsOutput:
		l.waitFor(lc, sending) // nothing is unsent; the client goes on when epoll reports it writable
	case needsPause:
		l.waitFor(lc, resting)
	}
}

// drain sends the unsent replies, and serves the client if all are sent.
func (l *epollLoop) drain(lc *epollClient) {
	if len(lc.unsent) > 0 {
		n, err := nonblocking(lc.fd).Write(lc.unsent)
		if err != nil {
			l.leave(lc, err)
			return
		}
		if lc.unsent = lc.unsent[n:]; len(lc.unsent) > 0 {
			l.waitFor(lc, sending)
			return
		}
	}
	lc.unsent = nil
	if lc.leaving {
		l.leave(lc, lc.why)
		return
	}
	if l.waitFor(lc, reading) {
		l.serve(lc)
	}
}

// waitFor changes the stage of a client and reports whether the client is still
// there. The loop reads nothing from a client that does not read its replies.
func (l *epollLoop) waitFor(lc *epollClient, s stage) bool {
	if lc.stage == s {
		return true
	}
	if lc.stage == resting {
		l.resting--
	}
	lc.stage = s
	events := uint32(unix.EPOLLIN)
	switch s {
	case sending:
		lc.since = l.now
		events = unix.EPOLLOUT
	case resting:
		lc.since = l.now
		events = 0
		l.resting++
		if at := l.now.Add(lc.pause); at.Before(l.check) {
			l.check = at
		}
	}
	if err := l.poll.control(unix.EPOLL_CTL_MOD, lc.fd, events); err != nil {
		l.leave(lc, err)
		return false
	}
	return true
}

// lookUp detaches a client: a goroutine looks up window keys and runs its turn.
func (l *epollLoop) lookUp(lc *epollClient) {
	if err := l.poll.control(unix.EPOLL_CTL_DEL, lc.fd, 0); err != nil {
		l.leave(lc, err)
		return
	}
	lc.stage = detached
	l.lookups.Go(func() {
		var w resp.Writer
		next, err := lc.turn(resp.NewRoom(0, 0), &w, true)
		lc.unsent, lc.leaving, lc.failed = w.Take(), next == ends, err
		l.server.hold(lc.client, lc.holding()+cap(lc.unsent))
		l.enter(lc)
	})
}

// cutOff ends the connections whose deadline has passed.
func (l *epollLoop) cutOff() {
	for _, lc := range l.clients {
		if lc == nil {
			continue
		}
		var due time.Time
		switch lc.stage {
		case reading:
			due = lc.due(lc.lastInput)
		case sending:
			due = lc.since.Add(l.server.config.Write)
		case resting:
			if l.now.Sub(lc.since) >= lc.pause {
				lc.pause = 0
				l.drain(lc)
			}
			continue
		}
		if !due.IsZero() && l.now.After(due) {
			l.leave(lc, os.ErrDeadlineExceeded)
		}
	}
}

// leave ends a connection.
func (l *epollLoop) leave(lc *epollClient, why error) {
	if lc.stage == resting {
		l.resting--
	}
	l.clients[lc.fd] = nil
	l.number--
	lc.r.Close(l.room)
	l.end(lc, why)
}

func (l *epollLoop) end(lc *epollClient, why error) {
	_ = unix.Close(lc.fd) // all replies that the client takes have been sent
	l.server.dismiss(lc.client, why)
}

// close ends every connection and the loop.
func (l *epollLoop) close() {
	l.lookups.Wait() // detached turns use their clients
	l.mu.Lock()
	late := l.inbox
	l.inbox, l.closed = nil, true
	l.poll.close()
	_ = unix.Close(l.wake)
	l.mu.Unlock()
	for _, lc := range late {
		if lc.fd >= len(l.clients) || l.clients[lc.fd] != lc { // not a detached one that returned: the loop below ends that
			l.end(lc, nil)
		}
	}
	for _, lc := range l.clients {
		if lc != nil {
			l.leave(lc, nil)
		}
	}
}
