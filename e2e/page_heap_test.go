package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/browsertest"
)

// heldMost is what a page holds at most, in any run: bytes of JavaScript, and nodes.
const heldMost, nodesMost = 48 << 20, 20_000

// TestPageHeap: a page that stays open, with every tile, holds no more after a long time than
// after a short one: bytes of JavaScript, nodes, listeners of events.
func TestPageHeap(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "600")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	b.Visit(base + "/?last=5m&steps=/p/1,/p/2,/p/3")
	b.Until(`document.querySelectorAll("#funnel .row").length === 3 && document.querySelector("#map canvas")`)

	length := time.Duration(*soakMinutes * float64(time.Minute))
	every := min(10*time.Second, length/10)
	var held []browsertest.Held
	for began := time.Now(); len(held) < enoughSamples || time.Since(began) < length; time.Sleep(every) {
		hits := b.Text(`document.querySelector("#hits .total strong").textContent`)
		b.Until(fmt.Sprintf(`document.querySelector("#hits .total strong").textContent !== %q`, hits)) // the page is alive
		h := b.Held()
		h.At = time.Since(began)
		held = append(held, h)
		if h.Bytes > heldMost || h.Nodes > nodesMost {
			t.Fatalf("after %v the page holds %+v", h.At.Round(time.Second), h)
		}
	}
	t.Logf("what the page holds:\n%s", heldTable(held))
	if length < 10*time.Minute {
		return // the whole run is warm-up
	}
	for _, wrong := range flatPage(held[len(held)/5:]) {
		t.Error(wrong)
	}
}

// flatPage returns what of a page is not flat: by a line through the samples, its bytes may
// grow by a twentieth and a megabyte, its nodes and listeners by a twentieth.
func flatPage(warm []browsertest.Held) (wrong []string) {
	for _, f := range []struct {
		name string
		of   func(browsertest.Held) float64
		plus float64
	}{
		{"JavaScript's memory", func(h browsertest.Held) float64 { return h.Bytes }, 1 << 20},
		{"the number of nodes", func(h browsertest.Held) float64 { return h.Nodes }, 50},
		{"the number of listeners", func(h browsertest.Held) float64 { return h.Listeners }, 10},
	} {
		var samples []sample
		for _, h := range warm {
			samples = append(samples, sample{at: h.At, heap: f.of(h)})
		}
		usual := medianOf(samples, heapOf)
		if grown, limit := growth(samples, heapOf), usual*0.05+f.plus; grown > limit {
			wrong = append(wrong, fmt.Sprintf("%s grows by %.0f about a median of %.0f, at most %.0f are allowed", f.name, grown, usual, limit))
		}
	}
	return wrong
}

func heldTable(held []browsertest.Held) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%10s %10s %10s %10s\n", "after", "MiB", "nodes", "listeners")
	for i, h := range held {
		if i%max(1, len(held)/20) == 0 || i == len(held)-1 {
			fmt.Fprintf(&b, "%10s %10.2f %10.0f %10.0f\n", h.At.Round(time.Second), h.Bytes/(1<<20), h.Nodes, h.Listeners)
		}
	}
	return b.String()
}

// TestFlatPage: what flatPage says of series that grow and that do not.
func TestFlatPage(t *testing.T) {
	series := func(bytes, nodes, listeners float64) (all []browsertest.Held) { // what grows in all
		for i := range 180 {
			share, noise := float64(i)/180, float64(i%3)
			all = append(all, browsertest.Held{At: time.Duration(i) * 10 * time.Second,
				Bytes: 8<<20 + share*bytes + noise*(1<<18), Nodes: 1500 + share*nodes + noise*5, Listeners: 200 + share*listeners + noise})
		}
		return all
	}
	for _, c := range []struct {
		held []browsertest.Held
		want string
	}{
		{series(0, 0, 0), ""},
		{series(1<<20, 50, 5), ""},
		{series(4<<20, 0, 0), "JavaScript's memory"},
		{series(0, 400, 0), "the number of nodes"},
		{series(0, 0, 60), "the number of listeners"},
	} {
		if got := strings.Join(flatPage(c.held), "; "); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
