//go:build prove

package e2e

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"weir/internal/await"
	"weir/internal/browsertest"
)

var picturesKept = flag.Bool("pictures", false, "TestPictures: write the pictures of docs/pictures, after a minute of traffic, a kill and another minute")

// pictureMost is how large a picture of docs/pictures may be, in bytes.
const pictureMost = 200_000

// TestPictures takes pictures of weir up: of the page, light, dark and on a narrow screen, and
// of weir top in a terminal. They show numbers, and those of docs/pictures are small.
func TestPictures(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	dir, first, then := filepath.Join("..", "bin", "page"), 500, 1_000
	if *picturesKept {
		dir, first, then = filepath.Join("..", "docs", "pictures"), 36_000, 72_000
	}
	p := startUp(t, t.TempDir(), "--rate", "600")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	b.Visit(base + "/?last=15m&steps=active:/p/1,active:/p/2,active:/p/3")
	hits := `parseInt(document.querySelector("#hits .total strong").textContent.replaceAll(",", ""))`
	b.Until(fmt.Sprintf("%s > %d", hits, first))
	b.Until(`!document.querySelector("#worker .kill").disabled`)
	b.Click("#worker .kill")
	p.prints(`^worker +process \d+ died of signal 9 .*: 0 lost, 0 doubled`)
	b.Until(fmt.Sprintf(`document.querySelector("#worker .told").dataset.state === "ok" && document.querySelector("#live").dataset.state === "ok" && %s > %d`, hits, then))

	b.Until(`document.querySelectorAll("#funnel .row").length === 3`)

	name := func(of string) string { return filepath.Join(dir, of+".png") }
	b.Picture(name("page"))
	b.Prefer("prefers-color-scheme", "dark")
	b.Picture(name("page-dark"))
	b.Resize(browsertest.Size{Width: 320, Height: 640})
	b.Until(`document.documentElement.scrollWidth <= 320`) // the charts follow the window
	b.Picture(name("page-320"))

	screen := topOn(t, base, 80, 24)
	b.Prefer("prefers-color-scheme", "light")
	b.Resize(browsertest.Size{Width: 720, Height: 440})
	b.Visit("data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(markup(screen))))
	b.Picture(name("top"))
	for _, of := range []string{"page", "page-dark", "page-320", "top"} {
		small(t, name(of))
	}
}

// small writes a picture anew, as small as shrink makes it.
func small(t *testing.T, file string) {
	t.Helper()
	if size := shrink(t, file); *picturesKept && size > pictureMost {
		t.Errorf("%s has %d bytes, want at most %d", file, size, pictureMost)
	}
}

// picture reads one.
func picture(t *testing.T, file string) image.Image {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	of, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return of
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

// shrink writes a picture anew with at most 256 colours, and returns its size in bytes. Of
// colours that are equal in the upper four bits of red, green and blue it takes the most
// frequent one, and with the room that is left the most frequent colours of all; the nearest
// stands for each other one. A picture of few colours fails the test.
func shrink(t *testing.T, file string) int {
	t.Helper()
	from := picture(t, file)
	count, area := map[color.RGBA]int{}, from.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	if len(count) < 10 {
		t.Errorf("%s has %d colours: it shows nothing", file, len(count))
	}
	order := func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B}))
	}
	alike, pixels := map[[3]uint8]color.RGBA{}, map[color.RGBA]int{}
	for _, c := range slices.SortedFunc(maps.Keys(count), order) { // the most frequent first
		of := [3]uint8{c.R >> 4, c.G >> 4, c.B >> 4}
		if _, is := alike[of]; !is {
			alike[of] = c
		}
		pixels[alike[of]] += count[c]
	}
	colours := slices.SortedFunc(maps.Keys(pixels), func(a, b color.RGBA) int { return cmp.Or(pixels[b]-pixels[a], order(a, b)) })
	colours = colours[:min(224, len(colours))]
	for _, c := range slices.SortedFunc(maps.Keys(count), order) { // shades that are frequent themselves
		if len(colours) < 256 && !slices.Contains(colours, c) {
			colours = append(colours, c)
		}
	}
	var palette color.Palette
	for _, c := range colours {
		palette = append(palette, c)
	}
	to, index := image.NewPaletted(area, palette), map[color.RGBA]uint8{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := at(x, y)
			i, known := index[c]
			if !known {
				i = uint8(palette.Index(c))
				index[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
