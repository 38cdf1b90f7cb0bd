//go:build prove

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/proof/browser"
)

// TestPageOutage: a page that is opened while ClickHouse is away, before dead letters were asked for, does not say
// that there are none. One banner says what there is to say, and no tile repeats it. When ClickHouse answers, all is
// there; and when it goes away again, old numbers stay and are marked as old.
// In make test: TestNotNone of serve/http.
func TestPageOutage(t *testing.T) {
	browser.Wanted(t)
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 2)
	proxy := newProxy(t, s.url)
	base := s.weir("run", "--clickhouse.urls="+proxy.url).address()
	var records []*kgo.Record
	for i := range 300 {
		value := fmt.Sprintf(`{"ts":%d,"page":"/p/%d","user_id":%d}`, time.Now().UnixMilli(), i%5, i)
		if i%10 == 0 {
			value = `{"ts":"never"}`
		}
		records = append(records, &kgo.Record{Topic: s.topic("clicks"), Partition: int32(i % 2), Value: []byte(value)})
	}
	if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s.caughtUp("clicks")
	if n := s.number("SELECT count() FROM weir_dead_letters FINAL"); n != 30 {
		t.Fatalf("%d dead letters, want 30", n)
	}
	away := func() { proxy.handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) }
	const banner = `document.querySelector("#away:not([hidden])")`
	away()
	b := browser.Open(t, browser.Size{Width: 1280, Height: 900})
	// What the page says in an outage: never "none", no technical sentence but in Health, and the banner once.
	check := func(name string) {
		t.Helper()
		b.Until(banner + ` && document.querySelector("#live").dataset.state === "away"`)
		b.Until(`[...document.querySelectorAll(".tile:not(#health) .message")].every((m) => !/clickhouse|HTTP/.test(m.textContent))`)
		b.Until(`[...document.querySelectorAll("#people, #hits, #over, #top, #dead")].every((t) => t.hasAttribute("data-old"))`)
		if text := b.Text(`document.querySelector("#live").textContent`); !strings.HasPrefix(text, "ClickHouse is away") {
			t.Errorf("%s: the light says %q", name, text)
		}
		if text := b.Text(`document.querySelector("main").textContent`); strings.Contains(text, "None: ") || strings.Contains(text, "Nothing was counted") {
			t.Errorf("%s: the page says %q", name, text)
		}
		b.Picture("../../bin/page/" + name + ".png")
		b.Accessible(name)
	}

	b.Visit(base + "/")
	b.Until(`document.querySelector("#dead").dataset.state === "error"`)
	check("away")
	if text := b.Text(banner + `.textContent`); !strings.HasPrefix(text, "ClickHouse has not answered for ") || !strings.Contains(text, "lost") || strings.Contains(text, "grey numbers") {
		t.Errorf("the banner says %q", text)
	}
	if text := b.Text(`document.querySelector("#dead .message").textContent`); text != "Not known." {
		t.Errorf("dead letters: %q", text)
	}

	proxy.handle(nil)
	b.Until(`!` + banner + ` && document.querySelector("#live").dataset.state === "ok" && document.querySelector("#hits .total strong")?.textContent === "270" && document.querySelectorAll("#dead tbody tr").length === 30 && !document.querySelector("[data-old]")`)
	b.Until(`document.querySelectorAll("#top .row").length === 5`)

	away()
	b.Until(`document.querySelector("#hits").hasAttribute("data-old")`)
	check("away-later")
	b.Until(`document.querySelector("#hits .total strong").textContent === "270" && document.querySelector("#top").checkVisibility() && document.querySelectorAll("#dead tbody tr").length === 30 && document.querySelectorAll("#top .row").length === 5`)
	if text := b.Text(banner + `.textContent`); !strings.Contains(text, " The grey numbers are of ") {
		t.Errorf("the banner says %q", text)
	}
	b.Clean(strings.TrimPrefix(base, "http://"))
}
