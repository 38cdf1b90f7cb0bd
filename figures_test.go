package weir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFigures: the figures of the README about speed equal those of the kept
// results, and its figures about downloads equal the real sizes.
func TestFigures(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// find returns the groups of a pattern in a file, as numbers.
	find := func(file, pattern string) (all []float64) {
		t.Helper()
		m := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(read(file))
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		for _, text := range m[1:] {
			n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, n)
		}
		return all
	}
	row := func(name string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(name) + ` \|.*$`).FindString(read("README.md"))
		if m == "" {
			t.Fatalf("README.md has no row %q", name)
		}
		return m
	}
	says := func(where, text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", where, want, text)
		}
	}
	million := func(n float64) string {
		if n < 1e6 {
			return fmt.Sprintf("%.2f million", n/1e6)
		}
		return fmt.Sprintf("%.1f million", n/1e6)
	}

	pipeline := filepath.Join("bench", "results", "pipeline.txt")
	for codec, name := range map[string]string{"none": "events for each second of CPU, the engine's included", "lz4": "the same with lz4"} {
		naive := find(pipeline, `^`+codec+` +naive +(\d+) +[\d.]+ +[\d.]+ +(\d+)$`)
		weir := find(pipeline, `^`+codec+` +weir +(\d+) +[\d.]+ +[\d.]+ +(\d+)$`)
		both := find(pipeline, `^`+codec+` +weir \+ engine +(\d+) `)
		ratio := find(pipeline, `^`+codec+` +ratio ([\d.]+) .*with the engine ([\d.]+) `)
		says("README.md", row(name), million(both[0]))
		says("README.md", row(name), million(naive[0]))
		says("README.md", row(name), fmt.Sprintf("| %.1f |", ratio[1]))
		alone, memory := "of weir's own CPU", "peak memory in that run"
		if codec == "none" {
			says("README.md", row(alone), fmt.Sprintf("| %.0f |", ratio[0]))
			says("README.md", row(memory), fmt.Sprintf("| %.1f |", weir[1]/naive[1]))
			rows := find(pipeline, `^`+codec+` +([\d.]+) rollup rows `)
			says("README.md", row("rollup rows for each window and page"), fmt.Sprintf("| %.2f |", rows[0]))
		} else {
			alone, memory = name, name
		}
		says("README.md", row(alone), million(weir[0]))
		says("README.md", row(memory), fmt.Sprintf("%.0f MiB", weir[1]))
		says("README.md", row(memory), fmt.Sprintf("%.0f MiB", naive[1]))
	}
	busy := filepath.Join("bench", "results", "pipeline-busy.txt")
	none, lz4 := find(busy, `^none +ratio ([\d.]+) .*with the engine ([\d.]+) `), find(busy, `^lz4 +ratio ([\d.]+) .*with the engine ([\d.]+) `)
	says("README.md", row("of weir's own CPU"), fmt.Sprintf("has %.1f, and %.1f with the engine; %.1f and %.1f with lz4", none[0], none[1], lz4[0], lz4[1]))
	live := filepath.Join("bench", "results", "live.txt")
	up := find(live, `(?s)keeping up.*?100 a second.*? (\d+\.\d) +[\d.]+ +[\d.]+\nratio ([\d.]+),.*?\(floor ([\d.]+)\)`)
	says("README.md", row("what live questions cost"), fmt.Sprintf("%.0f questions a second", up[0]))
	says("README.md", row("what live questions cost"), fmt.Sprintf("%.1f %% of the events", 100*(1-up[1])))
	says("README.md", row("what live questions cost"), fmt.Sprintf("floor %.0f %%", 100*(1-up[2])))
	asked := find(filepath.Join("bench", "results", "live-busy.txt"), `(?s)keeping up.*?\nratio ([\d.]+),.*?catching up.*?\nratio ([\d.]+),`)
	says("README.md", row("what live questions cost"), fmt.Sprintf("On the busy Xeon %.1f and %.1f %%, over the floor", 100*(1-asked[0]), 100*(1-asked[1])))
	viewers := filepath.Join("bench", "results", "viewers.txt")
	for _, pace := range []string{"keeping up", "catching up"} {
		cost := find(viewers, `(?s)`+pace+`: [^#]*?100 viewers [^#]*?ratio ([\d.]+),.*?\(floor ([\d.]+)\)`)
		says("README.md", row("what a hundred viewers of the page cost"), fmt.Sprintf("%.1f %%", 100*(1-cost[0])))
		says("README.md", row("what a hundred viewers of the page cost"), fmt.Sprintf("floor %.0f %%", 100*(1-cost[1])))
	}
	resp := filepath.Join("bench", "results", "resp.txt")
	spread := func(pipeline string) (least, most float64) {
		for _, command := range []string{"PFADD", "SETBIT", "GEOADD"} {
			r := find(resp, `^`+command+` +`+pipeline+` +\d+ +\d+ +([\d.]+)x`)[0]
			if least == 0 || r < least {
				least = r
			}
			most = max(most, r)
		}
		return least, most
	}
	least, most := spread("1")
	says("README.md", row("PFADD, SETBIT, GEOADD, pipeline 1"), fmt.Sprintf("| %.2f to %.2f |", least, most))
	least, most = spread("64")
	says("README.md", row("the same, pipeline 64"), fmt.Sprintf("| %.1f to %.1f |", least, most))
	says("README.md", row("PFCOUNT of 60 dense keys"), fmt.Sprintf("| %.0f |", find(resp, `^PFCOUNT of 60 dense keys +1 +\d+ +\d+ +([\d.]+)x`)[0]))

	fetched := find(filepath.Join("internal", "local", "libchdb", "libchdb.go"), `"linux/amd64":\s*\{[^}]*bytes:\s+([\d_]+),`)
	for _, file := range []string{"README.md", filepath.Join("docs", "tutorial.md")} {
		says(file, read(file), fmt.Sprintf("(%.0f MB, ", fetched[0]/1e6))
	}

	// docs/sizing.md has the same figures.
	sizing := read(filepath.Join("docs", "sizing.md"))
	says("docs/sizing.md", sizing, fmt.Sprintf("live questions, %.0f a second", up[0]))
	says("docs/sizing.md", sizing, fmt.Sprintf("%.1f %% fewer events", 100*(1-up[1])))
	questions := filepath.Join("bench", "results", "questions.txt")
	for row, name := range map[string]string{"retention": "who came back: 30 days, a fifth of the users each", "funnel": "a funnel of three steps within a day, windows of 10 s", "sessions": "sessions of a day, ten events a user, windows of 10 s"} {
		says("docs/sizing.md", sizing, fmt.Sprintf("| %s | %.0f ms | %.0f ms |", name, find(questions, `^`+row+` active +(\d+) `)[0], find(questions, `^`+row+` people +(\d+) `)[0]))
	}
	for _, codec := range []string{"none", "lz4"} {
		says("docs/sizing.md", sizing, fmt.Sprintf("%.0f", find(pipeline, `^`+codec+` +weir +\d+ +[\d.]+ +[\d.]+ +(\d+)$`)[0]))
	}
	for side, row := range map[string]string{"weir": "| weir | %.1f million events for each second of one CPU, %.1f with LZ4 |", `weir \+ engine`: "| weir and the engine it writes to | %.1f million, %.1f with LZ4 |"} {
		none, lz4 := find(pipeline, `^none +`+side+` +(\d+) `), find(pipeline, `^lz4 +`+side+` +(\d+) `)
		says("docs/sizing.md", sizing, fmt.Sprintf(row, none[0]/1e6, lz4[0]/1e6))
	}

	// docs/performance.md has those of make bench-measures, and of the busy machine.
	measures, performance := filepath.Join("bench", "results", "measures.txt"), read(filepath.Join("docs", "performance.md"))
	says("docs/performance.md", performance, fmt.Sprintf("%.1f times as many events in each of them without compression\nand %.1f times as many with LZ4, %.1f and %.1f times with the engine", none[0], lz4[0], none[1], lz4[1]))
	four := find(filepath.Join("bench", "results", "measures-busy.txt"), `^with sum, quantile, topk, set: ([\d.]+) % .* ([\d.]+) % with the engine`)
	says("docs/performance.md", performance, fmt.Sprintf("the four took %.0f %%, and %.0f %%\nwith the engine", four[0], four[1]))
	for name, kinds := range map[string]string{"sum": "sum", "quantile of ids": "quantile", "topk of 32 countries": "topk", "set of users": "set", "the four": "sum, quantile, topk, set"} {
		m := find(measures, `^with `+kinds+` +(\d+) +([\d.]+)% +([\d.]+) +\d+ +([\d.]+)% +(\d+)$`)
		says("docs/performance.md", performance, fmt.Sprintf("| %s | %.2f million | %.0f %% | %.0f %% | %.2f | %.0f |", name, m[0]/1e6, m[1], m[3], m[2], m[4]))
	}
}
