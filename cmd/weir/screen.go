package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"weir/internal/config"
	"weir/internal/spelling"
	"weir/window"
)

// A screen draws a board as text.
type screen struct {
	width, height int  // in cells; height 0: as many lines as it takes
	colour        bool // whether the terminal has colours and wants them
}

// The styles of a text, as SGR parameters.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

func (s screen) style(sgr, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// barest is how wide a screen must be for bars, and lowest how high for the curve.
const (
	barest = 60
	lowest = 16
)

// job draws the shown job; below are further lines at the end, such as the keys.
func (s screen) job(b *board, now time.Time, below ...string) string {
	lines := []string{s.head(b, now)}
	if b.failed != nil {
		lines = append(lines, s.style(red, "no answer: "+printable(b.failed.Error())))
	}
	var groups []string
	if len(b.jobs) > 0 {
		j := &b.jobs[b.shown]
		lines = append(lines, s.tabs(b))
		for _, t := range j.health.Trouble {
			lines = append(lines, s.style(red, printable(t)))
		}
		lines = append(lines, s.people(j)...)
		lines = append(lines, s.failed(j)...)
		lines = append(lines, s.wrap(s.facts(b, j, now))...)
		if curve := s.curve(b.samples[j.Job]); curve != "" && (s.height == 0 || s.height >= lowest) {
			lines = append(lines, curve)
		}
		groups = s.groups(j)
	}
	if s.height > 0 {
		room := s.height - len(lines) - len(below)
		if room < 0 { // a low screen: the lines below are worth more than the last ones
			lines = lines[:max(1, len(lines)+room)]
		}
		groups = groups[:max(0, min(len(groups), room))]
		if len(groups) == 1 {
			groups = nil // a heading without groups
		}
	}
	lines = append(append(lines, groups...), below...)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.width, "…")
	}
	return strings.Join(lines, "\n")
}

func (s screen) head(b *board, now time.Time) string {
	left, right := s.style(bold, "weir")+"  "+b.url+"/", now.UTC().Format("15:04:05")+" UTC"
	return s.ends(left, right)
}

// ends puts one text to the left and one to the right, if there is room for both.
func (s screen) ends(left, right string) string {
	gap := s.width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if gap < 2 {
		return left
	}
	return left + strings.Repeat(" ", gap) + right
}

func (s screen) tabs(b *board) string {
	var names []string
	for i, j := range b.jobs {
		name := printable(j.Job)
		if i == b.shown {
			name = s.style(bold, "["+name+"]")
		}
		names = append(names, name)
	}
	state, sgr := b.jobs[b.shown].health.State, green
	if b.failed != nil {
		state = "no answer"
	}
	if state != "running" {
		sgr = red
	}
	return s.ends(strings.Join(names, "  "), s.style(sgr, state))
}

// people is how many there are now, over several times back.
func (s screen) people(j *boardJob) []string {
	if len(j.people) == 0 {
		return nil
	}
	const label = 9
	cell := min(18, (s.width-label)/len(j.people))
	heads, values := pad("people", label), pad("", label)
	for _, n := range j.people {
		value := n.text(count)
		switch {
		case cell < 10:
			value = n.text(short)
		case n.Error > 0 && cell >= 17:
			value += " ±" + short(math.Ceil(2*n.Error)) // as on the page: 95 % of such estimates
		}
		heads += s.style(faint, lead(n.Last, cell))
		values += " " + lead(value, cell-1)
	}
	return []string{heads, values}
}

// failed is why people or groups are missing.
func (s screen) failed(j *boardJob) []string {
	if j.failed == nil {
		return nil
	}
	return []string{s.style(red, printable(j.failed.Error()))}
}

