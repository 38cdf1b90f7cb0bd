package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/spf13/cobra"

	"weir/config"
	"weir/internal/bounded"
	"weir/internal/spelling"
	"weir/measures/face"
	httpserver "weir/serve/http"
	"weir/window"
)

func topCommand() *cobra.Command {
	var at, tokenFile, job string
	var output outputFlag
	c := &cobra.Command{
		Use:   "top",
		Short: "The numbers of a running process, in the terminal",
		Long: `Show people, events per second, lag, flushes, dead letters, the audit and the largest
groups of a running process, once a second. The numbers are those of its page: both ask
its HTTP API. The process may be on another machine.

Keys: tab shows the next job, m orders the groups by the next measure, q ends.
Where the output is no terminal, and with -o json, it prints all jobs once.`,
		Example:     "  weir top\n  weir top -o json\n  weir top --url https://weir.example.org --token-file token --job clicks",
		Annotations: map[string]string{untilStopped: "true"},
		RunE: func(c *cobra.Command, _ []string) error {
			var token []byte
			if tokenFile != "" {
				var err error
				if token, err = bounded.ReadFile(tokenFile, 64<<10); err != nil {
					return &exit{exitUsage, fmt.Errorf("--token-file %s: %w", tokenFile, err), ""}
				}
			}
			b := &board{api: newAPI(at, strings.TrimSpace(string(token))), only: job, full: true, out: c.OutOrStdout()}
			err := b.take(b.look(c.Context(), job, nil))
			if unreachable := new(url.Error); errors.As(err, &unreachable) && c.Context().Err() == nil {
				return &exit{exitFailed, err, "is weir running there? --url is http:// or https:// and the address that its http.listen has"}
			}
			if err != nil {
				return err
			}
			switch {
			case output.json:
				return b.printJSON()
			case !isTerminal(b.out):
				return b.print()
			}
			return b.run(b.program(c.Context(), os.Stdin))
		},
	}
	c.Flags().StringVar(&at, "url", "http://127.0.0.1:8686", "address of the process")
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with its bearer token")
	c.Flags().StringVar(&job, "job", "", "only this job")
	output.add(c)
	return c
}

// A board shows the numbers of a running process: weir top, and the table of weir up.
type board struct {
	*api
	only      string // the job to show; "": any of them
	full      bool   // the whole screen, and not only as many lines as it takes
	out       io.Writer
	screenLog *screenLog // of the log, on the same terminal; nil: there is none
	kill      func()     // called by the key k; nil: there is no such key

	ctx           context.Context
	width, height int
	interrupted   bool // ctrl-C has ended it

	snapshot
	shown    int            // index of the job to show
	measures map[string]int // which one orders the groups of a job
	events   map[string]*pace
}

// A pace is how many events of a job came lately.
type pace struct {
	reached map[int32]int64 // by partition, the greatest offset in any answer
	events  float64
	samples []sampled
}

// A sampled is how many events there were at a time.
type sampled struct {
	at     time.Time
	events float64
}

// A single second has no events now and then, and the next one the events of both.
const boardSamples = 6

// take takes a look in, and returns its error.
func (b *board) take(s snapshot) error {
	if s.err != nil {
		b.err = s.err
		return s.err
	}
	b.snapshot = s
	b.shown = min(b.shown, max(0, len(b.jobs)-1))
	if b.events == nil {
		b.events = map[string]*pace{}
	}
	for i := range b.jobs {
		j := &b.jobs[i]
		if b.events[j.Job] == nil {
			b.events[j.Job] = &pace{reached: map[int32]int64{}}
		}
		b.events[j.Job].add(s.Now, &j.health)
	}
	return nil
}

// add counts the records that no answer had reached before: what a process reads again after a kill is not new.
func (p *pace) add(now time.Time, h *httpserver.JobHealth) {
	records := 0.0
	for _, at := range h.Partitions {
		before, known := p.reached[at.Partition]
		if known {
			records += float64(max(0, at.Next-before))
		}
		p.reached[at.Partition] = max(before, at.Next)
	}
	if h.Events != nil {
		records *= total(h.Events) / max(1, total(h.Records))
	}
	p.events += records
	p.samples = append(p.samples, sampled{now, p.events})
	p.samples = p.samples[max(0, len(p.samples)-boardSamples):]
}

