//go:build prove

package e2e

import (
	"image"
	"image/draw"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"weir/internal/browsertest"
)

// TestPictureStates takes pictures of the page where it has no numbers, or old ones: of a weir up
// that has no events yet, before the first answer, where there are viewers enough, and after its
// process has died. Each shows the page light, dark and on a narrow screen, side by side.
func TestPictureStates(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	dir := t.TempDir()
	p := startUp(t, dir, "--no-gen")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})

	b.Visit(base + "/")
	b.Until(`document.querySelector("#people").dataset.state === "empty" && document.querySelector("#map").dataset.state === "empty" && document.querySelector("#hits").dataset.state === "empty"`)
	states(t, b, "empty")

	between := newProxy(t, base)
	between.handle(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/stream" {
			<-r.Context().Done()
			return
		}
		between.forward.ServeHTTP(w, r)
	})
	b.Visit(between.url + "/")
	b.Until(`document.querySelector("#people")?.dataset.state === "loading" && document.querySelector("#live").dataset.state === "loading"`)
	states(t, b, "loading")

	crowd(t, base)
	b.Visit(base + "/")
	b.Until(`document.querySelector("#people")?.dataset.state === "error" && document.querySelector("#live").dataset.state === "error"`)
	states(t, b, "error")
	p.signal(syscall.SIGKILL)
	<-p.done

	p = startUp(t, dir, "--rate", "300")
	base = regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b.Visit(base + "/?last=15m")
	b.Until(`parseInt(document.querySelector("#hits .total strong")?.textContent.replaceAll(",", "")) > 3000`)
	p.kill()
	b.Until(`document.querySelector("#live").dataset.state === "stale" && document.querySelector("#live").textContent.startsWith("no answer for")`)
	states(t, b, "stale")
}

// states takes the three pictures of a state, and puts them side by side.
func states(t *testing.T, b *browsertest.Browser, name string) {
	t.Helper()
	dir := filepath.Join("..", "bin", "page")
	if *picturesKept {
		dir = filepath.Join("..", "docs", "pictures")
	}
	wide, narrow := browsertest.Size{Width: 1280, Height: 900, Scale: 0.5}, browsertest.Size{Width: 320, Height: 450}
	var parts []image.Image
	width := 0
	for _, of := range []struct {
		size  browsertest.Size
		theme string
	}{{wide, "light"}, {wide, "dark"}, {narrow, "light"}} {
		b.Prefer("prefers-color-scheme", of.theme)
		b.Resize(of.size)
		b.Until(`document.documentElement.scrollWidth <= innerWidth`) // the charts follow the window
		file := filepath.Join(t.TempDir(), "part.png")
		b.View(file)
		part := picture(t, file)
		parts, width = append(parts, part), width+part.Bounds().Dx()
	}
	b.Prefer("prefers-color-scheme", "light")
	b.Resize(browsertest.Size{Width: 1280, Height: 900})
	const gap = 10
	all := image.NewRGBA(image.Rect(0, 0, width+2*gap, int(narrow.Height)))
	draw.Draw(all, all.Bounds(), image.White, image.Point{}, draw.Src)
	left := 0
	for _, part := range parts {
		draw.Draw(all, part.Bounds().Add(image.Pt(left, 0)), part, image.Point{}, draw.Src)
		left += part.Bounds().Dx() + gap
	}
	file := filepath.Join(dir, "state-"+name+".png")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := png.Encode(out, all); err != nil {
		t.Fatal(err)
	}
	small(t, file)
}
