package redis

import (
	"flag"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/commands-redis.md and the answers in docs/cookbook.md anew")

// TestDocument: docs/commands-redis.md is what the command table makes.
func TestDocument(t *testing.T) {
	const path = "../../docs/commands-redis.md"
	want := Document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not up to date: go test ./serve/redis -run Document -update", path)
	}
	for name, cmd := range table {
		switch {
		case !strings.Contains(want, "| "+strings.ToUpper(name)+" |"):
			t.Errorf("%s is in no family of the document: %q", name, cmd.family)
		case cmd.about == "" || cmd.run == nil || cmd.arity == 0:
			t.Errorf("%s lacks something", name)
		}
	}
	for k := typeString; k <= typeDigest; k++ {
		if !strings.Contains(table["type"].about, k.typeName()) {
			t.Errorf("the line of TYPE lacks %s", k.typeName())
		}
	}
}

// TestCookbook runs the redis-cli lines of docs/cookbook.md, each block on a
// fresh server, and compares the output with that in the document.
func TestCookbook(t *testing.T) {
	cli, err := osexec.LookPath("redis-cli")
	if err != nil {
		t.Fatalf("redis-cli is not installed: run `make redis`: %v", err)
	}
	const path = "../../docs/cookbook.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatchIndex(string(text), -1)
	if len(blocks) < 9 {
		t.Fatalf("%d blocks in %s: fewer than the recipes there ought to be", len(blocks), path)
	}
	var out strings.Builder
	last := 0
	for _, at := range blocks {
		block := string(text[at[2]:at[3]])
		_, addr := start(t, Config{Now: newClock().now})
		_, port, _ := strings.Cut(addr, ":")
		var got strings.Builder
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ redis-cli ")
			if !ok {
				continue
			}
			got.WriteString(line)
			cmd := osexec.CommandContext(t.Context(), "sh", "-c", "exec "+cli+" -p "+port+" --no-raw "+strings.TrimSpace(command))
			answer, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, answer)
			}
			got.Write(answer)
		}
		if got.String() != block && !*update {
			t.Errorf("a block of %s prints\n%s\nnot\n%s", filepath.Base(path), got.String(), block)
		}
		out.WriteString(string(text[last:at[2]]) + got.String())
		last = at[3]
	}
	if *update {
		out.Write(text[last:])
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
