package e2e

import (
	"context"
	"net/http"
	"testing"

	"weir/internal/await"
)

// full: the page of a viewer too many says so, in each tile, and shows the numbers as soon
// as another viewer leaves.
func (w *watched) full() {
	b, t, base := w.Browser, w.t, w.base
	b.Visit("about:blank") // gives its place back
	b.Excuse("503 (Service Unavailable)")
	leave := crowd(t, base)
	b.Visit(base + "/")
	b.Until(`document.querySelector("#live").dataset.state === "error" && document.querySelector("#live-text").textContent === "refused"`)
	b.Until(`[...document.querySelectorAll("#people, #hits, #health")].every((e) => e.dataset.state === "error" && e.querySelector(".message").textContent.includes("try again when one of them has left"))`)
	b.Picture("../../bin/page/full.png")
	b.Accessible("full")
	leave()
	b.Until(`document.querySelector("#live").dataset.state === "ok" && document.querySelector("#people").dataset.state === "empty"`)
}

// crowd opens as many streams of a weir as it has places; there may be some already. One of them
// ends when leave is called.
func crowd(t *testing.T, base string) (leave context.CancelFunc) {
	t.Helper()
	one, leave := context.WithCancel(await.Context(t))
	for i := range 256 {
		ctx := one
		if i > 0 {
			ctx = await.Context(t)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/stream?ask=jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		switch res.StatusCode {
		case http.StatusOK:
		case http.StatusServiceUnavailable:
			return leave
		default:
			t.Fatalf("viewer %d: %s", i, res.Status)
		}
	}
	return leave
}