// rate returns the events per second, in words.
func (p *pace) rate() string {
	first, last := p.samples[0], p.samples[len(p.samples)-1]
	if passed := last.at.Sub(first.at).Seconds(); passed > 0 {
		return count((last.events - first.events) / passed)
	}
	return "…"
}

func total(outcomes map[string]uint64) (sum float64) {
	for _, n := range outcomes {
		sum += float64(n)
	}
	return sum
}

// print prints all jobs, with a few groups each, where there is no terminal.
func (b *board) print() error {
	const width, groups = 100, 5
	_, err := lipgloss.Fprintln(b.out, b.draw(b.jobs, width, groups))
	return err
}

// printJSON prints all jobs once, as the HTTP API has them.
func (b *board) printJSON() error {
	type job struct {
		Job    string                 `json:"job"`
		Health httpserver.JobHealth   `json:"health"`
		People httpserver.PeopleReply `json:"people"`
		Top    httpserver.TopReply    `json:"top"`
		Failed string                 `json:"failed,omitempty"` // why people or groups are not known
	}
	all := []job{}
	for _, j := range b.jobs {
		shown := job{j.Job, j.health, j.people, j.top, ""}
		if j.failed != nil {
			shown.Failed = j.failed.Error()
		}
		all = append(all, shown)
	}
	return printJSON(b.out, all)
}

// line says in one line how a job is.
func (b *board) line(j *boardJob) string {
	parts := []string{j.health.State}
	if len(j.people.Now) > 0 {
		n := j.people.Now[0]
		parts = append(parts, numberText(n.Value, n.Withheld)+" people "+n.Last)
	}
	h := b.health(j)
	parts = append(parts, h[0]+" events/s", "lag "+h[1], "last flush "+h[2], "dead letters "+h[3], "audit "+h[4])
	return printable(j.Job + ": " + strings.Join(append(parts, j.health.Trouble...), ", "))
}

// program returns the program that shows the board until ctx ends, or until a key ends it. in may be nil: no keys.
func (b *board) program(ctx context.Context, in io.Reader, more ...tea.ProgramOption) *tea.Program {
	b.ctx, b.width, b.height = ctx, 80, 24
	return tea.NewProgram(b, append(more, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(b.out), tea.WithoutSignalHandler())...)
}

func (b *board) run(p *tea.Program) error {
	if b.screenLog != nil {
		b.screenLog.screen.Store(p)
		defer b.screenLog.screen.Store(nil)
	}
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && b.ctx.Err() != nil {
		return nil
	}
	return err
}

type tickMsg time.Time

func tick(t time.Time) tea.Msg { return tickMsg(t) }

func (b *board) Init() tea.Cmd { return b.ask() }

// ask looks once.
func (b *board) ask() tea.Cmd {
	chosen := maps.Clone(b.measures)
	return func() tea.Msg { return b.look(b.ctx, b.only, chosen) }
}

func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
	case tickMsg:
		return b, b.ask()
	case snapshot:
		_ = b.take(msg) // it is shown
		return b, tea.Tick(time.Second, tick)
	case tea.KeyPressMsg:
		switch key := msg.String(); {
		case key == "ctrl+c", key == "q" && b.full:
			b.interrupted = key != "q"
			return b, tea.Quit
		case key == "tab":
			b.shown = (b.shown + 1) % max(1, len(b.jobs))
		case key == "m" && len(b.jobs) > 0:
			b.order(&b.jobs[b.shown])
		case key == "k" && b.kill != nil:
			b.kill()
		}
	}
	return b, nil
}

// order orders the groups of a job by its next measure that has a number, from the next look on.
func (b *board) order(j *boardJob) {
	if b.measures == nil {
		b.measures = map[string]int{}
	}
	for range j.Measures {
		b.measures[j.Job] = (b.measures[j.Job] + 1) % len(j.Measures)
		switch j.Measures[b.measures[j.Job]].Shows {
		case face.Events, face.People, face.Quantity:
			return
		}
	}
}

func (b *board) View() tea.View {
	keys := "tab next job   m measure   q ends"
	if !b.full {
		keys = "tab next job   m measure   ctrl-C drains"
	}
	if b.kill != nil {
		keys += "   k kills the process"
	}
	last := min(b.shown+1, len(b.jobs))
	board := lipgloss.NewStyle().MaxHeight(max(1, b.height-1)).Render(b.draw(b.jobs[min(b.shown, last):last], b.width, boardGroups))
	v := tea.NewView(lipgloss.NewStyle().MaxWidth(b.width).MaxHeight(b.height).Render(board + "\n" + faint.Render(keys)))
	v.AltScreen = b.full
	return v
}

