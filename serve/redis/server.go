package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"weir/serve/resp"
	"weir/sketches/bitmap"
	"weir/sketches/hll"
)

// A Config has the settings of a server. A zero field means its default.
type Config struct {
	// Password, if not empty, must be given with AUTH, for the user "default".
	Password string
	// ReadOnly refuses every command that writes.
	ReadOnly bool
	// Windows looks up window keys. If it is nil there are only scratch keys, which
	// may then begin with "w:" as well.
	Windows Windows
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Log gets a line for connections that are cut off; default: no log.
	Log *slog.Logger

	Clients int // most connections at a time; default 16,384
	Args    int // most arguments of a command; default 1,048,576, as in Redis
	Bulk    int // bytes of an argument, and of a string; default 8 MiB, or an eighth of Memory
	Request int // bytes of a command; default 16 MiB, or a quarter of Memory
	Memory  int // bytes of scratch keys, beyond which writes are refused; default 1 GiB
	// Buffers is how many bytes the server may hold for all clients together:
	// requests that have arrived in part, queued transactions, replies. Default: a
	// quarter of Memory, at least 4 MiB.
	Buffers int

	Idle  time.Duration // longest time between commands; default: no limit, as in Redis
	Stall time.Duration // longest time in which a command arrives; default 30 s
	Write time.Duration // longest time for a client to read its replies; default 10 s
	Greet time.Duration // longest time for a client to give the password; default 10 s
	Ask   time.Duration // longest time to look up the window keys of a command, or of a transaction; default 25 s
	pause time.Duration // before a password from an address with a wrong one; tests set it
}

// A Server serves scratch keys and window keys. New makes one.
type Server struct {
	config  Config
	windows Windows
	started time.Time

	mu              sync.Mutex // held while a command runs
	store           *store
	sparseMax       int // bytes of a sparse HyperLogLog; CONFIG SET changes it
	calls           uint64
	refused         int64 // connections refused because there were too many
	accepted        int64
	clients         map[*client]struct{}
	unauthenticated map[*client]struct{}
	scripts         map[string]script // the scripts that EVALSHA knows, by their digests

	wrong, wrongUnlogged uint64 // wrong passwords, in all and since the last log line
	wrongLogged          time.Time
	guessers             map[netip.Addr]time.Time // until when passwords from there must wait

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
	c.Args = cmp.Or(c.Args, 1<<20)
	c.Memory = cmp.Or(c.Memory, 1<<30)
	quarter := HeldFor(c.Memory)
	c.Buffers = cmp.Or(c.Buffers, quarter)
	c.Request = cmp.Or(c.Request, min(16<<20, quarter))
	c.Bulk = min(cmp.Or(c.Bulk, min(8<<20, quarter/2)), bitmap.MaxBytes)
	c.pause = cmp.Or(c.pause, guessPause)
	c.Greet = cmp.Or(c.Greet, 10*time.Second)
	c.Stall = cmp.Or(c.Stall, 30*time.Second)
	c.Write = cmp.Or(c.Write, 10*time.Second)
	c.Ask = cmp.Or(c.Ask, 25*time.Second) // as over HTTP
	return &Server{
		config: c, windows: c.Windows, started: c.Now(), store: newStore(), sparseMax: hll.DefaultSparseMax,
		clients: map[*client]struct{}{}, unauthenticated: map[*client]struct{}{}, scripts: map[string]script{}, guessers: map[netip.Addr]time.Time{},
		buffers: buffers{most: c.Buffers, held: map[*client]int{}},
	}
}

// HeldFor returns the default of Config.Buffers for a given Config.Memory.
func HeldFor(memory int) int { return max(memory/4, 4<<20) }

// Serve answers on l until ctx ends. Then it closes l and every connection, and
// returns nil when no command runs any more. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close() // Accept returns an error then
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.clients {
			_ = c.conn.Close()
		}
	})
	defer stop()
	running.Go(func() { s.sweep(ctx) })
	for {
		conn, err := s.accept(ctx, l)
		if conn == nil {
			return err
		}
		if c := s.admit(ctx, conn); c != nil {
			running.Go(func() { s.dismiss(c, c.serve()) })
		}
	}
}

// acceptPause is how long the server waits when it could not accept a connection. Most likely
// the process has no descriptors left; the connections that are open go on.
const acceptPause = time.Second

// accept waits for a connection. It returns nil and no error when ctx has ended.
func (s *Server) accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close() // the server is ending
			}
			return nil, nil
		case err == nil:
			return conn, nil
		case errors.Is(err, net.ErrClosed):
			return nil, fmt.Errorf("redis: %w", err)
		}
		s.config.Log.Warn("a connection could not be accepted", "error", err, "again_in", acceptPause)
		time.Sleep(acceptPause)
	}
}

// admit makes a client of a connection. A new client takes the place of the oldest one that has
// not given the password. If there are too many, it replies with an error, closes the connection
// and returns nil.
func (s *Server) admit(ctx context.Context, conn net.Conn) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= s.config.Clients {
		s.displace()
	}
	if len(s.clients) >= s.config.Clients || ctx.Err() != nil {
		s.refused++
		// A short write into a fresh connection's buffer does not block.
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n"))
		_ = conn.Close()
		return nil
	}
	s.accepted++
	c := s.newClient(ctx, s.accepted, conn)
	if s.config.Password != "" {
		s.awaitAuth(c)
	}
	s.clients[c] = struct{}{}
	return c
}

func (s *Server) limits() resp.Limits {
	return resp.Limits{Args: s.config.Args, Bulk: s.config.Bulk, Request: s.config.Request}
}

// dismiss ends the connection of a client, forgets it, and logs why.
func (s *Server) dismiss(c *client, why error) {
	_ = c.conn.Close() // what could be sent has been
	if cut := c.cut.Load(); cut != nil {
		why = *cut
	}
	if why != nil && !errors.Is(why, io.EOF) && c.ctx.Err() == nil {
		s.cutOffs.log(s.config.Log, c.addr, why)
	}
	s.buffers.set(c, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	delete(s.unauthenticated, c)
}

// cutOffs logs the connections that were cut off: at most one line a second.
type cutOffs struct {
	mu       sync.Mutex
	logged   time.Time
	unlogged int // since then
}

func (x *cutOffs) log(log *slog.Logger, addr string, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if now.Sub(x.logged) < time.Second {
		x.unlogged++
		return
	}
	log.Info("a connection was cut off", "client", addr, "error", why, "others_since", x.unlogged)
	x.logged, x.unlogged = now, 0
}

// sweep removes expired keys, some at a time.
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
			more := s.store.sweep(s.config.Now().UnixMilli())
			s.mu.Unlock()
			if !more {
				break
			}
		}
	}
}
