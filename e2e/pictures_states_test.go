//go:build prove

package e2e

import (
	"net/http"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"weir/internal/browsertest"
)

// TestPictureStates takes pictures of the page where it has no numbers, or old ones: of a weir up
// that has no events yet, before the first answer, where there are viewers enough, and after its
// process has died. In make test: TestPage.
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

// states takes the picture of a state.
func states(t *testing.T, b *browsertest.Browser, name string) {
	t.Helper()
	dir := filepath.Join("..", "bin", "page")
	if *picturesKept {
		dir = filepath.Join("..", "docs", "pictures")
	}
	b.View(filepath.Join(dir, "state-"+name+".png"))
}
