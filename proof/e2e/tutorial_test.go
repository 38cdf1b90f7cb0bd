//go:build prove

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"weir/demo/local/localtest"
	"weir/internal/await"
)

// A block is a fenced block of a document, with its answer, which is the block of
// text after it.
type block struct {
	kind, text string
	answers    bool
	answer     string
}

func readBlocks(t *testing.T, file string) (all []block) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if m[1] == "text" && len(all) > 0 {
			all[len(all)-1].answers, all[len(all)-1].answer = true, strings.TrimSpace(m[2])
			continue
		}
		all = append(all, block{kind: m[1], text: strings.TrimSpace(m[2])})
	}
	return all
}

// TestTutorial runs docs/tutorial.md in its order, and compares the answers. It
// uses other ports, because those of the page may be taken. In make test: TestUp.
func TestTutorial(t *testing.T) {
	parallel(t)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Fatalf("redis-cli is not installed: run `make redis`: %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(house.binary.get(t), filepath.Join(dir, "bin", "weir")); err != nil {
		t.Fatal(err)
	}
	var up *process
	at := map[string]string{} // the addresses of the page, and those in this test
	there := func(text string) string {
		for page, here := range at {
			text = strings.ReplaceAll(text, page, here)
			_, port, _ := net.SplitHostPort(page)
			_, mine, _ := net.SplitHostPort(here)
			text = strings.ReplaceAll(text, "-p "+port, "-p "+mine)
		}
		return text
	}
	ran := map[string]int{}
	for _, b := range readBlocks(t, "../../docs/tutorial.md") {
		same := func(got string, err error) error {
			if got = strings.TrimSpace(got); err != nil || b.answers && got != b.answer {
				return notYet("%s\nanswers\n%s (%v), the page says\n%s", b.text, got, err, b.answer)
			}
			return nil
		}
		command := func() (string, error) {
			c := exec.CommandContext(t.Context(), "bash", "-ec", there(b.text))
			c.Dir = dir
			c.Env = append(os.Environ(), "WEIR_CONFIG=", "WEIR_ENGINE="+house.engine.get(t), "WEIR_KAFKA_BROKERS="+at["127.0.0.1:9092"])
			out, err := c.CombinedOutput()
			return string(out), err
		}
		ran[b.kind]++
		switch {
		case b.kind == "json", b.kind == "", strings.HasPrefix(b.text, "make "):
		case b.kind == "yaml":
			if err := os.WriteFile(filepath.Join(dir, "plays.yaml"), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(b.text, "bin/weir up "):
			args := strings.Fields(b.text)[1:]
			up = launch(t, dir, append(args, "--kafka.brokers=127.0.0.1:0", "--clickhouse.urls=http://127.0.0.1:0", "--http.listen=127.0.0.1:0", "--resp.listen=127.0.0.1:0", "--flush.stop_timeout=2m")...)
			up.prints("^ready ")
			for _, line := range [][2]string{{"127.0.0.1:9092", "broker"}, {"127.0.0.1:8123", "engine"}, {"127.0.0.1:8686", "http"}, {"127.0.0.1:6379", "redis"}} {
				at[line[0]] = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(up.prints("^" + line[1] + " "))
			}
			if !b.answers {
				continue
			}
			said := strings.Split(up.out.String(), "\n")
			for i, want := range strings.Split(there(b.answer), "\n") {
				if !regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".+") + "$").MatchString(said[i]) {
					t.Errorf("weir up says\n%s\nand the page\n%s", said[i], want)
				}
			}
		case strings.HasPrefix(b.text, "pkill -KILL "):
			if !strings.Contains(strings.Join(up.cmd.Args, " "), strings.Trim(b.text[len("pkill -KILL -f "):], "'")[len("weir "):]) {
				t.Errorf("%s would not find %v", b.text, up.cmd.Args)
			}
			up.kill()
		case strings.HasPrefix(b.text, "pkill -INT "):
			up.signal(syscall.SIGINT)
			up.exits(0)
			up.prints("^drained")
		case b.kind == "sh" && (strings.Contains(b.text, "produce") || strings.Contains(b.text, "check")):
			if err := same(command()); err != nil {
				t.Fatal(err)
			}
		case b.kind == "sh":
			await.Until(t, func() error { return same(command()) })
		case b.kind == "sql" && strings.Contains(b.text, "$__timeFilter"): // Grafana's
			got, err := localtest.Query("http://"+at["127.0.0.1:8123"], "weir", "SELECT sum(plays), uniqExact(song) FROM ("+
				strings.ReplaceAll(b.text, "$__timeFilter(window_start)", "window_start >= now() - INTERVAL 1 HOUR")+")")
			if err != nil || got != "200\t5" {
				t.Errorf("%s\nhas plays and songs %s, %v", b.text, got, err)
			}
		case b.kind == "sql":
			await.Until(t, func() error {
				return same(localtest.Query("http://"+at["127.0.0.1:8123"], "weir", b.text+"\nFORMAT "+format(b.answer)))
			})
		default:
			t.Errorf("a block of %s is not run:\n%s", b.kind, b.text)
		}
	}
	if ran["sh"] < 9 || ran["sql"] < 6 || up.runs() {
		t.Errorf("the blocks that ran are %v: the test tests little", ran)
	}
}

// format is that in which a page shows an answer: with names, or none.
func format(answer string) string {
	if answer == "" {
		return "TSV"
	}
	return "TSVWithNames"
}
