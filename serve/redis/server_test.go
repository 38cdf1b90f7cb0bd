package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
	"weir/measures/topk"
)

// cutOff reads until the server hangs up and returns what came before.
func cutOff(t *testing.T, conn net.Conn) string {
	t.Helper()
	conn.SetReadDeadline(await.Deadline())
	b, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not cut off within %s", await.Never)
	}
	return string(b)
}

func raw(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestHostile: the server cuts off clients that misbehave, and answers another
// client quickly all the while.
func TestHostile(t *testing.T) {
	_, addr := start(t, Config{Stall: 300 * time.Millisecond, Write: 300 * time.Millisecond, Buffers: 8 << 20})
	good := dial(t, addr)
	do(t, good, "SETRANGE", "big", 1<<20-1, "x") // one short command, so that a pause of the machine hardly falls into it
	stop, slowest := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var worst time.Duration
		for {
			select {
			case <-stop:
				slowest <- worst
				return
			default:
			}
			begin := time.Now()
			if r, err := good.Do("PING"); err != nil || r != "PONG" {
				t.Errorf("the good client got %v, %v", r, err)
			}
			worst = max(worst, time.Since(begin))
			time.Sleep(time.Millisecond)
		}
	}()
	var all sync.WaitGroup
	attack := func(name string, f func(t *testing.T)) {
		all.Go(func() { t.Run(name, f) })
	}
	attack("garbage", func(t *testing.T) {
		conn := raw(t, addr)
		fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n\x00\x01\x02\n")
		if got := cutOff(t, conn); !strings.HasPrefix(got, "-ERR Protocol error: ") {
			t.Errorf("garbage got %q", got)
		}
	})
	attack("half a command", func(t *testing.T) {
		conn := raw(t, addr)
		fmt.Fprintf(conn, "*2\r\n$3\r\nGET\r\n$5\r\nab")
		cutOff(t, conn)
	})
	attack("a byte at a time", func(t *testing.T) {
		conn := raw(t, addr)
		go func() {
			for range 100 {
				if _, err := conn.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
		cutOff(t, conn)
	})
	attack("a length of 1 GB", func(t *testing.T) {
		conn := raw(t, addr)
		fmt.Fprintf(conn, "*2\r\n$3\r\nGET\r\n$1073741824\r\n")
		if got := cutOff(t, conn); got != "-ERR Protocol error: invalid bulk length\r\n" {
			t.Errorf("a length of 1 GB got %q", got)
		}
	})
	attack("never reads", func(t *testing.T) {
		conn := raw(t, addr)
		conn.SetWriteDeadline(await.Deadline())
		for deadline := await.Deadline(); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			if _, err := io.WriteString(conn, strings.Repeat("GET big\r\n", 10)); err != nil {
				return // cut off
			}
		}
		t.Error("a client that reads nothing may go on")
	})
	all.Wait()
	close(stop)
	if d := <-slowest; d > await.Never {
		t.Errorf("the good client waited %s", d)
	}
}

func TestTooManyClients(t *testing.T) {
	_, addr := start(t, Config{Clients: 2})
	a, b := dial(t, addr), dial(t, addr)
	expect(t, a, "PONG", "PING")
	expect(t, b, "PONG", "PING")
	if got := cutOff(t, raw(t, addr)); got != "-ERR max number of clients reached\r\n" {
		t.Errorf("the third got %q", got)
	}
	expect(t, a, "PONG", "PING")
}

func TestAuth(t *testing.T) {
	t.Parallel() // it waits
	_, addr := start(t, Config{Password: "secret", pause: 10 * time.Millisecond})
	c := dial(t, addr)
	expect(t, c, redistest.Error("NOAUTH Authentication required."), "GET", "k")
	expect(t, c, redistest.Error(errPassword), "AUTH", "wrong")
	expect(t, c, redistest.Error(errPassword), "AUTH", "nobody", "secret")
	expect(t, c, redistest.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"), "HELLO", "3")
	expect(t, c, "OK", "AUTH", "default", "secret")
	expect(t, c, nil, "GET", "k")

	// Before AUTH only small requests are accepted; after it, in the same
	// pipeline, large ones.
	conn := raw(t, addr)
	fmt.Fprintf(conn, "*11\r\n")
	if got := cutOff(t, conn); got != "-ERR Protocol error: too many arguments\r\n" {
		t.Errorf("eleven arguments before AUTH: %q", got)
	}
	conn = raw(t, addr)
	long := strings.Repeat("x", 20<<10)
	fmt.Fprintf(conn, "AUTH secret\r\n*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\nQUIT\r\n", len(long), long)
	if got := cutOff(t, conn); got != fmt.Sprintf("+OK\r\n$%d\r\n%s\r\n+OK\r\n", len(long), long) {
		t.Errorf("AUTH in a pipeline: %.100q", got)
	}
}

func TestMemoryLimit(t *testing.T) {
	s, addr := start(t, Config{Memory: 4 << 20, Bulk: 8 << 20})
	c := dial(t, addr)
	expect(t, c, redistest.Error(errMemory), "SETBIT", "far", 8*(5<<20), 1)
	expect(t, c, redistest.Error(errMemory), "BITFIELD", "far", "SET", "u8", 8*(5<<20), 1)
	expect(t, c, redistest.Error(errMemory), "SETRANGE", "far", 5<<20, "x")
	for i := range 100 {
		if r := do(t, c, "SET", i, strings.Repeat("x", 100<<10)); r != "OK" {
			if i < 35 || i > 45 || r != redistest.Error(errMemory) {
				t.Errorf("key %d: %v", i, r)
			}
			break
		}
	}
	expect(t, c, redistest.Error(errMemory), "PFADD", "h", "a")
	expect(t, c, 2, "DEL", 0, 1)
	expect(t, c, 1, "PFADD", "h", "a")
	do(t, c, "GEOADD", "g", 1, 1, "a", 2, 2, "b")
	do(t, c, "ZREM", "g", "a")
	do(t, c, "ZREMRANGEBYSCORE", "g", "-inf", "+inf")
	expect(t, c, "OK", "FLUSHALL")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store.used != 0 {
		t.Errorf("%d bytes are left of nothing", s.store.used)
	}
}

// TestOneAtATime: the commands of transactions of several clients do not mix.
func TestOneAtATime(t *testing.T) {
	_, addr := start(t, Config{})
	var all sync.WaitGroup
	const clients, turns = 8, 100
	for range clients {
		c := dial(t, addr)
		all.Go(func() {
			for range turns {
				do(t, c, "MULTI")
				do(t, c, "STRLEN", "sum")
				do(t, c, "APPEND", "sum", "x")
				do(t, c, "STRLEN", "sum")
				if r := do(t, c, "EXEC").([]any); r[1] != r[0].(int64)+1 || r[2] != r[1] {
					t.Errorf("the lengths were %v", r)
				}
			}
		})
	}
	all.Wait()
	expect(t, dial(t, addr), clients*turns, "STRLEN", "sum")
}

func TestMatch(t *testing.T) {
	for _, x := range []struct {
		pattern, key string
		want         bool
	}{
		{"*", "", true}, {"a*c", "abc", true}, {"a*c", "abcd", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"h[ae]llo", "hallo", true}, {"h[^e]llo", "hello", false}, {"h[a-c]llo", "hbllo", true}, {"h[c-a]llo", "hbllo", true},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {"*a*a*b", "aaaaaaaab", true}, {"[", "[", false}, {"a[b", "ab", true},
		{`[\]]`, "]", true}, {"**", "x", true}, {"", "", true}, {"*", "", true}, {"**", "", false}, {"", "x", false}, {`\`, `\`, true},
		{strings.Repeat("a*", 30) + "b", strings.Repeat("a", 200), false},
	} {
		if got := match(x.pattern, x.key); got != x.want {
			t.Errorf("match(%q, %q) = %v", x.pattern, x.key, got)
		}
	}
}

// TestRESP3 checks replies for which RESP3 has types of its own.
func TestRESP3(t *testing.T) {
	windows := newFakeWindows()
	windows.values["w:clicks:often:now"] = topk.NewAnswer([]topk.Key{{Key: "a", Count: 2}}, 1)
	_, addr := start(t, Config{Windows: windows})
	conn := raw(t, addr)
	r := bufio.NewReader(conn)
	ask := func(command string, lines int) (got string) {
		t.Helper()
		fmt.Fprintf(conn, "%s\r\n", command)
		conn.SetReadDeadline(await.Deadline())
		for range lines {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			got += strings.TrimSuffix(line, "\r\n") + " "
		}
		return strings.TrimSuffix(got, " ")
	}
	if got := ask("HELLO 3", 26); !strings.HasPrefix(got, "%7 $6 server $5 redis ") {
		t.Errorf("HELLO 3: %s", got)
	}
	for _, x := range []struct {
		command, want string
		lines         int
	}{
		{"GET none", "_", 1}, {"ZADD z 1.5 a", ":1", 1}, {"ZSCORE z a", ",1.5", 1},
		{"ZRANGE z 0 -1 WITHSCORES", "*1 *2 $1 a ,1.5", 5}, {"GEOPOS z none", "*1 _", 2},
		{"GEOADD g 15 37 c", ":1", 1}, {"GEOPOS g c", "*1 *2 ,14.99999910593032837 ,37.00000026605963654", 4},
		{"BF.ADD b x", "#t", 1}, {"BF.EXISTS b y", "#f", 1}, {"CONFIG GET databases", "%1 $9 databases $1 1", 5},
		{"TOPK.QUERY w:clicks:often:now a b", "*2 #t #f", 3},
	} {
		if got := ask(x.command, x.lines); got != x.want {
			t.Errorf("%s: %s, want %s", x.command, got, x.want)
		}
	}
}

// TestHTTP: a web page that makes a browser post commands to the server gets
// none of them run.
func TestHTTP(t *testing.T) {
	_, addr := start(t, Config{})
	for name, request := range map[string]string{
		"post":         "POST / HTTP/1.1\r\nHost: 127.0.0.1:6379\r\n\r\nSET stolen 1\r\n",
		"another verb": "PUT / HTTP/1.1\r\nHost: 127.0.0.1:6379\r\n\r\nSET stolen 1\r\n",
		"no blank":     "OPTIONS * HTTP/1.1\r\nHOST:127.0.0.1\r\n\r\nSET stolen 1\r\n",
	} {
		conn := raw(t, addr)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if got := cutOff(t, conn); strings.Contains(got, "OK") {
			t.Errorf("%s: answered with %q", name, got)
		}
	}
	expect(t, dial(t, addr), 0, "EXISTS", "stolen")
}
