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

// TestHeavyAreLast: clients that send the heaviest commands allowed, all the time,
// make others wait for one of their commands at a time, not for one of each. Each of
// them gets its turns.
func TestHeavyAreLast(t *testing.T) {
	const size = 3 << 20 // more than a turn may take, and far less than heavyFor in all, also under the race detector
	_, addr := start(t, Config{})
	do(t, dial(t, addr), "SETRANGE", "big", size-1, "x")
	c := dial(t, addr) // the other is heavy now
	var all sync.WaitGroup
	const turns = 25
	var done [8]atomic.Int64
	var first atomic.Bool // one of them has had all its turns
	for i := range done {
		heavy := dial(t, addr)
		for range turns {
			heavy.Send("BITOP", "NOT", fmt.Sprint("d", i%2), "big")
		}
		heavy.Flush()
		all.Go(func() {
			for range turns {
				if r, err := heavy.Receive(); err != nil || r != int64(size) {
					t.Errorf("%v, %v", r, err)
				}
				done[i].Add(1)
			}
			first.Store(true)
		})
	}
	pings := 0
	for !first.Load() {
		expect(t, c, "PONG", "PING")
		pings++
	}
	for i := range done {
		if n := done[i].Load(); n < turns/2 {
			t.Errorf("when one had %d turns, another had %d", turns, n)
		}
	}
	all.Wait()
	// About as many as all turns, fewer where this client is slow to send the next;
	// after one turn of each it would be at most 25.
	if pings < 40 {
		t.Errorf("%d pings meanwhile", pings)
	}
}

// TestLongTakeTurns: if clients without a turn yet and a heavy one all have a command that
// takes long, a light one waits for one of these, and the heavy one is not put off for
// long.
func TestLongTakeTurns(t *testing.T) {
	const size = 3 << 20 // BITOP of that takes longer than a turn may
	var step atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	before := runtime.GOMAXPROCS(2) // one loop
	_, addr := start(t, Config{Now: func() time.Time {
		if step.Load() > 0 && step.Add(-1) >= 0 {
			entered <- struct{}{}
			<-release
		}
		return time.Now()
	}})
	runtime.GOMAXPROCS(before)
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
	before := runtime.GOMAXPROCS(2) // one loop
	_, addr := start(t, Config{Now: func() time.Time {
		if armed.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return time.Now()
	}})
	runtime.GOMAXPROCS(before)
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
