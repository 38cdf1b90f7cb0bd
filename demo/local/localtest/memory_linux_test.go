package localtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLeftBehind: a directory in memory whose process was killed is removed, one
// whose process lives is not.
func TestLeftBehind(t *testing.T) {
	lives, err := temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(lives)
	if !strings.HasPrefix(lives, "/dev/shm/") {
		t.Logf("%s: too little memory is free here", lives)
		return
	}
	mine := held
	killed, err := temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(killed)
	if err := os.WriteFile(filepath.Join(killed, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{lives, killed} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := held.Close(); err != nil { // as the end of a process does
		t.Fatal(err)
	}
	third, err := temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(third)
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("%s of a process that is gone: %v", killed, err)
	}
	if _, err := os.Stat(lives); err != nil {
		t.Errorf("%s of a process that lives: %v", lives, err)
	}
	_ = mine.Close()
}
