package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"weir/internal/await"
)

// A wire is between a browser and weir. It knows how many streams are open, and can lose what they
// carry without an error at either end, as after a change of network.
type wire struct {
	http.Handler

	mu         sync.Mutex
	open, seen int // streams
	cut        int // so many of those seen carry nothing more
}

func newWire(t *testing.T, weir string) (w *wire, address string) {
	t.Helper()
	to, err := url.Parse(weir)
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{Handler: &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	s := httptest.NewServer(w)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return w, s.URL
}

func (w *wire) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/stream" {
		w.Handler.ServeHTTP(to, r)
		return
	}
	w.mu.Lock()
	w.open++
	w.seen++
	number := w.seen
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
	}()
	w.Handler.ServeHTTP(&thread{to, w, number}, r)
}

// lose loses what the streams carry that are open.
func (w *wire) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = w.seen
}

// has waits until so many streams are open.
func (w *wire) has(t *testing.T, want int) {
	t.Helper()
	await.Until(t, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open != want {
			return notYet("%d streams are open, want %d", w.open, want)
		}
		return nil
	})
}

// A thread is one stream of a wire.
type thread struct {
	http.ResponseWriter
	of     *wire
	number int
}

func (s *thread) Write(p []byte) (int, error) {
	s.of.mu.Lock()
	lost := s.number <= s.of.cut
	s.of.mu.Unlock()
	if lost {
		return len(p), nil
	}
	return s.ResponseWriter.Write(p)
}

func (s *thread) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// away: a page that is out of sight gives its stream back, because a browser has six
// connections for all pages of a weir, and takes another one when it is seen. The page notices a stream that
// carries nothing more without an error, also if the clock has been set back, and replaces it.
func (w *watched) away() {
	b, t := w.Browser, w.t
	wire, base := newWire(t, w.base)
	b.Allow(strings.TrimPrefix(base, "http://"))
	b.Visit(base + "/")
	live := `document.querySelector("#live")?.dataset.state === "ok"`
	b.Until(live)
	wire.has(t, 1)

	b.Text(`[Object.defineProperty(document, "hidden", { configurable: true, value: true }), document.dispatchEvent(new Event("visibilitychange"))]`)
	wire.has(t, 0)
	b.Text(`(window.asked = 0, window.EventSource = class extends EventSource { constructor(...of) { super(...of); window.asked++; } })`)
	b.Click(`.ranges button`) // as a script or the history may do
	b.Until(`location.search === "?last=15m" && document.querySelector(".ranges button").getAttribute("aria-pressed") === "true"`)
	if asked := b.Text(`window.asked`); asked != "0" {
		t.Errorf("out of sight, the page asks for %s streams", asked)
	}
	b.Text(`[delete document.hidden, document.dispatchEvent(new Event("visibilitychange"))]`)
	b.Until(live + ` && !document.querySelector("[data-old]")`)
	wire.has(t, 1)

	clock := `((d) => { window.ahead ??= 0; Date.now = () => d() + window.ahead; })(Date.now.bind(Date))`
	b.Text(clock)
	b.Text(`window.ahead = -7200_000`)
	wire.lose()
	b.Until(`document.querySelector("#live").dataset.state === "stale"`)
	if text := b.Text(`document.querySelector("#live").textContent + "|" + [...document.querySelectorAll("#live [aria-hidden]")].map((e) => e.textContent).join("")`); !strings.HasPrefix(text, "no answer for ") || !strings.Contains(text, "| for ") {
		t.Errorf("the page says %q: the seconds are to be seen, and not to be read aloud", text)
	}
	b.Text(`window.ahead = 61_000`) // instead of a minute
	b.Until(live)
	b.Until(`!document.querySelector("[data-old]")`)
	wire.has(t, 1)
	b.Visit(w.base)
}
