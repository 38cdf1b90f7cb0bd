package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/await"
	"weir/internal/browsertest"
)

// TestPageKill: the button of the page of weir up kills the worker with signal 9 while traffic
// flows. The page comes back by itself with the numbers of the next worker, and has the same
// sentence as the terminal: 0 lost, 0 doubled. It shows no rate before it knows one. A page of another site cannot
// do that.
func TestPageKill(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "300")
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	p.prints(`^ready `)
	host := strings.TrimPrefix(base, "http://")
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	b.Excuse("net::ERR_INCOMPLETE_CHUNKED_ENCODING") // the stream of the worker that dies
	b.Excuse("net::ERR_CONNECTION_RESET")
	b.Visit(base + "/?last=15m")

	// One answer tells no rate, and two tell that of the second between them. What another process reads again is none.
	rates := b.Text(`import(new URL("tiles.js", document.querySelector("script[type=module]").src)).then(({ Worker }) => {
		const tile = new Worker({ explain() {} });
		return [[1, 7000, 6900, 1], [2, 7300, 7200, 1], [3, 0, 7200, 2], [4, 7290, 7200, 2], [5, 7600, 7500, 2]].map(([second, next, durable, pid]) => {
			tile.show({ now: ` + "`2026-11-26T10:00:0${second}Z`" + `, worker: { pid }, jobs: [{ job: "clicks", records: { counted: next * second }, partitions: [{ partition: 0, next, durable, since: "" + pid }] }] });
			return tile.rate.textContent;
		}).join("; ");
	})`)
	if want := "– events per second, by process 1; 300 events per second, by process 1; 150 events per second, by process 2; 100 events per second, by process 2; 150 events per second, by process 2"; rates != want {
		t.Errorf("the tile says %q, want %q", rates, want)
	}

	for i := range 2 {
		pid := p.worker()
		b.Until(fmt.Sprintf(`document.querySelector("#worker .total")?.textContent.endsWith("by process %d")`, pid))
		b.Until(`parseInt(document.querySelector("#worker .total strong").textContent.replaceAll(",", "")) > 0`)
		hits := `parseInt(document.querySelector("#hits .total strong").textContent.replaceAll(",", ""))`
		b.Until(hits + " > 0")
		before := b.Text(hits)
		if i == 0 {
			foreign(t, base)
		}
		b.Click("#worker .kill")
		line := strings.TrimSpace(p.prints(fmt.Sprintf(`^worker +process %d died of signal 9 at `, pid)))
		sentence := regexp.MustCompile(`^worker +`).ReplaceAllString(line, "")
		if !regexp.MustCompile(`: no answer for \d+\.\d s, caught up after \d+\.\d s; the audit of log, ledger and rows says: 0 lost, 0 doubled$`).MatchString(sentence) {
			t.Error(line)
		}
		b.Until(fmt.Sprintf(`document.querySelector("#worker .told").textContent === %q`, sentence))
		b.Until(fmt.Sprintf(`document.querySelector("#worker .told").dataset.state === "ok" && document.querySelector("#live").dataset.state === "ok" && %s > %s`, hits, before))
		if now := p.worker(); now == pid {
			t.Errorf("process %d is still the worker", pid)
		}
		b.Until(`!document.querySelector("#worker .kill").disabled`)
	}
	b.Click("#hits .how")
	b.Until(`document.querySelectorAll("#ask pre").length === 3`)
	if redis := b.Text(`document.querySelectorAll("#ask pre")[1].textContent`); !regexp.MustCompile(`^redis-cli -h 127\.0\.0\.1 -p \d+ GET 'w:clicks:hits:`).MatchString(redis) {
		t.Error(redis)
	}
	b.Click("#ask .close")
	b.Picture(filepath.Join("..", "bin", "page", "killed.png"))
	b.Accessible("killed")
	b.Clean(host)
}

// foreign asks to kill the worker as a page of another site would, and as one whose name leads
// to this machine. The worker lives on.
func foreign(t *testing.T, base string) {
	t.Helper()
	for name, value := range map[string]string{"Origin": "http://other.example", "Sec-Fetch-Site": "cross-site", "Host": "other.example"} {
		r, err := http.NewRequestWithContext(await.Context(t), http.MethodPost, base+"/api/v1/kill", nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %s: the worker has died: %v", name, value, err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s: %s", name, value, res.Status)
		}
	}
}
