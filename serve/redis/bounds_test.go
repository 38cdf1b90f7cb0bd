package redis

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
	"weir/internal/tcptest"
	"weir/serve/live"
	"weir/serve/resp"
	"weir/sketches/bitmap"
	"weir/sketches/hll"
)

// TestListIsADeque: pushing at either end and popping keep the order over many
// blocks, and cost the same however long the list is, also for thousands of pushes
// to the front.
func TestListIsADeque(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	var want []any
	for turn := range 20 {
		front, back := []any{"LPUSH", "l"}, []any{"RPUSH", "l"}
		for i := range 97 * (turn + 1) % 400 {
			front = append(front, fmt.Sprint("front ", turn, " ", i))
			want = append([]any{fmt.Sprint("front ", turn, " ", i)}, want...)
			back = append(back, fmt.Sprint("back ", turn, " ", i))
		}
		want = append(want, back[2:]...)
		do(t, c, front...)
		expect(t, c, len(want), back...)
		for range turn * 7 {
			expect(t, c, want[len(want)-1], "RPOP", "l")
			want = want[:len(want)-1]
		}
		expect(t, c, want, "LRANGE", "l", 0, -1)
		if n := len(want); n > 10 {
			expect(t, c, want[5:n-5], "LRANGE", "l", 5, -6)
		}
	}
	for range want {
		do(t, c, "RPOP", "l")
	}
	expect(t, c, nil, "RPOP", "l")
	expect(t, c, 0, "EXISTS", "l")
	many := []any{"LPUSH", "m"}
	for range 30_000 {
		many = append(many, "x")
	}
	begin := computed(t)
	expect(t, c, 30_000, many...)
	if took := computed(t) - begin; took > 10*time.Second { // it was 17 s, under a lock that every client needs
		t.Errorf("30,000 elements took %s", took)
	}
}

