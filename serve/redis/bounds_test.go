package redis

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
	"weir/sketches/bitmap"
)

// TestTransactionKeepsToMemory: EXEC checks the memory for each command, although
// there was room when they were queued.
func TestTransactionKeepsToMemory(t *testing.T) {
	const memory, commands = 3 << 20, 9
	for name, command := range map[string]func(key string) []any{
		"BITOP":      func(key string) []any { return []any{"BITOP", "NOT", key, "a"} },
		"BF.RESERVE": func(key string) []any { return []any{"BF.RESERVE", key, "0.01", 400_000} },
		"SETRANGE":   func(key string) []any { return []any{"SETRANGE", key, 500_000, "x"} },
		"SET":        func(key string) []any { return []any{"SET", key, strings.Repeat("x", 500_000)} },
	} {
		t.Run(name, func(t *testing.T) {
			s, addr := start(t, Config{Memory: memory, Buffers: 32 << 20, Request: 16 << 20})
			c := dial(t, addr)
			do(t, c, "SETRANGE", "a", 500_000, "x")
			expect(t, c, "OK", "MULTI")
			for i := range commands {
				expect(t, c, "QUEUED", command(fmt.Sprint("d", i))...)
			}
			refused := 0
			for i, r := range do(t, c, "EXEC").([]any) {
				if r == redistest.Error(errMemory) {
					refused++
				} else if refused > 0 {
					t.Errorf("command %d got %v", i, r)
				}
			}
			if refused == 0 || refused == commands {
				t.Errorf("%d commands were refused", refused)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.store.used > memory+600_000 {
				t.Errorf("%d bytes are used of %d", s.store.used, memory)
			}
		})
	}
}

// TestGrowthFits: a command whose result may be much larger than its arguments
// checks the memory before it makes the result.
func TestGrowthFits(t *testing.T) {
	s, addr := start(t, Config{Memory: 8 << 20, Bulk: 8 << 20})
	c := dial(t, addr)
	do(t, c, "SETRANGE", "a", 3<<20, "x")
	do(t, c, "SETRANGE", "b", 3<<20, "x")
	full := redistest.Error(errMemory)
	expect(t, c, full, "BITOP", "OR", "c", "a", "b")
	expect(t, c, full, "BF.RESERVE", "f", "0.01", 5_000_000)
	expect(t, c, full, "SETBIT", "c", 8*(3<<20), 1)
	expect(t, c, 3<<20+1, "BITOP", "OR", "a", "a", "b") // it replaces a value of the same size
	expect(t, c, 0, "SETBIT", "a", 8*(3<<20)+7, 0)      // a change within the value needs no memory
	expect(t, c, 1, "DEL", "b")
	expect(t, c, "OK", "BF.RESERVE", "f", "0.25", 100_000, "EXPANSION", 32768)
	for i := range 60 { // the next layer would be 32,768 times as large
		args := []any{"BF.MADD", "f"}
		for j := range 2000 {
			args = append(args, fmt.Sprint(i, " ", j))
		}
		do(t, c, args...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store.used > 8<<20 {
		t.Errorf("%d bytes are used of %d", s.store.used, 8<<20)
	}
}

// TestReadOnly: on a read-only server a client can set nothing.
func TestReadOnly(t *testing.T) {
	_, addr := start(t, Config{ReadOnly: true})
	c := dial(t, addr)
	for _, args := range [][]any{
		{"SET", "k", "v"}, {"CONFIG", "SET", "hll-sparse-max-bytes", 1}, {"SCRIPT", "LOAD", scriptTexts[0].text}, {"FUNCTION", "FLUSH"}, {"EVAL", scriptTexts[0].text, 1, "k", "v"},
	} {
		expect(t, c, redistest.Error(errReadOnly), args...)
	}
	expect(t, c, []any{"maxmemory", "1073741824"}, "CONFIG", "GET", "maxmemory")
}

// TestScriptsRememberedAreBounded: the server remembers only so many spellings of scripts.
func TestScriptsRememberedAreBounded(t *testing.T) {
	s := New(Config{})
	for i := range scriptsMost + 10 {
		s.remember(fmt.Append(nil, i), compareAndDelete)
	}
	if n := len(s.scripts); n > scriptsMost {
		t.Errorf("%d spellings are remembered, more than %d", n, scriptsMost)
	}
}

// TestRepliesAreBounded: a transaction whose replies exceed the limit runs to its end, as
// does a command that repeats members without end; but the server does not collect all
// replies, and cuts off the client.
func TestRepliesAreBounded(t *testing.T) {
	s, addr := start(t, Config{Buffers: 1 << 20})
	c := dial(t, addr)
	do(t, c, "SETRANGE", "big", 512<<10, "x")
	do(t, c, "SADD", "u", "member")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, attack := range []string{
		"MULTI\r\n" + strings.Repeat("GET big\r\n", 400) + "INCR done\r\nEXEC\r\n",
		"SRANDMEMBER u -9223372036854775807\r\n",
	} {
		conn := raw(t, addr)
		if _, err := io.WriteString(conn, attack); err != nil {
			t.Fatal(err)
		}
		if got := cutOff(t, conn); strings.Contains(got, "$524289") || strings.Contains(got, "member") {
			t.Error("replies came that are more than allowed")
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("%d MiB allocated for replies of which 1 may wait", n>>20)
	}
	expect(t, c, "1", "GET", "done")
	if n := len(s.store.order); n != 3 {
		t.Errorf("%d keys", n)
	}
}

// TestBuffersTogether: replies that clients do not read, requests that do not end
// and transactions that are not run count together. Beyond the bound the clients
// that hold most are cut off, and a client that holds little is served.
func TestBuffersTogether(t *testing.T) {
	const most = 8 << 20
	for name, attack := range map[string]func(conn net.Conn) error{
		"replies": func(conn net.Conn) error {
			for range 8 {
				if _, err := io.WriteString(conn, "GET big\r\n"); err != nil {
					return err
				}
			}
			return nil
		},
		"requests": func(conn net.Conn) error {
			_, err := io.WriteString(conn, "*2\r\n$4\r\nECHO\r\n$3000000\r\n"+strings.Repeat("x", 2_000_000))
			return err
		},
		"transactions": func(conn net.Conn) error {
			_, err := io.WriteString(conn, "MULTI\r\n"+strings.Repeat("*2\r\n$4\r\nECHO\r\n$10000\r\n"+strings.Repeat("x", 10_000)+"\r\n", 200))
			return err
		},
		"replies after a lookup": func(conn net.Conn) error {
			_, err := io.WriteString(conn, "GET w:clicks:active:now\r\n")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			active := new(bitmap.Activity)
			active.Add(8*6_000_000 - 1)
			windows := &fakeWindows{values: map[string]any{"w:clicks:active:now": active}}
			s, addr := start(t, Config{Windows: windows, Buffers: most, Write: await.Never, Stall: await.Never})
			c := dial(t, addr)
			do(t, c, "SETRANGE", "big", 6_000_000, "x")
			for range 20 {
				if err := attack(raw(t, addr)); err != nil {
					break // cut off already
				}
			}
			for deadline := await.Deadline(); ; time.Sleep(10 * time.Millisecond) {
				expect(t, c, "PONG", "PING")
				s.buffers.mu.Lock()
				total := s.buffers.total
				s.buffers.mu.Unlock()
				if total > most {
					t.Fatalf("%d bytes are held of %d", total, most)
				}
				if n := s.Stats(); n.Evicted >= 5 && n.Clients <= 20-5+1 {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("%+v, %d bytes held", n, total)
				}
			}
			if got := do(t, c, "INFO", "stats").(string); strings.Contains(got, "evicted_clients:0\r\n") {
				t.Errorf("INFO: %s", got)
			}
		})
	}
}

// TestLittleOfMany: what is held for many clients, a little for each, stays within the
// budget to the byte, and none that holds less is cut off before one that holds more.
func TestLittleOfMany(t *testing.T) {
	const most, clients = 4 << 20, 2000
	b := buffers{most: most, held: map[*client]int{}}
	modest := new(client)
	b.set(modest, 100)
	gone := 0
	for i := range clients {
		for _, c := range b.set(new(client), 15_000+i%100) {
			if c == modest {
				t.Fatal("the client that holds little was cut off")
			}
			gone++
		}
		sum := 0
		for _, n := range b.held {
			sum += n
		}
		if sum != b.total || sum > most {
			t.Fatalf("%d bytes are held of %d, %d are counted", sum, most, b.total)
		}
	}
	if int(b.count()) != gone || gone+len(b.held) != clients+1 || len(b.held) < most*7/8/15_100 {
		t.Errorf("%d clients were cut off, %d are left", gone, len(b.held))
	}
}

// TestUnauthenticated: the server cuts off silent connections that have not given
// the password, and however many of them come, a client with the password gets in.
func TestUnauthenticated(t *testing.T) {
	_, addr := start(t, Config{Password: "secret", Clients: 40, Greet: 2 * time.Second})
	var flood []net.Conn
	for i := range 200 {
		flood = append(flood, raw(t, addr))
		if i%20 == 19 {
			c := dial(t, addr)
			expect(t, c, "OK", "AUTH", "secret")
			expect(t, c, "PONG", "PING")
			defer func() { expect(t, c, "PONG", "PING") }() // for as long as it likes
		}
	}
	for _, conn := range flood {
		if got := cutOff(t, conn); got != "" {
			t.Fatalf("a silent connection got %q", got)
		}
	}
}

// TestGuessing: each password after a wrong one waits, the tenth wrong one ends the
// connection, and the log has one line a minute.
func TestGuessing(t *testing.T) {
	t.Parallel() // it waits
	for name, guess := range map[string]string{"AUTH": "AUTH wrong\r\n", "HELLO": "HELLO 2 AUTH default wrong\r\n"} {
		t.Run(name, func(t *testing.T) {
			var log await.Output
			const pause = 10 * time.Millisecond
			_, addr := start(t, Config{Password: "secret", Log: slog.New(slog.NewTextHandler(&log, nil)), pause: pause, Greet: time.Minute})
			conn := raw(t, addr)
			begin := time.Now()
			if _, err := io.WriteString(conn, strings.Repeat(guess, 1000)); err != nil {
				t.Fatal(err)
			}
			got := cutOff(t, conn)
			if want := strings.Repeat("-"+errPassword+"\r\n", guessesMost); got != want {
				t.Errorf("got %q", got)
			}
			if took := time.Since(begin); took < 9*pause {
				t.Errorf("ten guesses took %s", took)
			}
			c := dial(t, addr)
			expect(t, c, "OK", "AUTH", "secret")
			if got := do(t, c, "INFO", "stats").(string); !strings.Contains(got, "acl_access_denied_auth:10\r\n") {
				t.Errorf("INFO: %s", got)
			}
			if n := strings.Count(log.String(), `msg="wrong passwords`); n != 1 {
				t.Errorf("%d lines: %s", n, log.String())
			}
			if strings.Contains(log.String(), "secret") {
				t.Error("the log has the password")
			}
		})
	}
}

// TestGuessesOfManyConnections: after a wrong password each password from the same address
// waits, also on a new connection, before the server looks at it. A client at another
// address does not wait, and the right password is never refused.
func TestGuessesOfManyConnections(t *testing.T) {
	t.Parallel() // it waits
	from := func(t *testing.T, host, addr string) *redistest.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
		conn, err := d.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(await.Deadline())
		return redistest.NewConn(conn)
	}
	const guesser, other = "127.0.0.1", "127.0.0.2"
	t.Run("waits", func(t *testing.T) {
		const pause, guesses = 20 * time.Millisecond, 20
		_, addr := start(t, Config{Password: "secret", pause: pause, Greet: await.Never})
		begin := time.Now()
		for i := range guesses {
			expect(t, from(t, guesser, addr), redistest.Error(errPassword), "AUTH", i)
		}
		if took := time.Since(begin); took < (guesses-1)*pause {
			t.Errorf("%d guesses on as many connections took %s", guesses, took)
		}
		last := time.Now()
		expect(t, from(t, guesser, addr), redistest.Error(errPassword), "AUTH", "wrong")
		c := from(t, guesser, addr)
		begin = time.Now()
		expect(t, c, "OK", "AUTH", "secret")
		if took := time.Since(begin); took < pause && time.Since(last) < guessKnown {
			t.Errorf("the right password is told from a wrong one after %s", took)
		}
		expect(t, c, "PONG", "PING")
	})
	t.Run("another address", func(t *testing.T) {
		_, addr := start(t, Config{Password: "secret", pause: 2 * await.Never, Greet: 2 * await.Never})
		expect(t, from(t, guesser, addr), redistest.Error(errPassword), "AUTH", "wrong")
		for range 10 {
			if c := from(t, guesser, addr); c.Send("AUTH", "wrong") != nil || c.Flush() != nil {
				t.Fatal("a guess cannot be sent")
			}
			c := from(t, other, addr)
			expect(t, c, "OK", "AUTH", "secret")
			expect(t, c, "PONG", "PING")
		}
	})
}

// TestOrigin: guesses of one host count for one address.
func TestOrigin(t *testing.T) {
	for addr, want := range map[string]string{
		"10.1.2.3:45678": "10.1.2.3", "[::ffff:10.1.2.3]:1": "10.1.2.3", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::",
		"[fe80::1%eth0]:1": "fe80::", "@": "invalid IP",
	} {
		if got := (&client{addr: addr}).origin().String(); got != want {
			t.Errorf("%s counts for %s, want %s", addr, got, want)
		}
	}
	s := New(Config{Password: "secret"})
	for i := range 3 * guessersMost {
		c := &client{server: s, addr: fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)}
		if c.guessed(); len(s.guessers) > guessersMost || s.guessers[c.origin()].IsZero() {
			t.Fatalf("guess %d: %d addresses are known", i, len(s.guessers))
		}
	}
}
