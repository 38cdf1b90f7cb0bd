//go:build prove

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/browsertest"
)

// A pageSample is what a page holds at one time.
type pageSample struct {
	browsertest.Held
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
// after a short one: bytes of JavaScript, nodes, listeners of events.
func TestPageHeap(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "600")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
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
	t.Logf("what the page holds:\n%s", heldTable(held))
	if length < 10*time.Minute {
		return // the whole run is warm-up
	}
	for _, wrong := range flat(held[len(held)/5:], ofPage) {
		t.Error(wrong)
	}
}

func heldTable(held []pageSample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%10s %10s %10s %10s\n", "after", "MiB", "nodes", "listeners")
	for i, h := range held {
		if i%max(1, len(held)/20) == 0 || i == len(held)-1 {
			fmt.Fprintf(&b, "%10s %10.2f %10.0f %10.0f\n", h.at.Round(time.Second), h.Bytes/(1<<20), h.Nodes, h.Listeners)
		}
	}
	return b.String()
}

// TestFlatPage: what is flat of a page, and what is not.
func TestFlatPage(t *testing.T) {
	series := func(bytes, nodes, listeners float64) (all []pageSample) { // what grows in all
		for i := range 180 {
			share, noise := float64(i)/180, float64(i%3)
			all = append(all, pageSample{browsertest.Held{Bytes: 8<<20 + share*bytes + noise*(1<<18), Nodes: 1500 + share*nodes + noise*5, Listeners: 200 + share*listeners + noise}, time.Duration(i) * 10 * time.Second})
		}
		return all
	}
	for _, c := range []struct {
		with []pageSample
		want string
	}{
		{series(0, 0, 0), ""},
		{series(1<<20, 50, 5), ""},
		{series(4<<20, 0, 0), "JavaScript's memory"},
		{series(0, 400, 0), "the number of nodes"},
		{series(0, 0, 60), "the number of listeners"},
	} {
		if got := strings.Join(flat(c.with, ofPage), "; "); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