// computed returns the CPU time of this process, which does not depend on the load
// of the machine.
func computed(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTransactionKeepsToMemory: EXEC checks the memory for each command, although
// there was room when they were queued.
func TestTransactionKeepsToMemory(t *testing.T) {
	const memory, commands = 3 << 20, 9
	for name, command := range map[string]func(key string) []any{
		"BITOP":      func(key string) []any { return []any{"BITOP", "NOT", key, "a"} },
		"BF.RESERVE": func(key string) []any { return []any{"BF.RESERVE", key, "0.01", 400_000} },
		"BF.INSERT":  func(key string) []any { return []any{"BF.INSERT", key, "CAPACITY", 400_000, "ITEMS", "x"} },
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
	expect(t, c, full, "BF.INSERT", "f", "CAPACITY", 5_000_000, "ITEMS", "x")
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

// TestTooMuchAtATime: a command that would keep all clients waiting is refused and
// changes nothing; in parts it succeeds.
func TestTooMuchAtATime(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	refused := func(args ...any) {
		t.Helper()
		if r, ok := do(t, c, args...).(redistest.Error); !ok || !strings.HasPrefix(string(r), errWork) {
			t.Errorf("%.80v: %.100v", args, r)
		}
	}
	for i := range 60 {
		args := []any{"ZADD", "z"}
		for j := range 1000 {
			args = append(args, j, fmt.Sprintf("m %d %d", i, j))
		}
		expect(t, c, 1000, args...)
	}
	refused("ZRANGE", "z", 0, -1)
	refused("ZREMRANGEBYRANK", "z", 0, -1)
	expect(t, c, 60_000, "ZCARD", "z")
	expect(t, c, 5000, "ZREMRANGEBYRANK", "z", 0, 4999)
	if n := len(do(t, c, "ZRANGE", "z", 0, 9999).([]any)); n != 10_000 {
		t.Errorf("%d members of a range", n)
	}
	many := []any{"ZREM", "z"}
	for i := range 5000 {
		many = append(many, i)
	}
	refused(many...)
	do(t, c, "SETRANGE", "s", 8<<20-1, "x")
	sources := []any{"BITOP", "OR", "d"}
	for range 8 {
		sources = append(sources, "s")
	}
	refused(sources...)
	expect(t, c, 0, "EXISTS", "d")
	for i := range 30_000 {
		c.Send("SET", i, "x")
	}
	c.Flush()
	for range 30_000 {
		c.Receive()
	}
	if r, ok := do(t, c, "KEYS", "*").(redistest.Error); !ok || !strings.Contains(string(r), "SCAN") {
		t.Errorf("KEYS of 30,000: %.100v", r)
	}
	// A transaction that is too long is refused while it is queued, before any of its
	// commands runs.
	expect(t, c, "OK", "MULTI")
	for i := 0; ; i++ {
		r := do(t, c, "INCR", "n")
		if r == "QUEUED" && i < 20_000 {
			continue
		}
		if r != redistest.Error("ERR the transaction is too long") || i < 5000 {
			t.Errorf("command %d: %v", i, r)
		}
		break
	}
	if r := do(t, c, "EXEC"); !strings.HasPrefix(fmt.Sprint(r), "EXECABORT") {
		t.Errorf("EXEC: %v", r)
	}
	expect(t, c, nil, "GET", "n")
	expect(t, c, redistest.Error(errLongKey), "SET", strings.Repeat("k", keyMost+1), "x")
	expect(t, c, redistest.Error(errLongKey), "RENAME", "s", strings.Repeat("k", keyMost+1))
	if r, ok := do(t, c, "SCAN", 0, "MATCH", strings.Repeat("*", patternMost+1)).(redistest.Error); !ok {
		t.Errorf("a long pattern: %v", r)
	}
}

// TestTransactionKeepsToTime: commands whose arguments are short and whose work is not get
// the time of a transaction together: the first ones run, and the last ones are refused.
func TestTransactionKeepsToTime(t *testing.T) {
	top := &live.Top{}
	for i := range 1000 {
		top.Keys = append(top.Keys, live.TopKey{Key: fmt.Sprint("key ", i), Count: 1})
	}
	windows := newFakeWindows()
	windows.recent.Store(new("w:"))
	windows.values["w:clicks:often:now"] = top
	for i := range 400 {
		sketch := new(hll.Sketch)
		sketch.Add([]byte("one"))
		windows.values[fmt.Sprintf("w:clicks:users:now:%d", i)] = sketch
	}
	for i := range 20_000 {
		windows.values[fmt.Sprintf("w:clicks:hits:now:%d", i)] = live.Count(1)
	}
	s, addr := start(t, Config{Windows: windows})
	c := dial(t, addr)
	for i := range 512 {
		do(t, c, "SADD", "ints", 1_000_000_000_000_000+i)
	}
	for range 300 {
		do(t, c, "RPUSH", "long", strings.Repeat("x", 100_000))
	}
	many := []any{"PFADD", "h"}
	for i := range 1200 {
		many = append(many, i)
	}
	do(t, c, many...)
	sketch := do(t, c, "GET", "h").(string)
	for i := range 400 {
		do(t, c, "SET", fmt.Sprint("h", i), sketch[:15]+"\x80"+sketch[16:]) // its count is not known
	}
	s.mu.Lock() // clients with names of the greatest length
	for i := range int64(400) {
		s.clients[&client{server: s, id: -1 - i, session: session{name: strings.Repeat("n", nameMost)}}] = struct{}{}
	}
	s.mu.Unlock()
	for name, command := range map[string]func(i int) []any{
		"TOPK.LIST":         func(int) []any { return []any{"TOPK.LIST", "w:clicks:often:now"} },
		"the text of a hll": func(i int) []any { return []any{"GETBIT", fmt.Sprintf("w:clicks:users:now:%d", i), 0} },
		"PFCOUNT":           func(i int) []any { return []any{"PFCOUNT", fmt.Sprint("h", i)} },
		"PFDEBUG GETREG":    func(int) []any { return []any{"PFDEBUG", "GETREG", "h"} },
		"PFDEBUG DECODE":    func(i int) []any { return []any{"PFDEBUG", "DECODE", fmt.Sprint("h", i)} },
		"RPOP":              func(int) []any { return []any{"RPOP", "long"} },
		"OBJECT ENCODING":   func(int) []any { return []any{"OBJECT", "ENCODING", "ints"} },
		"COMMAND":           func(int) []any { return []any{"COMMAND"} },
		"COMMAND LIST":      func(int) []any { return []any{"COMMAND", "LIST"} },
		"COMMAND DOCS":      func(int) []any { return []any{"COMMAND", "DOCS"} },
		"CONFIG GET":        func(int) []any { return append([]any{"CONFIG", "GET"}, slices.Repeat([]any{"*a*b"}, 10)...) },
		"INFO":              func(int) []any { return []any{"INFO", "server"} },
		"CLIENT LIST":       func(int) []any { return []any{"CLIENT", "LIST"} },
		"EVAL":              func(int) []any { return []any{"EVAL", scriptTexts[0].text + strings.Repeat(" ", 3000), 1, "k", "x"} },
		"SCRIPT LOAD":       func(int) []any { return []any{"SCRIPT", "LOAD", scriptTexts[0].text + strings.Repeat(" ", 3000)} },
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, c, "OK", "MULTI")
			for i := range 300 {
				expect(t, c, "QUEUED", command(i)...)
			}
			replies := do(t, c, "EXEC").([]any)
			refused := 0
			for i, r := range replies {
				if r == redistest.Error(errWork) {
					refused++
				} else if refused > 0 {
					t.Fatalf("command %d got %.100v after one that was refused", i, r)
				}
			}
			if refused == 0 || refused == len(replies) {
				t.Errorf("%d of %d were refused: %.100v", refused, len(replies), replies[0])
			}
		})
	}
	// What a SCAN has not the time for is left for the next.
	pages := 0
	for cursor := "0"; pages == 0 || cursor != "0"; pages++ {
		cursor = do(t, c, "SCAN", cursor, "COUNT", 1_000_000).([]any)[0].(string)
	}
	if pages < 3 {
		t.Errorf("%d scans go through 20,000 window keys", pages)
	}
	if r, ok := do(t, c, "CONFIG", "GET", strings.Repeat("*", patternMost+1)).(redistest.Error); !ok {
		t.Errorf("CONFIG GET of a long pattern: %v", r)
	}
}

