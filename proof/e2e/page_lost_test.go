package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/proof/browser"
	"weir/serve/page"
)

// TestScriptLost: a page whose script does not load says so, also with reduced motion. With the
// script, the notice is gone, and the page says that a proxy answered in weir's place.
func TestScriptLost(t *testing.T) {
	lost := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case lost && strings.HasSuffix(r.URL.Path, "/tiles.js"): // of which app.js imports
			http.NotFound(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			http.Error(w, "<html>", http.StatusBadGateway)
		default:
			page.Serve(w, r)
		}
	}))
	defer s.Close()
	b := browser.Open(t, browser.Size{Width: 800, Height: 600})
	const shown = `document.querySelector(".late")?.checkVisibility({visibilityProperty: true})`
	for _, motion := range []string{"no-preference", "reduce"} {
		b.Prefer("prefers-reduced-motion", motion)
		b.Visit(s.URL)
		b.Until(shown)
		b.Until(`document.getElementById("live-text").textContent === "loading"`)
	}
	b.Accessible("without its script")
	lost = false
	b.Visit(s.URL)
	b.Until(`document.getElementById("live-text").textContent === "no answer from weir" && !document.querySelector(".late")`)
	if said := b.Text(`document.getElementById("main").textContent`); !strings.Contains(said, "HTTP 502 Bad Gateway, which is not from weir") {
		t.Error(said)
	}
}
