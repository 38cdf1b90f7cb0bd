package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/await"
)

// kill: the button of the page of weir up kills the process of the jobs with signal 9. The page comes back by
// itself with the numbers of the next process, has the same sentence as the terminal: 0 lost, 0 doubled,
// and what is typed stays. It shows no rate before it knows one. A page of another site cannot do that.
func (w *watched) kill() {
	b, t, p, base := w.Browser, w.t, w.up, w.base
	b.Excuse("net::ERR_INCOMPLETE_CHUNKED_ENCODING") // the stream of the process that dies
	b.Excuse("net::ERR_CONNECTION_RESET")
	w.open()

	// One answer tells no rate, and two tell that of the second between them. What another process reads again is none.
	rates := b.Text(`import(new URL("tiles.js", document.querySelector("script[type=module]").src)).then(({ Process }) => {
		const tile = new Process({ explain() {} });
		return [[1, 7000, 6900, 1], [2, 7300, 7200, 1], [3, 0, 7200, 2], [4, 7290, 7200, 2], [5, 7600, 7500, 2]].map(([second, next, durable, pid]) => {
			tile.show({ now: ` + "`2026-11-26T10:00:0${second}Z`" + `, process: { pid }, jobs: [{ job: "clicks", records: { counted: next * second }, partitions: [{ partition: 0, next, durable, since: "" + pid }] }] });
			return tile.rate.textContent;
		}).join("; ");
	})`)
	if want := "– events per second, by process 1; 300 events per second, by process 1; 150 events per second, by process 2; 100 events per second, by process 2; 150 events per second, by process 2"; rates != want {
		t.Errorf("the tile says %q, want %q", rates, want)
	}

	for i := range 2 {
		pid := p.child()
		b.Until(fmt.Sprintf(`document.querySelector("#process .total")?.textContent.endsWith("by process %d")`, pid))
		hits, _ := w.all()
		w.shows("#hits .total strong", hits)
		if i == 0 {
			foreign(t, base)
		}
		w.send(uint64(200+i), 300)
		b.Click("#process .kill")
		w.filter()
		b.Press("/p/1")
		line := strings.TrimSpace(p.prints(fmt.Sprintf(`^recovery +process %d died of signal 9 at `, pid)))
		sentence := regexp.MustCompile(`^recovery +`).ReplaceAllString(line, "")
		if !regexp.MustCompile(`: no answer for \d+\.\d s, caught up after \d+\.\d s; the audit of log, ledger and rows says: 0 lost, 0 doubled$`).MatchString(sentence) {
			t.Error(line)
		}
		b.Until(fmt.Sprintf(`document.querySelector("#process .told").textContent === %q`, sentence))
		b.Until(`document.querySelector("#process .told").dataset.state === "ok" && document.querySelector("#live").dataset.state === "ok"`)
		hits, _ = w.all()
		w.shows("#hits .total strong", hits)
		if typed := b.Text(`document.activeElement.name + " " + document.activeElement.value`); typed != "page "+strings.Repeat("/p/1", i+1) {
			t.Errorf("what was typed while weir was away is now %q", typed)
		}
		if now := p.child(); now == pid {
			t.Errorf("process %d still runs the jobs", pid)
		}
		b.Until(`!document.querySelector("#process .kill").disabled`)
	}
	b.Picture(filepath.Join("..", "..", "bin", "page", "killed.png"))
	b.Accessible("killed")
}

// foreign asks to kill the process as a page of another site would, and as one whose name leads
// to this machine. The process lives on.
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
			t.Fatalf("%s: %s: the process has died: %v", name, value, err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s: %s", name, value, res.Status)
		}
	}
}
