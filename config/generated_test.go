package config

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated files and golden files")

// golden compares got with a committed file, or rewrites the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test ./config -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not current; go test ./config -update rewrites it", file)
	}
}

func TestGenerated(t *testing.T) {
	golden(t, "../docs/weir.schema.json", JSONSchema())
	golden(t, "../docs/config.md", Reference())
}