// TestTransactionTime: all commands of a transaction together get the time of one command,
// their arguments included, and none is refused for lack of time for its arguments alone.
func TestTransactionTime(t *testing.T) {
	s := New(Config{})
	var w resp.Writer
	c := s.newClient(t.Context(), 1, "a test")
	c.w = &w
	run := func(words string) {
		var args [][]byte
		for word := range strings.FieldsSeq(words) {
			args = append(args, []byte(word))
		}
		c.execute(args)
	}
	run("SETRANGE k 1000000 x")
	run("MULTI")
	for i := range 6000 { // nearly as long as a transaction may be
		if i%100 == 0 {
			run("BITOP NOT d k")
		}
		run("INCR n")
	}
	c.work.used = 0
	w.Reset()
	run("EXEC")
	if c.work.used > workMost || c.work.used < workMost*9/10 {
		t.Errorf("a transaction has spent %d of %d", c.work.used, workMost)
	}
	if refused, done := strings.Count(string(w.Bytes()), errWork), strings.Count(string(w.Bytes()), ":1000001\r\n"); refused == 0 || done == 0 || refused+done != 60 {
		t.Errorf("%d of 60 long commands were refused, %d done", refused, done)
	}
	if !strings.HasSuffix(string(w.Bytes()), ":6000\r\n") {
		t.Error("a short command was refused")
	}
}