// facts are the numbers of the job's health.
func (s screen) facts(b *board, j *boardJob, now time.Time) []string {
	rate, flush, audited, lag := "…", "none yet", "audit none yet", "-"
	if len(j.health.Partitions) > 0 { // else it is not known
		lag = count(float64(j.health.Lag))
	}
	if r := lately(b.samples[j.Job]); r >= 0 {
		rate = count(r)
	}
	if j.health.LastFlush != nil {
		flush = ago(b.now(now).Sub(*j.health.LastFlush)) + " ago"
	}
	if b.audit != nil {
		audited = fmt.Sprintf("audit %s at %s", spelling.Count(b.audit.Mismatches, "mismatch"), dated(b.audit.At, b.now(now)))
		if b.audit.Mismatches > 0 {
			audited = s.style(red, audited)
		}
	}
	dead := uint64(0) // since the process started: there may be older ones
	for _, o := range []window.Outcome{window.Late, window.Future, window.Malformed} {
		dead += j.health.outcomes()[o.String()]
	}
	return []string{
		"events/s " + s.style(bold, rate), "lag " + s.style(bold, lag),
		"last flush " + flush, "dead letters +" + count(float64(dead)), audited,
	}
}

// lately returns the events per second since the last second without an answer, of five seconds at
// most; -1: not known. A single second has no events now and then, and the next one those of both.
func lately(all []sampled) float64 {
	sum, n := 0.0, 0
	for _, one := range slices.Backward(all) {
		if one.rate < 0 || n == 5 {
			break
		}
		sum, n = sum+one.rate, n+1
	}
	if n == 0 {
		return -1
	}
	return sum / float64(n)
}

// wrap puts items into as few lines as it takes.
func (s screen) wrap(items []string) (lines []string) {
	line := ""
	for _, item := range items {
		if line != "" && ansi.StringWidth(line)+3+ansi.StringWidth(item) > s.width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += "   "
		}
		line += item
	}
	return append(lines, line)
}

// curve draws the events per second of the last minute or two, newest to the right, with ░
// for a second without an answer. Afterwards a process catches up: that bar is cut off at
// the scale of the others.
func (s screen) curve(all []sampled) string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	const label = 9
	if n := s.width - label; len(all) > n {
		all = all[len(all)-max(0, n):]
	}
	if len(all) > 0 && all[0].rate < 0 { // the first sample has none before it
		all = all[1:]
	}
	var rates []float64
	for _, one := range all {
		if one.rate > 0 {
			rates = append(rates, one.rate)
		}
	}
	if len(rates) == 0 {
		return ""
	}
	slices.Sort(rates)
	most := min(rates[len(rates)-1], 2*rates[len(rates)/2])
	var b strings.Builder
	for _, one := range all {
		if one.rate < 0 {
			b.WriteRune('░')
			continue
		}
		level := int(math.Ceil(min(1, one.rate/most) * float64(len(blocks)-1)))
		b.WriteRune(blocks[level])
	}
	return pad("", label) + s.style(green, b.String())
}

// groups are those with the greatest numbers, below a heading.
func (s screen) groups(j *boardJob) []string {
	if len(j.By) == 0 || len(j.top.Groups) == 0 {
		return nil
	}
	const number = 12
	name := max(8, min(40, s.width-number-1))
	bar := 0
	if s.width >= barest {
		bar = max(0, s.width-name-number-2)
	}
	lines := []string{s.style(faint, pad(strings.Join(j.top.Columns, ", "), name)+lead(j.Measures[j.measure].Name+", "+config.Duration(j.last()).String(), number))}
	most := 0.0
	for _, g := range j.top.Groups {
		most = max(most, g.size())
	}
	for _, g := range j.top.Groups {
		var texts []string
		for _, text := range g.Group {
			if text = printable(text); text == "" {
				text = `""`
			}
			texts = append(texts, text)
		}
		line := pad(strings.Join(texts, ", "), name) + lead(g.text(count), number)
		if bar > 0 && most > 0 {
			line += "  " + s.style(green, strings.Repeat("█", int(math.Round(max(0, g.size())/most*float64(bar)))))
		}
		lines = append(lines, line)
	}
	return lines
}

