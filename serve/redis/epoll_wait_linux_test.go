//go:build !noepoll

package redis

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPoller: wait returns what is ready, whether it was ready before or
// becomes ready during the sleep, more than once; and without events it returns
// at its time.
func TestPoller(t *testing.T) {
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
		t.Fatal(err)
	}
	write := func() {
		if _, err := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
			t.Error(err)
		}
	}
	wait := func(what string, want int) (took time.Duration) {
		t.Helper()
		began := time.Now()
		events, now, err := p.wait(false)
		if err != nil || len(events) != want || want > 0 && events[0].Fd != int32(fd) || now.Before(began) {
			t.Fatalf("%s: %v at %v, %v", what, events, now, err)
		}
		var count [8]byte
		_, _ = unix.Read(fd, count[:])
		return time.Since(began)
	}
	const long = 50 * time.Millisecond
	for done := 0; done < 3; {
		if err := p.until(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		write()
		wait("ready", 1)
		p.busy = true
		write()
		wait("ready soon after", 1)
		armed := time.Now()
		time.AfterFunc(long, write)
		late := time.Since(armed) > long/4 // the machine was busy: the measured time means nothing
		if took := wait("in a while", 1); took < long/2 && !late {
			t.Errorf("it was ready after %s", took)
		}
		if p.busy && !late {
			t.Error("that is not busy")
		}
		if !late {
			done++
		}
		if err := p.until(time.Now().Add(long)); err != nil {
			t.Fatal(err)
		}
		if took := wait("nothing", 0); took < long/2 {
			t.Errorf("nothing came within %s", took)
		}
	}
}
