package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A screenLog is where log lines go that share a terminal with a screen: above the screen, while
// there is one.
type screenLog struct {
	to     io.Writer
	screen atomic.Pointer[tea.Program]
}

func (a *screenLog) Write(line []byte) (int, error) {
	screen := a.screen.Load()
	if screen == nil {
		return a.to.Write(line)
	}
	screen.Println(printable(strings.TrimRight(string(line), "\n")))
	return len(line), nil
}

var unquoted = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// printable returns a text with everything escaped that could steer a terminal or change
// the order of its line: control characters, marks of the direction of writing, and bytes
// that are no UTF-8. Group values come from data, so no line has one as it is.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return unquoted.Replace(quoted[1 : len(quoted)-1])
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
