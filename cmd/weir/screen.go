package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"weir/internal/config"
	"weir/internal/spelling"
	"weir/window"
)

var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	red   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	green = lipgloss.NewStyle().Foreground(lipgloss.Green)
)

// draw returns the text of some jobs of the board, with at most so many groups each.
func (b *board) draw(jobs []boardJob, width, groups int) string {
	lines := []string{bold.Render("weir") + "  " + b.url + "/"}
	if !b.at.IsZero() {
		lines[0] += "  " + b.at.UTC().Format("15:04:05") + " UTC"
	}
	trouble := func(text string) { lines = append(lines, red.Render(printable(text))) }
	if b.failed != nil {
		trouble("no answer: " + b.failed.Error())
	}
	for i := range jobs {
		j := &jobs[i]
		state := green
		if j.health.State != "running" || b.failed != nil {
			state = red
		}
		lines = append(lines, bold.Render(printable(j.Job))+"  "+state.Render(j.health.State))
		for _, t := range j.health.Trouble {
			trouble(t)
		}
		if j.failed != nil {
			trouble(j.failed.Error())
		}
		if len(j.people) > 0 {
			lines = append(lines, j.drawPeople(width))
		}
		lines = append(lines, b.drawHealth(j, width))
		if groups > 0 && len(j.top.Groups) > 0 {
			lines = append(lines, j.drawGroups(width, groups))
		}
	}
	lines = strings.Split(strings.Join(lines, "\n"), "\n")
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
			style := lipgloss.NewStyle().PaddingRight(1)
			if column > 0 {
				style = style.AlignHorizontal(lipgloss.Right)
			}
			if row == table.HeaderRow {
				style = style.Faint(true)
			}
			return style
		}).String()
}

// drawPeople draws how many people there are now, over several times back.
func (j *boardJob) drawPeople(width int) string {
	heading, values := []string{"people"}, []string{""}
	for _, n := range j.people {
		value := n.text()
		if n.Error > 0 {
			value += " ±" + count(math.Ceil(2*n.Error)) // as on the page: 95 % of such estimates
		}
		heading, values = append(heading, n.Last), append(values, value)
	}
	return grid(width, heading, values)
}

// drawHealth draws the numbers of the job's health.
func (b *board) drawHealth(j *boardJob, width int) string {
	rate, lag, flush, audited := "…", "-", "none yet", "none yet"
	if j.rate >= 0 {
		rate = count(j.rate)
	}
	if len(j.health.Partitions) > 0 { // else it is not known
		lag = count(float64(j.health.Lag))
	}
	if j.health.LastFlush != nil {
		flush = max(0, b.at.Sub(*j.health.LastFlush)).Round(100*time.Millisecond).String() + " ago"
	}
	if b.audit != nil {
		audited = spelling.Count(b.audit.Mismatches, "mismatch") + " at " + b.audit.At.UTC().Format("2006-01-02 15:04")
	}
	dead := uint64(0) // since the process started: there may be older ones
	for _, o := range []window.Outcome{window.Late, window.Future, window.Malformed} {
		dead += j.health.outcomes()[o.String()]
	}
	return grid(width, []string{"events/s", "lag", "last flush", "dead letters", "audit"}, []string{rate, lag, flush, "+" + count(float64(dead)), audited})
}

// drawGroups draws the groups with the greatest numbers.
func (j *boardJob) drawGroups(width, most int) string {
	var rows [][]string
	for _, g := range j.top.Groups[:min(most, len(j.top.Groups))] {
		var texts []string
		for _, text := range g.Group {
			if text = printable(text); text == "" {
				text = `""`
			}
			texts = append(texts, text)
		}
		rows = append(rows, []string{strings.Join(texts, ", "), g.text()})
	}
	return grid(width, []string{strings.Join(j.top.Columns, ", "), j.Measures[j.measure].Name + ", " + config.Duration(j.last()).String()}, rows...)
}

// text is the value: a number, or in words why there is none.
func (n boardNumber) text() string {
	var f float64
	var text string // a sum that a float64 cannot hold
	switch {
	case n.Withheld:
		return "withheld"
	case string(n.Value) == "null":
	case json.Unmarshal(n.Value, &f) == nil:
		return count(f)
	case json.Unmarshal(n.Value, &text) == nil && text != "":
		return printable(text)
	}
	return "-"
}

// count writes a number: exact below ten million if it is whole, and with three digits else.
func count(f float64) string {
	size := math.Abs(f)
	for _, unit := range []struct {
		from, of float64
		name     string
	}{{1e13, 1e12, "T"}, {1e10, 1e9, "G"}, {1e7, 1e6, "M"}} {
		if size >= unit.from && size < 1e16 {
			return strconv.FormatFloat(f/unit.of, 'f', 1, 64) + unit.name
		}
	}
	if size >= 1e16 || size < 100 && f != math.Round(f) {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	text := fmt.Sprintf("%.0f", f)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
