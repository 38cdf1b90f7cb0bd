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
	"charm.land/lipgloss/v2"
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
				return b.print(w.out)
			}
			return w.run(w.program(c.Context(), os.Stdin))
		},
	}
	c.Flags().StringVar(&at, "url", "http://127.0.0.1:8686", "address of the process")
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with its bearer token")
	c.Flags().StringVar(&job, "job", "", "only this job")
	return c
}

// print prints all jobs, with a few groups each, where there is no terminal.
func (b *board) print(out io.Writer) error {
	const width, groups = 100, 5
	_, err := lipgloss.Fprintln(out, b.draw(b.jobs, width, groups))
	return err
}

// A watcher shows a board on a terminal, in place, and reads keys.
type watcher struct {
	board *board
	full  bool      // the whole screen, and not only as many lines as it takes
	out   io.Writer // a terminal
	aside *aside    // of the log, on the same terminal; nil: there is none
	kill  func()    // called by the key k; nil: there is no such key

	ctx           context.Context
	width, height int
	interrupted   bool
	asking        bool
}

type tickMsg time.Time

// program returns the program that shows the board until ctx ends, or until a key ends it: then
// interrupted says whether that was ctrl-C. in may be nil: no keys.
func (w *watcher) program(ctx context.Context, in io.Reader, more ...tea.ProgramOption) *tea.Program {
	w.ctx, w.width, w.height = ctx, 80, 24
	return tea.NewProgram(w, append(more, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(w.out), tea.WithoutSignalHandler())...)
}

// run runs the program.
func (w *watcher) run(p *tea.Program) error {
	if w.aside != nil {
		w.aside.show(p)
		defer w.aside.show(nil)
	}
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && w.ctx.Err() != nil {
		return nil
	}
	return err
}

func (w *watcher) Init() tea.Cmd { return tea.Batch(w.look(), tick()) }

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
		w.width, w.height = msg.Width, msg.Height
	case tickMsg:
		return w, tea.Batch(w.look(), tick())
	case answer:
		w.asking = false
		w.board.take(msg)
	case tea.KeyPressMsg:
		switch key := msg.String(); {
		case key == "ctrl+c", key == "q" && w.full:
			w.interrupted = key != "q"
			return w, tea.Quit
		case key == "tab", key == "right":
			w.board.turn(1)
		case key == "shift+tab", key == "left":
			w.board.turn(-1)
		case key == "m":
			w.board.order()
			return w, w.look()
		case key == "k" && w.kill != nil:
			w.kill()
		}
	}
	return w, nil
}

func (w *watcher) View() tea.View {
	keys := "tab next job   m measure   q ends"
	if !w.full {
		keys = "tab next job   m measure   ctrl-C drains"
		if w.kill != nil {
			keys = "tab next job   m measure   k kills the worker   ctrl-C drains"
		}
	}
	b := w.board
	lines := strings.Split(b.draw(b.jobs[min(b.shown, len(b.jobs)):min(b.shown+1, len(b.jobs))], w.width, boardGroups), "\n")
	lines = append(lines[:min(len(lines), max(1, w.height-1))], lipgloss.NewStyle().MaxWidth(w.width).Render(faint.Render(keys)))
	v := tea.NewView(strings.Join(lines[:min(len(lines), w.height)], "\n"))
	v.AltScreen = w.full
	return v
}
