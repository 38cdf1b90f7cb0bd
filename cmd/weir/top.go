package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"weir/internal/bounded"
)

func topCommand() *cobra.Command {
	var at, tokenFile, job string
	c := &cobra.Command{
		Use:   "top",
		Short: "The numbers of a running process, in the terminal",
		Long: `Show people, events per second, lag, flushes, dead letters, the audit and the largest
groups of a running process, once a second. The numbers are those of its page: both ask
its HTTP API. The process may be on another machine.

Keys: tab shows the next job, m orders the groups by the next measure, q ends.
Where the output is no terminal it prints all jobs once.`,
		Example:     "  weir top\n  weir top --url https://weir.example.org --token-file token --job clicks",
		Annotations: map[string]string{untilStopped: "true"},
		RunE: func(c *cobra.Command, _ []string) error {
			u, err := url.Parse(at)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
				return &exit{exitUsage, fmt.Errorf("--url %q: want http://HOST:PORT or https://HOST:PORT", at), ""}
			}
			token := ""
			if tokenFile != "" {
				text, err := bounded.ReadFile(tokenFile, 64<<10)
				if err != nil {
					return &exit{exitUsage, fmt.Errorf("--token-file %s: %w", tokenFile, err), ""}
				}
				token = strings.TrimSpace(string(text))
			}
			b := newBoard(at, token, job)
			a := b.look(c.Context(), nil)
			b.take(a)
			if a.err != nil {
				if c.Context().Err() != nil {
					return c.Context().Err()
				}
				if unreachable := new(url.Error); errors.As(a.err, &unreachable) {
					return &exit{exitFailed, a.err, "is weir running there? --url is the address that its http.listen has"}
				}
				return a.err
			}
			w := &watcher{board: b, full: true, out: c.OutOrStdout()}
			if !isTerminal(w.out) {
				_, err := fmt.Fprintln(w.out, screen{width: plainWidth}.plain(b, time.Now()))
				return err
			}
			return w.run(c.Context(), os.Stdin)
		},
	}
	c.Flags().StringVar(&at, "url", "http://127.0.0.1:8686", "address of the process")
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with its bearer token")
	c.Flags().StringVar(&job, "job", "", "only this job")
	return c
}

// plainWidth is how wide lines are where there is no terminal.
const plainWidth = 100

// A watcher shows a board on a terminal, in place, and reads keys.
type watcher struct {
	board *board
	full  bool      // the whole screen, and not only as many lines as it takes
	out   io.Writer // a terminal
	aside *aside    // of the log, on the same terminal; nil: there is none

	// kill, if not nil, is called by the key k. What came of it is in notices.
	kill    func()
	notices <-chan string
	notice  string

	ctx         context.Context
	screen      screen
	interrupted bool
	asking      bool
}

// The messages of a watcher.
type (
	tickMsg   time.Time
	noticeMsg string
)

// run shows the board until ctx ends, or until a key ends it: then interrupted says whether
// that was ctrl-C. in may be nil: no keys.
func (w *watcher) run(ctx context.Context, in io.Reader) error {
	w.ctx = ctx
	w.screen = screen{width: 80, height: 24, colour: colourful(w.out)}
	p := tea.NewProgram(w, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(w.out), tea.WithoutSignalHandler())
	if w.aside != nil {
		w.aside.on()
		defer w.aside.off()
	}
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// colourful reports whether a terminal has colours, and NO_COLOR is not set.
func colourful(out io.Writer) bool {
	return colorprofile.Detect(out, os.Environ()) > colorprofile.ASCII
}

func (w *watcher) Init() tea.Cmd { return tea.Batch(w.look(), tick(), w.listen()) }

// listen waits for a notice.
func (w *watcher) listen() tea.Cmd {
	if w.notices == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case text := <-w.notices:
			return noticeMsg(text)
		case <-w.ctx.Done():
			return nil
		}
	}
}

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) })
}

func (w *watcher) look() tea.Cmd {
	if w.asking {
		return nil
	}
	w.asking = true
	measures := w.board.measures()
	return func() tea.Msg { return w.board.look(w.ctx, measures) }
}

func (w *watcher) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		w.screen.width, w.screen.height = msg.Width, msg.Height
	case tickMsg:
		return w, tea.Batch(w.look(), tick())
	case answer:
		w.asking = false
		w.board.take(msg)
	case noticeMsg:
		w.notice = string(msg)
		return w, w.listen()
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			w.interrupted = true
			return w, tea.Quit
		case "q":
			if w.full {
				return w, tea.Quit
			}
		case "tab", "right":
			w.board.turn(1)
		case "shift+tab", "left":
			w.board.turn(-1)
		case "m":
			w.board.order()
			return w, w.look()
		case "k":
			if w.kill != nil {
				w.kill()
			}
		}
	}
	return w, nil
}

func (w *watcher) View() tea.View {
	var below []string
	if w.aside != nil {
		below = w.aside.last()
	}
	if w.notice != "" {
		below = append(below, w.screen.wrapText(w.notice)...)
	}
	keys := "tab next job   m measure   q ends"
	if !w.full {
		keys = "tab next job   m measure"
		if w.kill != nil {
			keys += "   k kills the worker"
		}
		keys += "   ctrl-C drains"
	}
	below = append(below, w.screen.style(faint, keys))
	v := tea.NewView(w.screen.job(w.board, time.Now(), below...))
	v.AltScreen = w.full
	return v
}
