// Package browser opens web pages in a headless Chromium, and reports what the page
// does wrong: errors in its console, violations of its Content-Security-Policy, requests
// to other hosts. `make tools` fetches Chromium, and axe-core for Accessible.
//
//	b := browser.Open(t, browser.Size{Width: 1280, Height: 900})
//	b.Visit("http://127.0.0.1:8686/")
//	b.Until(`document.querySelector("#people dd").textContent !== "–"`)
//	b.Clean("127.0.0.1:8686")
package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"weir/internal/await"
)

// Wanted skips a test under -short, which starts no browser.
func Wanted(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no browser: make test does")
	}
}

// dir returns .cache/browser of the checkout.
func dir() string {
	at, err := os.Getwd()
	for ; err == nil; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "weir.yaml")); err == nil || at == filepath.Dir(at) {
			break
		}
	}
	return filepath.Join(at, ".cache", "browser")
}

// find returns the program, and the environment that it needs.
func find(t testing.TB) (program string, env []string) {
	t.Helper()
	root := filepath.Join(dir(), "root")
	program = filepath.Join(root, "usr/lib/chromium/chromium")
	if _, err := os.Stat(program); err == nil {
		var libraries []string
		for _, sub := range []string{"usr/lib", "lib"} {
			all, err := filepath.Glob(filepath.Join(root, sub, "*-linux-gnu*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range all {
				libraries = append(libraries, l, filepath.Join(l, "pulseaudio"))
			}
		}
		return program, []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"), "FONTCONFIG_FILE=" + filepath.Join(dir(), "fonts.conf")}
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("there is no chromium: run `make tools`, which fetches it into .cache, or install it")
	}
	return program, nil
}

// Size is that of a window, in CSS pixels. A picture has so many, times Scale if that is not 0.
type Size struct {
	Width, Height int64
	Scale         float64
}

// A Browser has one page open.
type Browser struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex // guards what follows
	hosts    []string   // of all requests
	friends  []string   // hosts that a test puts between
	troubles []string
	allowed  []string
}

// Open starts Chromium. It ends with the test.
func Open(t testing.TB, size Size) *Browser {
	t.Helper()
	Wanted(t)
	program, env := find(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Env(env...),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true))
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, end := chromedp.NewContext(allocated)
	b := &Browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		end()
		stop()
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	starts := time.AfterFunc(await.Never, end) // the context of the first action is that of the process
	defer starts.Stop()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(size.Width, size.Height)); err != nil {
		t.Fatal(err)
	}
	return b
}

// In makes a part of the test that opened the browser the one that fails. What the page has
// done before it is forgotten.
func (b *Browser) In(t testing.TB) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t, b.hosts, b.troubles = t, nil, nil
}

// limit returns the context of one action, however long the page has been open.
func (b *Browser) limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, await.Never)
}

// hear takes note of what the page does.
func (b *Browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "blob" {
			b.hosts = append(b.hosts, u.Host)
		}
	case *log.EventEntryAdded: // violations of the policy, requests that failed
		if e.Entry.Level == log.EntryLevelWarning || e.Entry.Level == log.EntryLevelError {
			b.troubles = append(b.troubles, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var texts []string
			for _, a := range e.Args {
				texts = append(texts, fmt.Sprint(a.Value)+a.Description)
			}
			b.troubles = append(b.troubles, "console: "+strings.Join(texts, " "))
		}
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, "exception: "+e.ExceptionDetails.Text)
	}
}

func (b *Browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Visit opens an address.
func (b *Browser) Visit(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
}

// Resize changes the size of the window.
func (b *Browser) Resize(size Size) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(size.Width, size.Height, chromedp.EmulateScale(cmp.Or(size.Scale, 1))))
}

// Prefer sets media features, such as "prefers-color-scheme", "dark".
func (b *Browser) Prefer(feature, value string) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}}); err != nil {
		b.t.Fatal(err)
	}
}

// Zone sets the time zone, such as "America/New_York".
func (b *Browser) Zone(name string) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	if _, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
		b.t.Fatal(err)
	}
}

// Text returns the value of an expression of JavaScript as a text. A promise is awaited.
func (b *Browser) Text(expression string) string {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => String(await ("+expression+")))()", chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// Until waits until an expression of JavaScript is true.
func (b *Browser) Until(expression string) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	await.Until(b.t, func() error {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err != nil {
			return fmt.Errorf("%s: %w", expression, err)
		}
		if !holds {
			return fmt.Errorf("%s does not hold", expression)
		}
		return nil
	})
}

