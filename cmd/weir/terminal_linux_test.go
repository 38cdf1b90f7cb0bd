package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"weir/internal/await"
)

// A testTerminal is a pseudo-terminal with an emulator that shows what was written to it.
type testTerminal struct {
	t        *testing.T
	keyboard *os.File
	tty      *os.File // of the program
	screen   vt10x.Terminal
}

func newTerminal(t *testing.T, width, height int) *testTerminal {
	t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	e := &testTerminal{t: t, keyboard: keyboard, tty: tty, screen: vt10x.New(vt10x.WithSize(width, height), vt10x.WithWriter(keyboard))}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		buf := make([]byte, 4096)
		for {
			n, err := keyboard.Read(buf)
			if err != nil {
				return
			}
			_, _ = e.screen.Write(buf[:n]) // it does not fail
		}
	}()
	t.Cleanup(func() { tty.Close(); <-shown; keyboard.Close() })
	return e
}

// text is what the screen shows, without blanks at the ends of lines.
func (e *testTerminal) text() string {
	var lines []string
	for line := range strings.SplitSeq(e.screen.String(), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// shows waits until the screen has each of the texts, once.
func (e *testTerminal) shows(texts ...string) {
	e.t.Helper()
	await.Until(e.t, func() error {
		for _, text := range texts {
			if n := strings.Count(e.text(), text); n != 1 {
				return fmt.Errorf("%q is %d times in\n%s", text, n, e.text())
			}
		}
		return nil
	})
}

func (e *testTerminal) press(keys string) {
	e.t.Helper()
	if _, err := e.keyboard.WriteString(keys); err != nil {
		e.t.Fatal(err)
	}
}

// TestWatcher: on a terminal the numbers change in place, and keys work.
func TestWatcher(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	for name, full := range map[string]bool{"full": true, "in place": false} {
		t.Run(name, func(t *testing.T) {
			e := newTerminal(t, 80, 24)
			w := &watcher{board: boardOf(t), full: full, out: e.tty}
			killed, notices := make(chan bool, 1), make(chan string)
			if !full {
				w.kill, w.notices = func() { killed <- true }, notices
			}
			var log bytes.Buffer
			w.aside = &aside{to: &log}
			ended := make(chan error, 1)
			go func() { ended <- w.run(t.Context(), e.tty) }()
			e.shows("[clicks]", "hits, 5m", "/p/1, DE", "audit 0 mismatches")
			await.Until(t, func() error { // a later second: in place, because it is there once
				if text := e.text(); strings.Contains(text, "events/s 1,740") || strings.Count(text, "events/s") != 1 {
					return fmt.Errorf("not in place:\n%s", text)
				}
				return nil
			})
			e.press("\t")
			e.shows("[locations]", "the log was cut off")
			e.press("\x1b[Z") // shift and tab
			e.press("m")
			e.shows("[clicks]", "users, 5m")
			const line = "level=WARN msg=\"trouble ahead\" after=\x1b[2J\n"
			if _, err := w.aside.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
			e.shows(`msg="trouble ahead" after=\x1b[2J`, "[clicks]")
			if full {
				e.press("q")
			} else {
				e.press("k")
				await.Receive(t, "the key to kill the worker", killed)
				notices <- "it is dead"
				e.shows("it is dead")
				notices <- "0 lost, 0 doubled"
				e.shows("0 lost, 0 doubled")
				e.press("\x03")
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if log.String() != line {
				t.Errorf("the log has %q after the screen, want %q", &log, line)
			}
			if w.interrupted == full {
				t.Errorf("interrupted: %t", w.interrupted)
			}
		})
	}
}
