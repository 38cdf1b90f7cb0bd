package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"weir/serve/resp"
	"weir/sketches/bitmap"
	"weir/sketches/hll"
)

// A Config is what a server is made of. Zero fields mean their defaults.
type Config struct {
	// Password, if not empty, must be given with AUTH, for the user "default".
	Password string
	// ReadOnly refuses every command that writes.
	ReadOnly bool
	// Windows finds window keys; without it there are only scratch keys, which
	// may then begin with "w:" as well.
	Windows Windows
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Log hears of connections that are cut off; default: nobody.
	Log *slog.Logger

	Clients int // connections at a time; default 16,384
	Args    int // arguments of a command; default 131,072
	Bulk    int // bytes of an argument, and of a string; default 8 MiB, or an eighth of Memory
	Request int // bytes of a command; default 16 MiB, or a quarter of Memory
	Memory  int // bytes of scratch keys, beyond which writes are refused; default 1 GiB
	// Buffers is how many bytes the server may hold for all clients together:
	// requests that have arrived in part, queued transactions, replies. Default: a
	// quarter of Memory, at least 4 MiB.
	Buffers int

	Idle  time.Duration // between commands; default: for ever, as in Redis
	Stall time.Duration // for a command that has begun to arrive; default 30 s
	Write time.Duration // for a client to take its replies; default 10 s
	Greet time.Duration // for a client to give the password; default 10 s
	pause time.Duration // behind the first wrong password
}

// loopsMost bounds the loops that read and write connections: half of the
// processors, but commands run one at a time, and beyond a few loops they would
// only wait for each other.
const loopsMost = 4

// A Server serves scratch keys and window keys. Use New.
type Server struct {
	config  Config
	windows Windows
	started time.Time

	mu        sync.Mutex // held while a command runs
	store     *store
	memory    int
	bulk      int
	sparseMax int
	idle      bool // sweeping is off (DEBUG SET-ACTIVE-EXPIRE 0)
	calls     uint64
	refused   int64 // connections, because there were too many
	accepted  int64
	clients   map[*client]struct{}
	scripts   map[string]script // by SHA-1, in hex
	strangers map[*client]struct{}
	leaving   int // strangers who have been cut off and are not gone yet

	wrong, wrongUnsaid uint64 // passwords; and since it was last said
	wrongSaid          time.Time

	patient sync.Mutex // held before mu by who has been away, or is alone
	buffers buffers
	cutOffs cutOffs
}

// New returns a server with no keys.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Clients = cmp.Or(c.Clients, 16384)
	c.Args = cmp.Or(c.Args, 128<<10)
	c.Memory = cmp.Or(c.Memory, 1<<30)
	quarter := HeldFor(c.Memory)
	c.Buffers = cmp.Or(c.Buffers, quarter)
	c.Request = cmp.Or(c.Request, min(16<<20, quarter))
	c.Bulk = min(cmp.Or(c.Bulk, min(8<<20, quarter/2)), bitmap.MaxBytes)
	c.pause = cmp.Or(c.pause, guessPause)
	c.Greet = cmp.Or(c.Greet, 10*time.Second)
	c.Stall = cmp.Or(c.Stall, 30*time.Second)
	c.Write = cmp.Or(c.Write, 10*time.Second)
	return &Server{
		config: c, windows: c.Windows, started: c.Now(),
		store: newStore(), memory: c.Memory, bulk: c.Bulk, sparseMax: hll.DefaultSparseMax,
		clients: map[*client]struct{}{}, scripts: map[string]script{}, strangers: map[*client]struct{}{},
		buffers: buffers{most: c.Buffers, held: map[*client]int{}},
	}
}

// HeldFor is how many bytes are held for all clients together, where so many are
// meant for scratch keys and Config.Buffers says nothing else.
func HeldFor(memory int) int { return max(memory/4, 4<<20) }

// leaveBehind is how long the end of Serve waits for what still runs.
const leaveBehind = 2 * time.Second

