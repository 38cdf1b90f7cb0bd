package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/proof/browser"
)

// TestPageToken: with a token the page asks for it, takes it from a form or from the
// fragment of a link, and leaves it in no address; then it is live.
func TestPageToken(t *testing.T) {
	browser.Wanted(t)
	parallel(t)
	s := newStage(t)
	w := &watched{stage: s, t: t, start: time.Now().UTC().Truncate(time.Minute).Add(-4 * time.Minute), people: newPeople()}
	s.create("clicks", 2)
	s.create("locations", 2)
	s.clicks()
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("correct-horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	process := s.weir("run", "--http.token_file=token")
	w.base = process.address()
	w.send(3, 300)
	hits, _ := w.all()
	host := strings.TrimPrefix(w.base, "http://")
	first := browser.Open(t, browser.Size{Width: 800, Height: 700})
	w.Browser = first
	w.Excuse("401") // the first answer of each
	w.open()
	w.Until(`document.querySelector("input[type=password]")`)
	w.picture("token")
	w.Press("wrong-horse\r")
	w.Until(`document.querySelector("main [role=alert]").textContent.includes("not the token")`)
	w.Until(`(document.querySelector("input[type=password]").value = "", true)`)
	w.Press("correct-horse\r")
	w.shows("#hits .total strong", hits)
	w.Clean(host)

	w.Browser = browser.Open(t, browser.Size{Width: 800, Height: 700})
	w.Visit(w.base + "/?job=clicks&last=15m#token=correct-horse")
	w.shows("#hits .total strong", hits)
	if at := w.Text("location.href + document.cookie"); strings.Contains(at, "horse") || strings.Contains(at, "weir_session") {
		t.Errorf("the token or the cookie can be read: %s", at)
	}
	w.Clean(host)
}
