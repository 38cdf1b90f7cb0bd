//go:build !noepoll

package redis

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
)

// idleMost is how many bytes an idle connection may take.
const idleMost = 2 << 10

// startOneLoop runs a server with one loop until the test ends.
func startOneLoop(t *testing.T, c Config) (addr string) {
	t.Helper()
	before := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(before)
	_, addr = start(t, c)
	expect(t, dial(t, addr), "PONG", "PING") // so the loop is there
	return addr
}

// TestHeavyAreLast: clients that send the heaviest commands allowed, all the time,
// make others wait for one of their commands at a time, not for one of each. Each of
// them gets its turns.
func TestHeavyAreLast(t *testing.T) {
	const size = 3 << 20 // BITOP of that takes longer than a turn may
	const turns, every = 25, 5
	var turn atomic.Int64 // counts them from 1 on while it is not negative
	turn.Store(-1)
	entered, release := make(chan struct{}), make(chan struct{})
	addr := startOneLoop(t, Config{heavy: time.Hour, Now: func() time.Time {
		if turn.Load() >= 0 {
			if n := turn.Add(1); n == 1 || n%every == 0 {
				entered <- struct{}{}
				<-release
			}
		}
		return time.Now()
	}})
	light, plug := dial(t, addr), dial(t, addr)
	var heavy [8]*redistest.Conn
	for i := range heavy {
		heavy[i] = dial(t, addr)
		do(t, heavy[i], "SETRANGE", "big", size-1, "x")
		do(t, heavy[i], "BITOP", "NOT", "d", "big") // it is heavy from here on
	}
	expect(t, light, "PONG", "PING")
	expect(t, plug, "PONG", "PING")
	// From here on, only turns ask for the time.
	do(t, plug, "DEBUG", "SET-ACTIVE-EXPIRE", 0)
	// round returns whose turns there were, in their order. The heavy ones send their commands
	// during the first turn, and the light one sends during each fifth.
	round := func() (order []string) {
		do(t, plug, "DEL", "order")
		turn.Store(0)
		if err := errors.Join(plug.Send("RPUSH", "order", "plug"), plug.Flush()); err != nil {
			t.Fatal(err)
		}
		await.Receive(t, "the first turn", entered)
		var all sync.WaitGroup
		for i, c := range heavy {
			for range turns {
				if err := errors.Join(c.Send("RPUSH", "order", i), c.Send("BITOP", "NOT", fmt.Sprint("d", i%2), "big")); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for range 2 * turns {
					if _, err := c.Receive(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		release <- struct{}{}
		for lights := 0; ; {
			select {
			case <-entered:
				if err := errors.Join(light.Send("RPUSH", "order", "light"), light.Flush()); err != nil {
					t.Fatal(err)
				}
				lights++
				release <- struct{}{}
				continue
			case <-done:
			}
			turn.Store(-1)
			for range lights {
				if _, err := light.Receive(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := plug.Receive(); err != nil {
				t.Fatal(err)
			}
			return strings.Fields(strings.Trim(fmt.Sprint(do(t, plug, "LRANGE", "order", 0, -1)), "[]"))
		}
	}
	fault := func(order []string) string {
		had := map[string]int{}
		for i, name := range order {
			if i > 0 && i%every == 0 && name != "light" {
				return fmt.Sprintf("after turn %d of %v another than the light one had a turn", i, order)
			}
			if had[name]++; name == "light" || had[name] < turns {
				continue
			}
			for i := range heavy {
				if n := had[fmt.Sprint(i)]; n < turns-2 {
					return fmt.Sprintf("when one had %d turns, another had %d: %v", turns, n, order)
				}
			}
			return ""
		}
		return fmt.Sprintf("none had %d turns: %v", turns, order)
	}
	if bad := fault(round()); bad != "" {
		t.Error(bad)
	}
}

// TestLongTakeTurns: if clients without a turn yet and a heavy one all have a command that
// takes long, a light one waits for one of these, and the heavy one is not put off for
// long.
func TestLongTakeTurns(t *testing.T) {
	const size = 3 << 20 // BITOP of that takes longer than a turn may
	var step atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	addr := startOneLoop(t, Config{Now: func() time.Time {
		if step.Load() > 0 && step.Add(-1) >= 0 {
			entered <- struct{}{}
			<-release
		}
		return time.Now()
	}})
	light, plug, heavy := dial(t, addr), dial(t, addr), dial(t, addr)
	do(t, heavy, "SETRANGE", "big", size-1, "x")
	expect(t, light, "PONG", "PING")
	expect(t, plug, "PONG", "PING")
	// From here on, only turns and new clients ask for the time.
	do(t, plug, "DEBUG", "SET-ACTIVE-EXPIRE", 0)
	send := func(c *redistest.Conn, name string, long bool) {
		t.Helper()
		err := c.Send("RPUSH", "order", name)
		if long {
			err = errors.Join(err, c.Send("BITOP", "NOT", "d", "big"))
		}
		if err := errors.Join(err, c.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(c *redistest.Conn) {
		t.Helper()
		if r, err := c.Receive(); err != nil {
			t.Fatal(r, err)
		}
	}
	for again := 0; ; again++ {
		do(t, plug, "DEL", "order")
		accepted := strings.Count(fmt.Sprint(do(t, plug, "CLIENT", "LIST")), "id=")
		fresh := []*redistest.Conn{dial(t, addr), dial(t, addr)}
		await.Until(t, func() error {
			if n := strings.Count(fmt.Sprint(do(t, plug, "CLIENT", "LIST")), "id="); n < accepted+len(fresh) {
				return fmt.Errorf("%d clients are accepted", n)
			}
			return nil
		})
		do(t, heavy, "BITOP", "NOT", "d", "big") // heavy from now on, for a second
		step.Store(2)
		if err := errors.Join(plug.Send("PING"), plug.Flush()); err != nil {
			t.Fatal(err)
		}
		await.Receive(t, "the turn of the first", entered) // the others send during this turn
		for i, c := range fresh {
			send(c, fmt.Sprint("fresh", i), true)
		}
		send(heavy, "heavy", true)
		release <- struct{}{}
		await.Receive(t, "the turn after that", entered) // the light one sends during this turn
		send(light, "light", false)
		release <- struct{}{}
		for _, c := range append(fresh, heavy) {
			receive(c)
			receive(c)
		}
		receive(plug)
		receive(light)
		order := strings.Fields(strings.Trim(fmt.Sprint(do(t, light, "LRANGE", "order", 0, -1)), "[]"))
		if order[0] == "heavy" && again < 20 {
			continue // it was heavy no longer
		}
		for _, c := range fresh {
			_ = c.Close()
		}
		if len(order) != 4 || !strings.HasPrefix(order[0], "fresh") || order[1] != "light" || order[2] != "heavy" {
			t.Errorf("the turns were those of %v", order)
		}
		return
	}
}

// TestNewAreLast: a client that is known has its turn before clients whose first command
// has arrived earlier.
func TestNewAreLast(t *testing.T) {
	var armed atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	addr := startOneLoop(t, Config{Now: func() time.Time {
		if armed.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return time.Now()
	}})
	known, plug := dial(t, addr), dial(t, addr)
	expect(t, known, "PONG", "PING")
	expect(t, plug, "PONG", "PING")
	var fresh []*redistest.Conn
	for range 20 {
		fresh = append(fresh, dial(t, addr))
	}
	// From here on, only turns ask for the time.
	do(t, known, "DEBUG", "SET-ACTIVE-EXPIRE", 0)
	await.Until(t, func() error {
		if n := strings.Count(fmt.Sprint(do(t, known, "CLIENT", "LIST")), "id="); n < 2+len(fresh) {
			return fmt.Errorf("%d clients are accepted", n)
		}
		return nil
	})
	send := func(c *redistest.Conn, args ...any) {
		t.Helper()
		if err := errors.Join(c.Send(args...), c.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	armed.Store(true)
	send(plug, "PING")
	await.Receive(t, "the turn of the first", entered) // the others send during this turn
	for i, c := range fresh {
		send(c, "RPUSH", "order", i)
	}
	send(known, "RPUSH", "order", "known")
	close(release)
	for _, c := range append(fresh, known, plug) {
		if r, err := c.Receive(); err != nil {
			t.Fatal(r, err)
		}
	}
	if first := fmt.Sprint(do(t, known, "LRANGE", "order", 0, 0)); first != "[known]" {
		t.Errorf("client %v was first", first)
	}
}