var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	red   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	green = lipgloss.NewStyle().Foreground(lipgloss.Green)
)

// draw returns the text of some jobs, with at most so many groups each.
func (b *board) draw(jobs []boardJob, width, groups int) string {
	parts := []string{bold.Render("weir") + "  " + b.url + "/  " + b.Now.UTC().Format("15:04:05") + " UTC"}
	trouble := func(text string) { parts = append(parts, red.Render(printable(text))) }
	if b.err != nil {
		trouble("no answer: " + b.err.Error())
	}
	for i := range jobs {
		j := &jobs[i]
		state := green
		if j.health.State != "running" || b.err != nil {
			state = red
		}
		parts = append(parts, bold.Render(printable(j.Job))+"  "+state.Render(j.health.State))
		for _, t := range j.health.Trouble {
			trouble(t)
		}
		if j.failed != nil {
			trouble(j.failed.Error())
		}
		if len(j.people.Now) > 0 {
			heading, values := []string{"people"}, []string{""}
			for _, n := range j.people.Now {
				value := numberText(n.Value, n.Withheld)
				if n.Error > 0 {
					value += " ±" + count(math.Ceil(2*n.Error)) // as on the page: 95 % of such estimates
				}
				heading, values = append(heading, n.Last), append(values, value)
			}
			parts = append(parts, grid(width, heading, values))
		}
		parts = append(parts, grid(width, []string{"events/s", "lag", "last flush", "dead letters", "audit"}, b.health(j)))
		if len(j.top.Groups) > 0 {
			var rows [][]string
			for _, g := range j.top.Groups[:min(groups, len(j.top.Groups))] {
				for i, text := range g.Group {
					if g.Group[i] = printable(text); text == "" {
						g.Group[i] = `""`
					}
				}
				rows = append(rows, []string{strings.Join(g.Group, ", "), numberText(g.Value, g.Withheld)})
			}
			parts = append(parts, grid(width, []string{strings.Join(j.top.Columns, ", "), j.Measures[j.measure].Name + ", " + config.Duration(j.last()).String()}, rows...))
		}
	}
	lines := strings.Split(strings.Join(parts, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(lipgloss.NewStyle().MaxWidth(width).Render(line), " ")
	}
	return strings.Join(lines, "\n")
}

// grid draws rows in columns below a heading, the first column to the left.
func grid(width int, heading []string, rows ...[]string) string {
	return table.New().Headers(heading...).Rows(rows...).Width(width).Wrap(false).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderHeader(false).BorderColumn(false).
		StyleFunc(func(row, column int) lipgloss.Style {
			style := lipgloss.NewStyle().PaddingRight(1).Faint(row == table.HeaderRow)
			if column > 0 {
				style = style.AlignHorizontal(lipgloss.Right)
			}
			return style
		}).String()
}

// health returns the numbers of a job's health.
func (b *board) health(j *boardJob) []string {
	lag, flush, audited := "-", "none yet", "none yet"
	if len(j.health.Partitions) > 0 { // else it is not known
		lag = count(float64(j.health.Lag))
	}
	if j.health.LastFlush != nil {
		flush = max(0, b.Now.Sub(*j.health.LastFlush)).Round(100*time.Millisecond).String() + " ago"
	}
	if b.Audit != nil {
		audited = spelling.Count(b.Audit.Mismatches, "mismatch") + " at " + b.Audit.At.UTC().Format("2006-01-02 15:04")
	}
	outcomes := j.health.Records
	if j.health.Events != nil {
		outcomes = j.health.Events
	}
	dead := uint64(0) // since the process started: there may be older ones
	for _, o := range []window.Outcome{window.Late, window.Future, window.Malformed} {
		dead += outcomes[o.String()]
	}
	return []string{b.events[j.Job].rate(), lag, flush, "+" + count(float64(dead)), audited}
}

// numberText returns a value: a number, or in words why there is none.
func numberText(value any, withheld bool) string {
	switch v := value.(type) {
	case float64:
		return count(v)
	case string:
		return printable(v)
	}
	if withheld {
		return "withheld"
	}
	return "-"
}

// count writes a number: exact if it is whole, and with three digits else.
func count(f float64) string {
	if size := math.Abs(f); size >= 1e16 || size < 100 && f != math.Round(f) {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	text := fmt.Sprintf("%.0f", f)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