// plain draws all jobs, with a few groups each, for a log file.
func (s screen) plain(b *board, now time.Time) string {
	const groups = 5
	lines := []string{s.head(b, now)}
	if b.failed != nil {
		lines = append(lines, "no answer: "+printable(b.failed.Error()))
	}
	for i := range b.jobs {
		j := &b.jobs[i]
		lines = append(lines, s.ends(printable(j.Job), j.health.State))
		for _, t := range j.health.Trouble {
			lines = append(lines, printable(t))
		}
		lines = append(lines, s.people(j)...)
		lines = append(lines, s.failed(j)...)
		lines = append(lines, s.wrap(s.facts(b, j, now))...)
		all := s.groups(j)
		lines = append(lines, all[:min(len(all), 1+groups)]...)
	}
	return strings.Join(lines, "\n")
}

// text is the value: a number, or in words why there is none.
func (n boardNumber) text(write func(float64) string) string {
	if n.Withheld {
		return "withheld"
	}
	var f float64
	if json.Unmarshal(n.Value, &f) == nil && string(n.Value) != "null" {
		return write(f)
	}
	var text string
	if json.Unmarshal(n.Value, &text) == nil && text != "" { // a sum that a float64 cannot hold
		return printable(text)
	}
	return "-"
}

func (n boardNumber) size() float64 {
	f, err := strconv.ParseFloat(strings.Trim(string(n.Value), `"`), 64)
	if err != nil {
		return 0
	}
	return f
}

// count writes a number in at most nine characters: exact below ten million if it is whole, and
// with three digits if it is below 1.
func count(f float64) string {
	whole := math.Round(f)
	switch size := math.Abs(f); {
	case size >= 1e16:
		return powers(f)
	case size >= 1e13:
		return strconv.FormatFloat(f/1e12, 'f', 1, 64) + "T"
	case size >= 1e10:
		return strconv.FormatFloat(f/1e9, 'f', 1, 64) + "G"
	case size >= 1e7:
		return strconv.FormatFloat(f/1e6, 'f', 1, 64) + "M"
	case size < 1 && f != 0:
		return powers(f)
	case size < 100 && whole != f:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	text := strconv.FormatInt(int64(whole), 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// powers writes a number in three digits, or as many as fit, with a power of ten if it is far from 1.
func powers(f float64) string {
	text := strconv.FormatFloat(f, 'g', 3, 64)
	for digits := 2; len(text) > 9 && digits > 0; digits-- {
		text = strconv.FormatFloat(f, 'g', digits, 64)
	}
	return text
}

// short writes a number that is not negative in at most six characters, with three digits
// or more.
func short(f float64) string {
	if f < 999.5 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	for _, unit := range []string{"k", "M", "G", "T", "P"} {
		if f /= 1000; f < 999.5 {
			return strconv.FormatFloat(f, 'g', 3, 64) + unit
		}
	}
	return "many"
}

// ago writes a time that has passed.
func ago(d time.Duration) string {
	d = max(0, d)
	if d < 10*time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// now is what the clock of the process says, which may be another machine's.
func (b *board) now(here time.Time) time.Time {
	if b.taken.IsZero() {
		return here
	}
	return b.at.Add(here.Sub(b.taken))
}

// dated writes a time, with its date if that is not today's.
func dated(at, now time.Time) string {
	at = at.UTC()
	if at.Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// pad fills a text with blanks behind it, or cuts it; lead puts them before it.
func pad(text string, width int) string {
	text = ansi.Truncate(text, width, "…")
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

func lead(text string, width int) string {
	text = ansi.Truncate(text, width, "…")
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + text
}

// wrapText breaks a text between words.
func (s screen) wrapText(text string) []string {
	return strings.Split(ansi.Wordwrap(text, max(10, s.width), ""), "\n")
}
