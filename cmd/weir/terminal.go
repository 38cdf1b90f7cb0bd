package main

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// An aside is where log lines go that share a terminal with a screen: above the screen, while
// there is one.
type aside struct {
	to io.Writer

	mu     sync.Mutex
	screen *tea.Program // nil: there is none
}

func (a *aside) Write(line []byte) (int, error) {
	a.mu.Lock()
	screen := a.screen
	a.mu.Unlock()
	if screen == nil {
		return a.to.Write(line)
	}
	screen.Println(printable(strings.TrimRight(string(line), "\n")))
	return len(line), nil
}

// show sets the screen.
func (a *aside) show(screen *tea.Program) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.screen = screen
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
