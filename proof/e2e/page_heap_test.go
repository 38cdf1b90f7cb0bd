//go:build prove

package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"weir/proof/browser"
)

// A pageSample is what a page holds at one time.
type pageSample struct {
	browser.Held
	at time.Duration // since the page is watched
}

func (s pageSample) since() time.Duration { return s.at }

// ofPage are the bounds of a page after its warm-up.
var ofPage = []bound[pageSample]{
	{"JavaScript's memory", func(s pageSample) float64 { return s.Bytes }, 0.05, 1 << 20},
	{"the number of nodes", func(s pageSample) float64 { return s.Nodes }, 0.05, 50},
	{"the number of listeners", func(s pageSample) float64 { return s.Listeners }, 0.05, 10},
}

// In any run a page holds as many bytes of JavaScript and nodes as these at least, or nothing
// was measured, and at most.
const (
	bytesLeast, bytesMost = 1 << 20, 48 << 20
	nodesLeast, nodesMost = 500, 20_000
)

// TestPageHeap: a page that stays open, with every tile, holds no more after a long time than
// after a short one: bytes of JavaScript, nodes, listeners of events. In make test: TestPage.
func TestPageHeap(t *testing.T) {
	browser.Wanted(t)
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "600")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b := browser.Open(t, browser.Size{Width: 1280, Height: 900})
	b.Visit(base + "/?last=5m&steps=active:/p/1,active:/p/2,active:/p/3")
	b.Until(`document.querySelectorAll("#funnel .row").length === 3 && document.querySelector("#map canvas")`)

	length := time.Duration(*soakMinutes * float64(time.Minute))
	every := min(10*time.Second, length/10)
	var held []pageSample
	for began := time.Now(); len(held) < enoughSamples || time.Since(began) < length; time.Sleep(every) {
		hits := b.Text(`document.querySelector("#hits .total strong").textContent`)
		b.Until(fmt.Sprintf(`document.querySelector("#hits .total strong").textContent !== %q`, hits)) // the page is alive
		h := pageSample{b.Held(), time.Since(began)}
		held = append(held, h)
		if h.Bytes < bytesLeast || h.Bytes > bytesMost || h.Nodes < nodesLeast || h.Nodes > nodesMost {
			t.Fatalf("after %v the page holds %+v", h.at.Round(time.Second), h.Held)
		}
	}
	t.Logf("the page holds %+v at first, and %+v in the end", held[0].Held, held[len(held)-1].Held)
	if length < 10*time.Minute {
		return // the whole run is warm-up
	}
	for _, wrong := range flat(held[len(held)/5:], ofPage) {
		t.Error(wrong)
	}
}