// Serve answers on l until ctx ends, then closes l and every connection, and
// returns nil once nothing runs any more, or after two seconds: no command is
// waited for any longer. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer s.wait(&running)
	defer cancel()
	loops, err := newLoops(s, min(max(runtime.GOMAXPROCS(0)/2, 1), loopsMost))
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	for _, loop := range loops {
		running.Go(func() {
			if err := loop.run(ctx); err != nil {
				s.config.Log.Error("connections are no longer served", "error", err)
				cancel()
			}
		})
	}
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close() // Accept says so
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.clients {
			if c.conn != nil {
				_ = c.conn.Close()
			}
		}
	})
	defer stop()
	running.Go(func() { s.sweep(ctx) })
	for wait := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close() // it came too late
			}
			return nil
		case err != nil:
			// Out of descriptors, most likely: those who are here go on.
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("redis: %w", err)
			}
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.config.Log.Warn("a connection could not be accepted", "error", err, "again_in", wait)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			continue
		}
		wait = 0
		c := s.admit(ctx, conn)
		if c == nil {
			continue
		}
		if len(loops) > 0 && loops[int(c.id)%len(loops)].take(c, conn) {
			continue
		}
		s.mu.Lock()
		c.conn = conn // for who ends it, if that has not happened yet
		c.cut = func() { _ = conn.Close() }
		s.mu.Unlock()
		if c.evicted.Load() {
			_ = conn.Close()
		}
		if ctx.Err() != nil {
			_ = conn.Close()
		}
		running.Go(func() {
			err := c.alone(conn)
			_ = conn.Close() // what could be sent has been
			s.dismiss(c, err)
		})
	}
}

// wait waits for what runs, but not for ever.
func (s *Server) wait(running *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(leaveBehind):
		s.config.Log.Warn("the Redis endpoint ends although a command still runs")
	}
}

// admit makes a client of a connection, unless there are too many.
func (s *Server) admit(ctx context.Context, conn net.Conn) *client {
	for wait := time.Duration(0); ; wait += time.Millisecond {
		c, crowded := s.enrol(ctx, conn)
		if crowded != nil {
			crowded.evict()
		}
		switch {
		case c != nil:
			return c
		case (crowded != nil || s.leaves()) && wait < leavesWithin && ctx.Err() == nil:
			time.Sleep(time.Millisecond) // for the place of one who is on the way out
			continue
		}
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
		// A short write into a fresh connection's buffer does not block.
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n"))
		_ = conn.Close()
		return nil
	}
}

// leavesWithin is how long a connection that was cut off may take to be gone.
const leavesWithin = 200 * time.Millisecond

// leaves reports whether a stranger who was cut off is still there.
func (s *Server) leaves() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving > 0
}

// enrol is admit, but for the stranger who has to go for it; without a place
// there is no client.
func (s *Server) enrol(ctx context.Context, conn net.Conn) (c, crowded *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= s.config.Clients {
		if s.leaving == 0 {
			crowded = s.oldestStranger()
		}
		return nil, crowded
	}
	s.accepted++
	c = &client{
		server: s, ctx: ctx, protocol: 2, id: s.accepted, addr: conn.RemoteAddr().String(),
		since: s.config.Now(), authed: true, r: resp.NewReader(s.limits()),
	}
	if s.config.Password != "" {
		crowded = s.awaitAuth(c)
	}
	s.clients[c] = struct{}{}
	return c, crowded
}

func (s *Server) limits() resp.Limits {
	return resp.Limits{Args: s.config.Args, Bulk: s.bulk, Request: s.config.Request}
}

// dismiss forgets a client whose connection has ended, and says why.
func (s *Server) dismiss(c *client, why error) {
	if c.evicted.Load() {
		if why = errEvicted; !c.authed {
			why = errStranger
		}
	}
	if why != nil && !errors.Is(why, io.EOF) && c.ctx.Err() == nil {
		s.cutOffs.say(s.config.Log, c.addr, why)
	}
	s.release(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.endTransaction()
	delete(s.clients, c)
	delete(s.strangers, c)
	if c.ousted {
		s.leaving--
	}
}

// cutOffs says which connections were cut off: each of a few, and of a flood one
// a second.
type cutOffs struct {
	mu     sync.Mutex
	said   time.Time
	unsaid int
}

func (x *cutOffs) say(log *slog.Logger, addr string, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if now.Sub(x.said) < time.Second {
		x.unsaid++
		return
	}
	log.Info("a connection was cut off", "client", addr, "error", why, "others_since", x.unsaid)
	x.said, x.unsaid = now, 0
}

// sweep drops what has expired, little by little.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for range 100 {
			s.mu.Lock()
			more := !s.idle && s.store.sweep(s.config.Now().UnixMilli())
			s.mu.Unlock()
			if !more {
				break
			}
		}
	}
}