// TestRoom: an array of strings fits into the room that is made for it.
func TestRoom(t *testing.T) {
	for _, n := range []int{1, 9, 620, 50_000} {
		for _, each := range []int{0, 9, 10, 99, 15 << 10, 100_000, 8 << 20} {
			if n*each > 16<<20 {
				continue
			}
			var w resp.Writer
			w.Array(n)
			for range n {
				w.Bulk(make([]byte, each))
			}
			if w.Len() > room(n, n*each) {
				t.Errorf("%d strings of %d bytes take %d bytes, more than %d", n, each, w.Len(), room(n, n*each))
			}
		}
	}
}

// TestOperatorsBounds: no client can raise the limits that the operator has set, and
// on a read-only server a client can set nothing.
func TestOperatorsBounds(t *testing.T) {
	_, addr := start(t, Config{Memory: 32 << 20})
	c := dial(t, addr)
	for _, n := range []any{32<<20 + 1, "9000000000000000000", 0, "0gb"} { // 0 is no limit in Redis
		if r, ok := do(t, c, "CONFIG", "SET", "maxmemory", n).(redistest.Error); !ok || !strings.Contains(string(r), "33554432") {
			t.Errorf("maxmemory %v: %v", n, r)
		}
	}
	expect(t, c, "OK", "CONFIG", "SET", "maxmemory", 16<<20)
	expect(t, c, "OK", "CONFIG", "SET", "maxmemory", 32<<20)
	if r, ok := do(t, c, "CONFIG", "SET", "hll-sparse-max-bytes", 1<<40).(redistest.Error); !ok {
		t.Errorf("hll-sparse-max-bytes: %v", r)
	}

	_, addr = start(t, Config{ReadOnly: true})
	c = dial(t, addr)
	for _, args := range [][]any{
		{"CONFIG", "SET", "maxmemory", 1}, {"CONFIG", "RESETSTAT"}, {"DEBUG", "SET-ACTIVE-EXPIRE", 0},
		{"SCRIPT", "FLUSH"}, {"SCRIPT", "LOAD", scriptTexts[0].text}, {"FUNCTION", "FLUSH"},
	} {
		expect(t, c, redistest.Error(errReadOnly), args...)
	}
	expect(t, c, []any{"maxmemory", "1073741824"}, "CONFIG", "GET", "maxmemory")
}

// TestHostWithoutABlank: a header line without a blank after its colon is
// recognised, too.
func TestHostWithoutABlank(t *testing.T) {
	_, addr := start(t, Config{})
	for _, host := range []string{"host:x", "HOST:127.0.0.1", "Host:"} {
		conn := raw(t, addr)
		if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\n"+host+"\r\n\r\nSET stolen 1\r\n"); err != nil {
			t.Fatal(err)
		}
		if got := cutOff(t, conn); strings.Contains(got, "OK") {
			t.Errorf("%s: answered with %q", host, got)
		}
	}
	expect(t, dial(t, addr), 0, "EXISTS", "stolen")
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
			active.AddMany([]uint32{8*6_000_000 - 1})
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

