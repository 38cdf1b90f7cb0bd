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
	Bulk    int // bytes of an argument, and of a string; default 8 MiB, at most 512 MiB
	Request int // bytes of a command; default 16 MiB
	Output  int // bytes of replies that may wait for a client; default 256 MiB
	Memory  int // bytes of scratch keys, beyond which writes are refused; default 1 GiB

	Idle  time.Duration // between commands; default: for ever, as in Redis
	Stall time.Duration // for a command that has begun to arrive; default 30 s
	Write time.Duration // for a client to take its replies; default 10 s
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
	accepted  int64
	clients   map[*client]struct{}
	scripts   map[string]script // by SHA-1, in hex
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
	c.Bulk = min(cmp.Or(c.Bulk, 8<<20), bitmap.MaxBytes)
	c.Request = cmp.Or(c.Request, 16<<20)
	c.Output = cmp.Or(c.Output, 256<<20)
	c.Memory = cmp.Or(c.Memory, 1<<30)
	c.Stall = cmp.Or(c.Stall, 30*time.Second)
	c.Write = cmp.Or(c.Write, 10*time.Second)
	return &Server{
		config: c, windows: c.Windows, started: c.Now(),
		store: newStore(), memory: c.Memory, bulk: c.Bulk, sparseMax: hll.DefaultSparseMax,
		clients: map[*client]struct{}{}, scripts: map[string]script{},
	}
}

// Serve answers on l until ctx ends, then closes l and every connection, and
// returns nil once nothing runs any more. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
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
		s.mu.Unlock()
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

// admit makes a client of a connection, unless there are too many.
func (s *Server) admit(ctx context.Context, conn net.Conn) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= s.config.Clients {
		// A short write into a fresh connection's buffer does not block.
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n"))
		_ = conn.Close()
		return nil
	}
	s.accepted++
	c := &client{
		server: s, ctx: ctx, protocol: 2, id: s.accepted, addr: conn.RemoteAddr().String(),
		since: s.config.Now(), authed: s.config.Password == "",
	}
	limits := strangerLimits
	if c.authed {
		limits = s.limits()
	}
	c.r = resp.NewReader(limits)
	s.clients[c] = struct{}{}
	return c
}

func (s *Server) limits() resp.Limits {
	return resp.Limits{Args: s.config.Args, Bulk: s.bulk, Request: s.config.Request}
}

// dismiss forgets a client whose connection has ended, and says why.
func (s *Server) dismiss(c *client, why error) {
	if why != nil && !errors.Is(why, io.EOF) && c.ctx.Err() == nil {
		s.config.Log.Info("a connection was cut off", "client", c.addr, "error", why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.endTransaction()
	delete(s.clients, c)
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
