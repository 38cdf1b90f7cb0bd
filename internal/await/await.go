// Package await is how tests wait: for a condition, not for a time.
//
//	await.Until(t, func() error {
//		if n := rows(); n < 10 {
//			return fmt.Errorf("%d rows, want 10", n)
//		}
//		return nil
//	})
//
// A test that fails because the machine is slow says nothing about the code,
// so no limit here is a measure of speed. Floors of speed are held by
// `make bench` and `make chaos`.
package await

import (
	"context"
	"testing"
	"time"
)

// Never is how long a test waits for what has to come. What takes
// milliseconds on an idle machine takes seconds on one with ten times more to
// do than it has processors for, and a broker that starts there in a second
// takes two minutes; ten minutes without it mean that it does not come.
const Never = 10 * time.Minute

// Until polls until holds returns nil. The test ends when that never happens;
// the error says what was missing at last.
func Until(t testing.TB, holds func() error) {
	t.Helper()
	pause, deadline := time.Millisecond, time.Now().Add(Never)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", Never, err)
		}
		time.Sleep(pause)
		pause = min(2*pause, 100*time.Millisecond) // questions cost the machine that is to do what is waited for
	}
}

// Receive returns the next value of a channel, or the zero value of one that
// is closed. The test ends when none ever comes; what names it.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Never):
		t.Fatalf("not within %s: %s", Never, what)
		panic("unreachable")
	}
}

// Context ends with the test, or when what it is for never comes.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Never)
	t.Cleanup(cancel)
	return ctx
}

// Deadline is for the reads and writes of a connection.
func Deadline() time.Time { return time.Now().Add(Never) }
