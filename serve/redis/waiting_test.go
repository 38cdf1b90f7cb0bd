package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
	"weir/serve/key"
	"weir/serve/live"
)

// The tests of this file have clients that make the server wait, or that the
// server makes wait. Waiting must not change the replies, nor delay other
// clients.

// TestIdle: the server cuts off a client that is silent for too long, and not
// one that sends something now and then.
func TestIdle(t *testing.T) {
	_, addr := start(t, Config{Idle: 300 * time.Millisecond})
	begin := time.Now()
	if got := cutOff(t, raw(t, addr)); got != "" || time.Since(begin) < 200*time.Millisecond {
		t.Errorf("a silent client got %q after %s", got, time.Since(begin))
	}
	unhurried(t, 300*time.Millisecond, func(took func() bool) {
		c := dial(t, addr)
		for range 10 {
			if got, err := c.Do("PING"); took() {
				return
			} else if err != nil || got != "PONG" {
				t.Fatalf("a client that speaks every 60 ms got %v, %v", got, err)
			}
			time.Sleep(60 * time.Millisecond)
		}
	})
}

// unhurried runs a test that a pause of the machine as long as limit would
// fail. The test calls took to ask whether there was such a pause since the
// last call; if there was, unhurried runs the test again.
func unhurried(t *testing.T, limit time.Duration, run func(took func() bool)) {
	t.Helper()
	for deadline := await.Deadline(); time.Now().Before(deadline); {
		last, paused := time.Now(), false
		run(func() bool {
			now := time.Now()
			paused = paused || now.Sub(last) > limit/2
			last = now
			return paused
		})
		if !paused {
			return
		}
	}
	t.Error("the machine pauses all the time")
}

// TestHalves: a client that has sent half a command each time the server
// checks, but a different one each time, is not cut off.
func TestHalves(t *testing.T) {
	_, addr := start(t, Config{Stall: 400 * time.Millisecond})
	unhurried(t, 400*time.Millisecond, func(took func() bool) {
		conn := raw(t, addr)
		conn.SetDeadline(await.Deadline())
		io.WriteString(conn, "PI")
		for i := range 12 {
			time.Sleep(60 * time.Millisecond)
			_, err := io.WriteString(conn, "NG\r\nPI")
			b := make([]byte, 7)
			if err == nil {
				_, err = io.ReadFull(conn, b)
			}
			if took() {
				return
			}
			if err != nil || string(b) != "+PONG\r\n" {
				t.Fatalf("after %d commands: %q, %v", i, b, err)
			}
		}
	})
}

// TestHalfClosed: a client that closes its sending side still gets every reply.
func TestHalfClosed(t *testing.T) {
	_, addr := start(t, Config{})
	conn := raw(t, addr)
	var in, want bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&in, "*2\r\n$4\r\nECHO\r\n$5\r\n%05d\r\n", i)
		fmt.Fprintf(&want, "$5\r\n%05d\r\n", i)
	}
	in.WriteString("*1\r\n$4\r\nPI") // and half a command, which gets no reply
	go func() {
		conn.Write(in.Bytes())
		conn.(*net.TCPConn).CloseWrite()
	}()
	if got := cutOff(t, conn); got != want.String() {
		t.Errorf("%d bytes of answers, want %d", len(got), want.Len())
	}
}

// slowWindows makes lookups wait until the test releases them.
type slowWindows struct {
	*fakeWindows
	asked, goOn chan struct{}
}

func (s *slowWindows) Lookup(ctx context.Context, k key.Key) (live.Answer, error) {
	s.asked <- struct{}{}
	select {
	case <-s.goOn:
	case <-ctx.Done():
		return live.Answer{}, ctx.Err()
	}
	return s.fakeWindows.Lookup(ctx, k)
}

// lateWindows has no answer before the time for it is over.
type lateWindows struct{ *fakeWindows }

func (lateWindows) Lookup(ctx context.Context, _ key.Key) (live.Answer, error) {
	if _, ok := ctx.Deadline(); !ok {
		return live.Answer{}, errors.New("there is no end to the time")
	}
	<-ctx.Done()
	return live.Answer{}, ctx.Err()
}

func (w lateWindows) Keys(ctx context.Context) ([]key.Key, error) {
	_, err := w.Lookup(ctx, key.Key{})
	return nil, err
}

// TestAnswerInTime: window keys that take too long to look up are given up, all of a command
// or of a transaction together.
func TestAnswerInTime(t *testing.T) {
	_, addr := start(t, Config{Windows: lateWindows{newFakeWindows()}, Ask: 50 * time.Millisecond})
	c := dial(t, addr)
	const late = "ERR no answer about w:clicks:hits:now within 50ms: ClickHouse is slow, or the command asks for too much: ask for fewer keys or a shorter range"
	expect(t, c, redistest.Error(late), "GET", "w:clicks:hits:now")
	expect(t, c, redistest.Error(late), "EXISTS", "w:clicks:hits:now", "w:clicks:hits:-1")
	expect(t, c, redistest.Error(strings.Replace(late, "w:clicks:hits:now", "the list of window keys", 1)), "KEYS", "w:*")
	expect(t, c, "OK", "MULTI")
	expect(t, c, "QUEUED", "SET", "k", "1")
	expect(t, c, "QUEUED", "GET", "w:clicks:hits:now")
	expect(t, c, redistest.Error("EXECABORT Transaction discarded because of: "+late), "EXEC")
	expect(t, c, nil, "GET", "k")
}

// gets checks that the next bytes of a connection are these.
func gets(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	conn.SetReadDeadline(await.Deadline())
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v", got, err)
	}
}

// TestSlowWindows: a client whose window key is being looked up gets its
// replies in order, and no other client waits.
func TestSlowWindows(t *testing.T) {
	t.Parallel() // it waits
	w := &slowWindows{newFakeWindows(), make(chan struct{}), make(chan struct{})}
	_, addr := start(t, Config{Windows: w, Stall: 2 * time.Second, Idle: await.Never})
	const hits = "GET w:clicks:hits:now:/p/1\r\n"
	conn := raw(t, addr)
	other := dial(t, addr)
	for _, end := range []string{"", "PI"} { // also with half a command after it
		fmt.Fprint(conn, "SET mine 1\r\n", hits, "GET mine\r\n", hits, "MULTI\r\n", hits, "EXEC\r\nPING\r\n", end)
		for i := range 3 {
			<-w.asked
			expect(t, other, "PONG", "PING")
			if end == "" && i == 0 {
				time.Sleep(2200 * time.Millisecond) // longer than Stall, which does not apply to a lookup
			}
			w.goOn <- struct{}{}
		}
		want := "+OK\r\n$5\r\n12345\r\n$1\r\n1\r\n$5\r\n12345\r\n+OK\r\n+QUEUED\r\n*1\r\n$5\r\n12345\r\n+PONG\r\n"
		gets(t, conn, want)
	}
	// The server ends although a lookup is in progress.
	other.Send("GET", "w:clicks:hits:now:/p/1")
	other.Flush()
	<-w.asked
}
