package redis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/redistest"
)

// more are the commands that need more than their call and the keys.
var more = map[string][]string{
	"onClient":      {"auth", "client", "exec", "hello", "quit", "reset"},
	"onServer":      {"config", "debug", "info"},
	"onTransaction": {"discard", "multi", "unwatch", "watch"},
	"onScripts":     {"eval", "evalsha", "script"},
}

// TestNeeds: each command gets what it needs and no more. Only the commands above get
// a client, a server, a transaction or scripts; the files with commands about keys do
// not mention the types of the first two.
func TestNeeds(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	commands := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		needs := map[string]bool{} // of the commands of this file
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || lit.Type != nil {
				return true
			}
			fields := map[string]ast.Expr{}
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok {
						fields[id.Name] = kv.Value
					}
				}
			}
			if fields["arity"] == nil {
				return true
			}
			commands++
			command := strings.Trim(fields["name"].(*ast.BasicLit).Value, `"`)
			call, ok := fields["run"].(*ast.CallExpr)
			if !ok {
				t.Errorf("%s: %s does not say what it needs", name, command)
				return true
			}
			need := call.Fun.(*ast.Ident).Name
			if needs[need] = true; need != "onKeys" && need != "onNothing" {
				got[need] = append(got[need], command)
			}
			return true
		})
		if len(needs) == 0 || needs["onClient"] || needs["onServer"] {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (id.Name == "client" || id.Name == "Server") {
				t.Errorf("%s has commands about keys and mentions the type %s", name, id.Name)
			}
			return true
		})
	}
	for _, list := range got {
		slices.Sort(list)
	}
	if !maps.EqualFunc(got, more, slices.Equal) {
		t.Errorf("more than keys need %v, want %v", got, more)
	}
	if commands != len(table) {
		t.Errorf("%d commands found, there are %d: the test tests little", commands, len(table))
	}
}

// TestHelp: an error that says "Try CONFIG HELP." is right: HELP names every subcommand.
func TestHelp(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	for _, name := range commandNames() {
		cmd := table[name]
		if cmd.subs == nil && cmd.help == nil {
			continue
		}
		lines, ok := do(t, c, name, "Help").([]any)
		if !ok {
			t.Errorf("%s HELP: %v", name, do(t, c, name, "HELP"))
			continue
		}
		said := map[string]bool{}
		for _, line := range lines[1:] {
			sub, _, _ := strings.Cut(line.(string), " ")
			said[strings.ToLower(sub)] = true
		}
		for sub := range cmd.subs {
			if !said[sub] {
				t.Errorf("%s HELP does not name %s", name, sub)
			}
		}
		if cmd.subs != nil {
			expect(t, c, redistest.Error(arityError(name+"|help")), name, "HELP", "x")
		}
	}
}
