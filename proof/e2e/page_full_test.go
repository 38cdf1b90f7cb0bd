package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

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

// crowd opens as many streams of a weir as it has places: also that of a viewer who has left, as soon as weir has noticed.
// One of them ends when leave is called.
func crowd(t *testing.T, base string) (leave context.CancelFunc) {
	t.Helper()
	ctx, leave := context.WithCancel(await.Context(t))
	for opened, most := 0, 256; opened < most; {
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
			opened++
			ctx = await.Context(t) // only the first one leaves
		case http.StatusServiceUnavailable:
			body, err := io.ReadAll(res.Body)
			if _, err2 := fmt.Sscanf(string(regexp.MustCompile(`\d+ have one`).Find(body)), "%d", &most); err != nil || err2 != nil {
				t.Fatalf("viewer %d: %s, %v", opened, body, err)
			}
			time.Sleep(50 * time.Millisecond)
		default:
			t.Fatalf("viewer %d: %s", opened, res.Status)
		}
	}
	return leave
}
