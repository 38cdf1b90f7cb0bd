package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/browsertest"
)

// parts are what random names are made of: what means something in HTML, scripts, addresses,
// SQL and JSON, what has no width or turns the direction of writing, and what is long.
var parts = []string{
	"<b>", "</span>", "<script>document.title='broken'</script>", "<img src=x onerror=\"document.title='broken'\">", "javascript:", "${document.title='broken'}",
	`"`, `'`, "`", "\\", "\\n", "&lt;", "&amp;", "&#x22;", "<!--", "]]>", "%00", "%2", "?by.page=", "#token=", "+", " ", "  ", "\t", "\n", "\r\n", "/", "//", "..", ":", "*", ",", "{", "}", "null",
	"\x00", "\x1b[2J", "\u200b", "\u202e", "\u2028", "\ufeff", "\u0301", "ü", "東京", "🦆", "👩‍👩‍👧", "__proto__", "constructor", "toString", strings.Repeat("long", 12),
}

// TestPageNames: the page shows random names of groups as they are, takes each as a filter, and
// runs none of them.
func TestPageNames(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	s := newStage(t)
	s.clicks()
	if _, err := s.admin.CreateTopic(await.Context(t), 1, 1, nil, s.topic("clicks")); err != nil {
		t.Fatal(err)
	}
	weir := s.weir("run")
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	r := rand.New(rand.NewPCG(19, 0))
	now := time.Now().UTC().Truncate(time.Minute)
	sent := map[string]bool{}
	hits := 0
	for round := range 4 {
		// Twelve names, as many as the list has rows, in a minute of their own.
		start := now.Add(time.Duration(-4-round) * time.Minute)
		var names []string
		for len(names) < 12 {
			name := ""
			for range 1 + r.IntN(5) {
				name += parts[r.IntN(len(parts))]
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		var records []*kgo.Record
		for i, name := range names {
			sent[name] = true
			for range len(names) - i { // so that the order is known
				hits++
				records = append(records, &kgo.Record{Topic: s.topic("clicks"), Value: fmt.Appendf(nil, `{"ts":%d,"page":%s,"user_id":%d}`, start.UnixMilli(), quoted(t, name), i)})
			}
		}
		if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		q := url.Values{"from": {start.Format(time.RFC3339)}, "until": {start.Add(time.Minute).Format(time.RFC3339)}}
		b.Visit(weir.address() + "/?" + q.Encode())
		shown := func(want []string) {
			t.Helper()
			b.Until(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll("#top .name")].map((e) => e.textContent)) === JSON.stringify(%s)`, list(t, want)))
		}
		shown(names)
		for i := range 2 { // as a filter, with the statement that asks for it
			b.Until(fmt.Sprintf(`(() => { const e = document.querySelectorAll("#top button.row")[%d]; e?.click(); return e; })()`, i))
			shown(names[i : i+1])
			b.Until(fmt.Sprintf(`document.querySelector("#hits .total strong").textContent === "%d"`, len(names)-i))
			b.Until(fmt.Sprintf(`document.querySelector(".chip:last-child").textContent === %s`, quoted(t, "page = "+names[i]+" ×")))
			b.Click("#hits .how")
			b.Until(`document.querySelectorAll("#ask pre").length > 1`)
			sql := strings.TrimRight(b.Text(`document.querySelector("#ask pre").textContent`), "; \n")
			await.Until(t, func() error { // the statement sees what is flushed
				if n := s.number("SELECT toUInt64(sum(value)) FROM (%s)", sql); n != int64(len(names)-i) {
					return notYet("%q: the statement counts %d, want %d", names[i], n, len(names)-i)
				}
				return nil
			})
			b.Click("#ask .close")
			b.Click(".chip:last-child")
			shown(names)
		}
		if got := b.Text(`document.title + document.querySelectorAll("main b, main img, main script").length`); got != "weir0" {
			t.Fatalf("a name of %q has done something: %s", names, got)
		}
	}

	// A filter of a long value leaves room for the cross that takes it away, and for all else.
	for _, wide := range []int64{1280, 320} {
		b.Resize(browsertest.Size{Width: wide, Height: 900})
		b.Visit(weir.address() + "/?by.page=" + strings.Repeat("x", 300))
		b.Until(fmt.Sprintf(`document.querySelector(".chip:last-child > :last-child")?.getBoundingClientRect().right < %d`, wide))
		b.Until(fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, wide))
	}
	b.Resize(browsertest.Size{Width: 1280, Height: 900})

	// A range with more windows than a list or a chart may have is one of the rollups; of a job
	// without any that can be asked, its latest part is asked for.
	for _, q := range []url.Values{
		{"last": {"24h"}}, {"last": {"7d"}},
		{"from": {now.Add(-7 * 24 * time.Hour).Format(time.RFC3339)}, "until": {now.Add(time.Minute).Format(time.RFC3339)}},
	} {
		b.Visit(weir.address() + "/?" + q.Encode())
		for _, tile := range []string{"#hits", "#over", "#top"} {
			b.Until(fmt.Sprintf(`document.querySelector("%s")?.dataset.state === "ok"`, tile))
		}
		b.Until(fmt.Sprintf(`document.querySelector("#hits .total strong").textContent === "%d"`, hits))
		b.Until(fmt.Sprintf(`document.querySelector("#top .note").textContent.endsWith("; %d groups in all")`, len(sent)))
	}
	b.Visit(weir.address() + "/?last=7d")
	asked := b.Text(`import(document.querySelector("script[type=module]").src.replace("app.js", "tiles.js")).then(({ Top, Series }) => {
		const page = { job: { job: "clicks", window_s: 60, rollup_s: 0, keep_s: 0, rollups: [], by: ["page"], measures: [{ name: "hits", kind: "hits", shows: "events" }] } };
		return new Series(page, "x", "x", () => page.job.measures[0]).question() + " " + new Top(page).question();
	})`)
	if asked != "series?job=clicks&measure=hits&last=172740s top?job=clicks&measure=hits&column=page&n=12&last=14340s" {
		t.Errorf("without rollups the page asks %s", asked)
	}
	b.Clean(strings.TrimPrefix(weir.address(), "http://"))
}

// list writes texts as a JavaScript list.
func list(t *testing.T, texts []string) string {
	t.Helper()
	var all []string
	for _, text := range texts {
		all = append(all, quoted(t, text))
	}
	return "[" + strings.Join(all, ",") + "]"
}