// TestLittleOfMany: what is held for thousands of clients, a little for each, stays
// within the budget to the byte, and none that holds less is cut off before one that
// holds more.
func TestLittleOfMany(t *testing.T) {
	const most = 4 << 20
	half := "*2\r\n$4\r\nECHO\r\n$15000\r\n" + strings.Repeat("x", 13_000)
	var queue, watched strings.Builder
	queue.WriteString("MULTI\r\n")
	watched.WriteString("WATCH")
	for i := range 50 {
		fmt.Fprintf(&queue, "SET key:%d x\r\n", i)
		fmt.Fprintf(&watched, " key:%d", i)
	}
	watched.WriteString("\r\n")
	for name, sends := range map[string]string{"requests": half, "transactions": queue.String(), "watched keys": watched.String()} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{Buffers: most})
			room := resp.NewRoom(64<<10, 0)
			var w resp.Writer
			turn := func(id int64, text string) *client {
				c := s.newClient(t.Context(), id, "a test")
				if err := c.r.Fill(room, strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
				if next, err := c.turn(room, &w, true); err != nil || next != needsInput {
					t.Fatal(next, err)
				}
				w.Reset()
				s.hold(c, c.holding())
				return c
			}
			modest := turn(0, "PI")
			each := 0
			var clients []*client
			for i := range int64(2000) {
				clients = append(clients, turn(1+i, sends))
				sum := modest.holding()
				for _, c := range clients {
					if !c.evicted.Load() {
						sum += c.holding()
					}
				}
				if sum > most {
					t.Fatalf("%d bytes are held of %d for %d clients", sum, most, len(clients))
				}
				each = max(each, clients[i].holding())
			}
			if 2000*each < 2*most || each > 16<<10 {
				t.Errorf("%d bytes for each client show nothing", each)
			}
			if n := s.Stats().Evicted; n < uint64(2000-most/each) || n > uint64(2000-most*3/4/each) || modest.evicted.Load() {
				t.Errorf("%d clients were cut off, the one that holds little: %v", n, modest.evicted.Load())
			}
			for _, c := range append(clients, modest) {
				s.dismiss(c, nil)
			}
			if s.buffers.total != 0 || len(s.buffers.held) != 0 {
				t.Errorf("%d bytes of %d clients are held when all have left", s.buffers.total, len(s.buffers.held))
			}
		})
	}
}

// TestUnauthenticated: the server cuts off silent connections that have not given
// the password, and however many of them come, a client with the password gets in.
func TestUnauthenticated(t *testing.T) {
	bothWays(t, Config{Password: "secret", Clients: 40, Greet: 2 * time.Second}, func(t *testing.T, addr string) {
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
		c := dial(t, addr)
		expect(t, c, "OK", "AUTH", "secret")
		expect(t, c, "RESET", "RESET")
		if _, err := c.Receive(); err == nil {
			t.Error("a client that has reset the connection must give the password again, and sends nothing")
		}
	})
}

// TestGuessing: each password after a wrong one waits, the tenth wrong one ends the
// connection, and the log has one line a minute.
func TestGuessing(t *testing.T) {
	t.Parallel() // it waits
	for name, guess := range map[string]string{"AUTH": "AUTH wrong\r\n", "HELLO": "HELLO 2 AUTH default wrong\r\n"} {
		t.Run(name, func(t *testing.T) {
			var log await.Output
			const pause = 10 * time.Millisecond
			bothWays(t, Config{Password: "secret", Log: slog.New(slog.NewTextHandler(&log, nil)), pause: pause, Greet: time.Minute}, func(t *testing.T, addr string) {
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
			})
			if n := strings.Count(log.String(), `msg="wrong passwords`); n != 2 { // one from each of two servers
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
		bothWays(t, Config{Password: "secret", pause: pause, Greet: await.Never}, func(t *testing.T, addr string) {
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
	})
	t.Run("another address", func(t *testing.T) {
		bothWays(t, Config{Password: "secret", pause: 2 * await.Never, Greet: 2 * await.Never}, func(t *testing.T, addr string) {
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
		c := s.newClient(t.Context(), 1, fmt.Sprintf("10.0.%d.%d:1", i/256, i%256))
		c.guessed()
		if len(s.guessers) > guessersMost || !c.mustWait() || c.mustWait() {
			t.Fatalf("guess %d: %d addresses are known", i, len(s.guessers))
		}
	}
}

// TestStopWaitsForNoCommand: the server ends although a command is still running.
func TestStopWaitsForNoCommand(t *testing.T) {
	runs, goOn := make(chan struct{}), make(chan struct{})
	table["hang"] = &command{name: "hang", arity: 1, each: perArg, run: onNothing(func(call) { close(runs); <-goOn })}
	defer delete(table, "hang")
	defer close(goOn)
	s := New(Config{})
	l := tcptest.Listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	if _, err := io.WriteString(raw(t, l.Addr().String()), "HANG\r\n"); err != nil {
		t.Fatal(err)
	}
	<-runs
	cancel()
	if err := await.Receive(t, "its end", ended); err != nil {
		t.Error(err)
	}
}
