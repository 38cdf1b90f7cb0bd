package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"weir/internal/await"
	"weir/internal/redistest"
)

func TestShares(t *testing.T) {
	for _, x := range []struct {
		files      uint64
		jobs       int
		http, resp int
	}{
		{1 << 40, 1, httpMost, respMost}, {1 << 20, 64, httpMost, respMost}, {256, 1, 46, 138}, {1024, 2, 236, 708}, {20, 1, 8, 8},
	} {
		if http, resp := divideFiles(x.files, x.jobs); http != x.http || resp != x.resp {
			t.Errorf("of %d files with %d jobs: %d and %d, want %d and %d", x.files, x.jobs, http, resp, x.http, x.resp)
		}
	}
}

// TestFloodLeavesHealthChecks: with few descriptors, and the Redis port full of
// silent connections, health checks are answered, a client with the password can
// connect, and SIGTERM ends the process.
func TestFloodLeavesHealthChecks(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	file := filepath.Join(s.dir, "weir.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "password"), []byte("opensesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "resp: {listen: 127.0.0.1:0, password_file: password}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	out := new(await.Output)
	cmd := exec.Command("sh", "-c", `ulimit -n 256; exec "$0" run`, s.weir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	cmd.Env = append(os.Environ(), "WEIR_CONFIG=")
	ended := launch(t, cmd)
	at := map[string]string{}
	await.Until(t, func() error {
		for _, m := range regexp.MustCompile(`"(http|resp)":"(127[^"]*)"`).FindAllStringSubmatch(out.String(), -1) {
			at[m[1]] = m[2]
		}
		if len(at) < 2 {
			return fmt.Errorf("it does not say where it listens: %s", out)
		}
		return nil
	})
	healthy := func(path string) bool {
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: await.Never}
		res, err := c.Get("http://" + at["http"] + path)
		if err != nil {
			t.Fatalf("in the flood: %v\n%s", err, out)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode == http.StatusOK
	}
	await.Until(t, func() error {
		if !healthy("/readyz") {
			return fmt.Errorf("it is not ready: %s", out)
		}
		return nil
	})
	for i := range 600 {
		conn, err := net.Dial("tcp", at["resp"])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%100 < 99 {
			continue
		}
		for _, path := range []string{"/livez", "/readyz"} {
			if !healthy(path) {
				t.Fatalf("%s is not well after %d connections:\n%s", path, i+1, out)
			}
		}
		c, err := redistest.Dial(at["resp"])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if r, err := c.Do("AUTH", "opensesame"); r != "OK" {
			t.Fatalf("AUTH after %d connections: %v, %v\n%s", i+1, r, err, out)
		}
	}
	if !strings.Contains(out.String(), "limit of open files") {
		t.Errorf("the log does not tell of the limit:\n%s", out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := ends(t, cmd, ended); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
