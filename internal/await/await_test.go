package await

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a testing.TB that keeps the message of its failure.
type failing struct {
	testing.TB
	said string
}

var errFailed = errors.New("failed")

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(errFailed)
}

// fails runs a function that must fail, and returns its message.
func fails(t *testing.T, what func(testing.TB)) (said string) {
	t.Helper()
	f := &failing{TB: t}
	defer func() {
		if r, _ := recover().(error); !errors.Is(r, errFailed) {
			t.Fatalf("it did not fail: %v", r)
		}
		said = f.said
	}()
	what(f)
	return ""
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		Until(t, func() error { // holds at the latest moment
			if time.Since(begun) < Never-time.Second {
				return errors.New("not yet")
			}
			return nil
		})
		tries := 0
		said := fails(t, func(t testing.TB) {
			Until(t, func() error { tries++; return errors.New("nothing came") })
		})
		if !strings.Contains(said, "nothing came") || !strings.Contains(said, Never.String()) {
			t.Errorf("said %q", said)
		}
		if tries < 100 || tries > 10_000 {
			t.Errorf("looked %d times", tries)
		}
	})
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		go func() { time.Sleep(Never - time.Second); c <- 7 }()
		if got := Receive(t, "a seven", c); got != 7 {
			t.Errorf("got %d", got)
		}
		if said := fails(t, func(t testing.TB) { Receive(t, "an eight", c) }); !strings.Contains(said, "an eight") {
			t.Errorf("said %q", said)
		}
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		<-Context(t).Done()
		if waited := time.Since(begun); waited != Never || !Deadline().Equal(time.Now().Add(Never)) {
			t.Errorf("ended after %s", waited)
		}
	})
}

// An Output can be read while it is written, and keeps everything.
func TestOutput(t *testing.T) {
	var out Output
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 1000 {
			fmt.Fprint(&out, "ab")
		}
	}()
	Until(t, func() error {
		got := out.String()
		if !strings.HasPrefix(strings.Repeat("ab", 1000), got) {
			t.Fatalf("it has %q", got)
		}
		if len(got) < 2000 {
			return fmt.Errorf("it has %d bytes", len(got))
		}
		return nil
	})
	<-written
}
