package redis

import (
	"context"
	"reflect"
	"testing"

	"weir/internal/await"
	"weir/internal/redistest"
	"weir/internal/tcptest"
)

// start runs a server until the test ends.
func start(t testing.TB, config Config) (s *Server, addr string) {
	t.Helper()
	l := tcptest.Listen(t)
	s = New(config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := await.Receive(t, "the end of Serve", done); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

// dial connects until the test ends.
func dial(t testing.TB, addr string) *redistest.Conn {
	t.Helper()
	c, err := redistest.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func do(t testing.TB, c *redistest.Conn, args ...any) any {
	t.Helper()
	r, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return r
}

// expect checks the reply to a command given as one line of words.
func expect(t testing.TB, c *redistest.Conn, want any, args ...any) {
	t.Helper()
	if n, ok := want.(int); ok {
		want = int64(n)
	}
	if got := do(t, c, args...); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %#v\nwant %#v", args, got, want)
	}
}
