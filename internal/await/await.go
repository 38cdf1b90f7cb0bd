// Package await lets tests wait for a condition instead of a time.
//
//	await.Until(t, func() error {
//		if n := rows(); n < 10 {
//			return fmt.Errorf("%d rows, want 10", n)
//		}
//		return nil
//	})
//
// A test that fails because the machine is slow tells nothing about the code,
// so no limit here measures speed. `make bench` and `make chaos` hold the
// floors of speed.
package await

import (
	"context"
	"testing"
	"time"
)

// Never is how long a test waits before it concludes that an awaited event
// never comes. On a machine with ten times more work than processors,
// milliseconds become seconds, and a broker that otherwise starts in a second
// takes two minutes; ten minutes are more than that.
const Never = 10 * time.Minute

// Until calls holds again and again until it returns nil. If that takes longer
// than Never, the test fails with the last error.
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
		pause = min(2*pause, 250*time.Millisecond) // polling takes time from the work that the test waits for
	}
}

// Receive returns the next value of a channel, or the zero value if it is
// closed. If none comes for as long as Never, the test fails; what names the
// value in the message.
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

// Context returns a context that ends with the test, or after Never.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Never)
	t.Cleanup(cancel)
	return ctx
}

// Deadline returns a deadline for the reads and writes of a connection: Never from
// now.
func Deadline() time.Time { return time.Now().Add(Never) }
