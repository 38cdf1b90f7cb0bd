package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"weir/internal/await"
	"weir/internal/browsertest"
)

// TestPageFull: the page of a viewer too many says so, in each tile, and shows the numbers as soon
// as another viewer leaves.
func TestPageFull(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	s := newStage(t)
	s.clicks()
	base := s.weir("run").address()
	leave := crowd(t, base)
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	b.Visit(base + "/")
	b.Until(`document.querySelector("#live").dataset.state === "error" && document.querySelector("#live-text").textContent === "waiting for a place"`)
	b.Until(`[...document.querySelectorAll("#people, #hits, #health")].every((e) => e.dataset.state === "error" && e.querySelector(".message").textContent.includes("this one waits until one of them leaves"))`)
	b.Picture("../bin/page/full.png")
	b.Accessible("full")
	leave()
	b.Until(`document.querySelector("#live").dataset.state === "ok" && document.querySelector("#people").dataset.state === "empty"`)
	b.Clean(strings.TrimPrefix(base, "http://"))
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
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: ") {
		}
		switch lines.Text() {
		case "event: ask0":
		case "event: wait":
			return leave
		default:
			t.Fatalf("viewer %d: %s, %q", i, res.Status, lines.Text())
		}
	}
	return leave
}
