//go:build prove

package e2e

import (
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"weir/internal/await"
	"weir/proof/browser"
)

var picturesKept = flag.Bool("pictures", false, "TestPictures: write the pictures of docs/pictures, after a minute of traffic, a kill and another minute")

// TestPictures takes pictures of weir up: of the page, light, dark and on a narrow screen, and
// of weir top in a terminal. In make test: TestPage and TestUp.
func TestPictures(t *testing.T) {
	browser.Wanted(t)
	parallel(t)
	dir, first, then := filepath.Join("..", "..", "bin", "page"), 500, 1_000
	if *picturesKept {
		dir, first, then = filepath.Join("..", "..", "docs", "pictures"), 36_000, 72_000
	}
	p := startUp(t, t.TempDir(), "--rate", "600")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b := browser.Open(t, browser.Size{Width: 1280, Height: 900})
	b.Visit(base + "/?last=15m&steps=active:/p/1,active:/p/2,active:/p/3")
	hits := `parseInt(document.querySelector("#hits .total strong").textContent.replaceAll(",", ""))`
	b.Until(fmt.Sprintf("%s > %d", hits, first))
	b.Until(`!document.querySelector("#process .kill").disabled`)
	b.Click("#process .kill")
	p.prints(`^recovery +process \d+ died of signal 9 .*: 0 lost, 0 doubled`)
	b.Until(fmt.Sprintf(`document.querySelector("#process .told").dataset.state === "ok" && document.querySelector("#live").dataset.state === "ok" && %s > %d`, hits, then))

	b.Until(`document.querySelectorAll("#funnel .row").length === 3`)

	name := func(of string) string { return filepath.Join(dir, of+".png") }
	b.Picture(name("page"))
	b.Prefer("prefers-color-scheme", "dark")
	b.Picture(name("page-dark"))
	b.Resize(browser.Size{Width: 320, Height: 640})
	b.Until(`document.documentElement.scrollWidth <= 320`) // the charts follow the window
	b.Picture(name("page-320"))

	screen := topOn(t, base, 80, 24)
	b.Prefer("prefers-color-scheme", "light")
	b.Resize(browser.Size{Width: 720, Height: 440})
	b.Visit("data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(markup(screen))))
	b.Picture(name("top"))
}

// topOn runs weir top in a terminal until it shows numbers, and returns its screen.
func topOn(t *testing.T, base string, columns, rows int) vt10x.Terminal {
	t.Helper()
	c := exec.Command(house.binary.get(t), "top", "--url", base)
	c.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "WEIR_CONFIG=")
	keyboard, err := pty.StartWithSize(c, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	screen := vt10x.New(vt10x.WithSize(columns, rows), vt10x.WithWriter(keyboard))
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := keyboard.Read(buf)
			if err != nil {
				return
			}
			_, _ = screen.Write(buf[:n]) // it does not fail
		}
	}()
	await.Until(t, func() error {
		if text := screen.String(); !regexp.MustCompile(`(?s)events/s[^\n]*\n[1-9].*/p/1 +\d`).MatchString(text) {
			return notYet("weir top shows\n%s", text)
		}
		return nil
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	keyboard.Close()
	<-read
	return screen
}

// ansi has the first sixteen colours of a terminal.
var ansi = [16]string{"#1d2021", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5d8de", "#7f848e", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff"}

// markup returns a page of HTML that shows the screen of a terminal.
func markup(screen vt10x.Terminal) string {
	const bold, reverse = 4, 1 // of a cell's mode
	colour := func(c vt10x.Color, otherwise string) string {
		if int(c) < len(ansi) {
			return ansi[c]
		}
		return otherwise
	}
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#1d2021}pre{margin:0;padding:16px;font:14px/1.2 "DejaVu Sans Mono",monospace;color:#d5d8de}</style><pre>`)
	columns, rows := screen.Size()
	for y := range rows {
		for x := range columns {
			cell := screen.Cell(x, y)
			fg, bg := colour(cell.FG, "inherit"), colour(cell.BG, "inherit")
			if cell.Mode&reverse != 0 {
				fg, bg = "#1d2021", "#d5d8de"
			}
			weight := "normal"
			if cell.Mode&bold != 0 {
				weight = "bold"
			}
			fmt.Fprintf(&b, `<span style="color:%s;background:%s;font-weight:%s">%s</span>`, fg, bg, weight, html.EscapeString(string(max(cell.Char, ' '))))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