// Click clicks what a selector of CSS finds, with the mouse. The page may move or replace that
// element between the finding and the click, which is then repeated.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	await.Until(b.t, func() error {
		armed, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(`((e) => { window.clicked = false; e?.addEventListener("click", () => { window.clicked = true; }, { capture: true, once: true }); return e !== null; })(document.querySelector(%q))`, selector)))
		if err != nil {
			return err
		}
		if !armed {
			return fmt.Errorf("there is no %s to click", selector)
		}
		if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
			return fmt.Errorf("clicking %s: %w", selector, err)
		}
		missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("window.clicked === false")) // undefined: the click led to another page
		if err == nil && missed {
			return fmt.Errorf("the click on %s hit something else", selector)
		}
		return err
	})
}

// Hold presses the mouse on what a selector of CSS finds, calls f, and lets the mouse go.
func (b *Browser) Hold(selector string, f func()) {
	b.t.Helper()
	x, y := b.within(selector, 0.5)
	b.run(chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	f()
	b.run(chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// Drag moves the pressed mouse over what a selector of CSS finds, between two shares of its
// width.
func (b *Browser) Drag(selector string, from, to float64) {
	b.t.Helper()
	x, y := b.within(selector, from)
	end, _ := b.within(selector, to)
	b.run(chromedp.MouseEvent(chromedp.MouseMoved, x, y),
		chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, (x+end)/2, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, end, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, end, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// within scrolls to what a selector of CSS finds, and returns the point at half its height
// and a share of its width.
func (b *Browser) within(selector string, share float64) (x, y float64) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	text := b.Text(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return JSON.stringify({x: r.x + r.width * %g, y: r.y + r.height / 2}); })()`, selector, share))
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		b.t.Fatal(err)
	}
	return at.X, at.Y
}

// ClickAt clicks a point of the window.
func (b *Browser) ClickAt(x, y float64) {
	b.t.Helper()
	b.run(chromedp.MouseClickXY(x, y))
}

// Press sends keys to what has the focus.
func (b *Browser) Press(keys string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
}

// Picture writes a picture of the whole page.
func (b *Browser) Picture(file string) {
	b.t.Helper()
	b.take(chromedp.FullScreenshot(100), file)
}

// View writes a picture of what the window shows of the page.
func (b *Browser) View(file string) {
	b.t.Helper()
	b.take(chromedp.CaptureScreenshot(), file)
}

func (b *Browser) take(picture chromedp.Action[[]byte], file string) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	png, err := chromedp.Run(ctx, picture)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// Held is what a page holds, after its garbage is collected.
type Held struct {
	Bytes            float64 // of JavaScript
	Nodes, Listeners float64 // of documents, and of events
}

// Held collects the page's garbage and returns what is left.
func (b *Browser) Held() (h Held) {
	b.t.Helper()
	ctx, done := b.limit()
	defer done()
	if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	heap, err := chromedp.Call(ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	counts, err := chromedp.Call(ctx, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	return Held{Bytes: heap.UsedSize + heap.EmbedderHeapUsedSize + heap.BackingStorageSize, Nodes: float64(counts.Nodes), Listeners: float64(counts.JsEventListeners)}
}

// Excuse forgives, in Clean, troubles that contain a text: what the test itself caused.
func (b *Browser) Excuse(text string) { b.allowed = append(b.allowed, text) }

// Allow lets the page ask another host, which a test has put between.
func (b *Browser) Allow(host string) { b.friends = append(b.friends, host) }

// Clean fails the test if the page asked another host, if there were errors or warnings,
// or if it asked nothing at all.
func (b *Browser) Clean(host string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.hosts) == 0 {
		b.t.Error("the page has sent no request: the test tests nothing")
	}
	for _, h := range b.hosts {
		if h != host && !slices.Contains(b.friends, h) {
			b.t.Errorf("a request left for %s", h)
		}
	}
	for _, text := range b.troubles {
		if !slices.ContainsFunc(b.allowed, func(a string) bool { return strings.Contains(text, a) }) {
			b.t.Error(text)
		}
	}
}

// Accessible runs axe-core on the page and fails the test for each serious or critical
// violation.
func (b *Browser) Accessible(what string) {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join(dir(), "axe/axe.min.js"))
	if err != nil {
		b.t.Fatalf("there is no axe-core: run `make tools`: %v", err)
	}
	b.run(chromedp.Evaluate[chromedp.Void](string(axe) + ";0"))
	var result struct {
		Passes     int
		Violations []struct {
			ID, Impact, Help string
			Nodes            []string
		}
	}
	text := b.Text(`axe.run(document, {resultTypes: ["violations", "passes"]}).then((r) => JSON.stringify({passes: r.passes.length,
		violations: r.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 5).map((n) => n.html.slice(0, 200) + " " + n.failureSummary)}))}))`)
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		b.t.Fatal(err)
	}
	if result.Passes < 10 {
		b.t.Errorf("%s: axe-core has passed only %d rules: the test tests little", what, result.Passes)
	}
	for _, v := range result.Violations {
		if v.Impact == "serious" || v.Impact == "critical" {
			b.t.Errorf("%s: %s (%s): %s\n%s", what, v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n"))
		}
	}
}
