package main

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// An aside is where log lines go that share a terminal with a screen. While there is one
// they are in it, and afterwards the last of them are written.
type aside struct {
	to io.Writer

	mu     sync.Mutex
	active bool     // there is a screen
	lines  []string // while there is one
}

// asideMost is how many lines an aside keeps, and asideShown how many the screen shows.
const (
	asideMost  = 100
	asideShown = 3
)

func (a *aside) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.active {
		return a.to.Write(line)
	}
	a.lines = append(a.lines, string(line))
	a.lines = a.lines[max(0, len(a.lines)-asideMost):]
	return len(line), nil
}

// last returns the lines to show.
func (a *aside) last() (lines []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.lines[max(0, len(a.lines)-asideShown):] {
		lines = append(lines, printable(strings.TrimRight(l, "\n")))
	}
	return lines
}

// on begins a screen, and off ends it.
func (a *aside) on() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active = true
}

func (a *aside) off() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.lines {
		_, _ = io.WriteString(a.to, l) // as for any log line
	}
	a.active, a.lines = false, nil
}

// printable returns a text with everything escaped that could steer a terminal or change
// the order of its line: control characters, marks of the direction of writing, and bytes
// that are no UTF-8. Group values come from data, so no line has one as it is.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0])+0x100, 16)[1:])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		text = text[n:]
	}
	return b.String()
}

// printableLines is printable of each line of a text: of a message that weir makes of several, with what a broker,
// a registry or ClickHouse has answered in it.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}
