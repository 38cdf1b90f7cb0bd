package main

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	httpserver "weir/serve/http"
)

// plainEvery is the time between two lines where the output is no terminal: a log file
// needs none every second.
const plainEvery = time.Minute

// watch shows the numbers of the jobs: in place on a terminal, where the key k kills it,
// and as a line of each job elsewhere.
func (u *up) watch(ctx context.Context, jobs *supervisor) error {
	b := &board{api: newAPI(u.address, u.cfg.HTTP.Token.Reveal()), out: u.out, screenLog: u.screenLog, kill: jobs.kill}
	if isTerminal(u.out) {
		p := b.program(ctx, keyboard())
		shown, end := context.WithCancel(ctx)
		defer end()
		go func() {
			for {
				select {
				case text := <-u.notices:
					p.Println(text)
				case <-shown.Done():
					return
				}
			}
		}()
		err := b.run(p)
		if err == nil && b.interrupted {
			return syscall.Kill(os.Getpid(), syscall.SIGINT) // as where the terminal makes a signal of ctrl-C
		}
		return err
	}
	for wait := 2 * time.Second; ; {
		select {
		case <-ctx.Done():
			return nil
		case text := <-u.notices:
			u.step("recovery", "%s", text)
		case <-time.After(wait):
			wait = plainEvery
			err := b.take(b.look(ctx, "", nil))
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				u.step("counting", "no answer: %v", err)
				continue
			}
			for i := range b.jobs {
				u.step("counting", "%s", b.line(&b.jobs[i]))
			}
		}
	}
}

// died says, in the terminal and on the page, what comes of the death of a process.
func (u *up) died(ctx context.Context, w *supervisor, d death) {
	say := func(over bool, text string) {
		u.say(text)
		w.tell(httpserver.Recovery{At: d.at.UTC(), Over: over, Text: text})
	}
	r, err := u.recover(ctx, d, func(state string) { say(false, state) })
	switch {
	case ctx.Err() != nil:
	case err != nil:
		say(true, "the recovery could not be followed: "+printable(err.Error()))
	default:
		say(true, r.String())
	}
}

// say shows a notice in the terminal, unless too many wait already.
func (u *up) say(text string) {
	select {
	case u.notices <- text:
	default:
	}
}

// keyboard returns standard input if it is a terminal whose keys are for this process, and
// nil otherwise: the kernel stops a background process that reads them.
func keyboard() io.Reader {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return nil
	}
	return os.Stdin
}
