// Package registrytest runs a real schema registry for tests, in a process of its own. `make
// registry` fetches it, and runs the tests that use it.
package registrytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/await"
	"weir/schemas/schematest"
)

// A Registry is a running registry.
type Registry struct {
	URL string // with the path of Confluent's interface

	t    testing.TB
	port string
	stop func()
}

// Start starts an empty registry on a free port. The package of the test is two directories below
// the module.
func Start(t testing.TB) *Registry {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	r := &Registry{URL: "http://127.0.0.1:" + port + "/apis/ccompat/v7", t: t, port: port}
	t.Cleanup(func() { r.Kill() })
	r.Run()
	return r
}

// Run starts it again, on the same port. It is empty.
func (r *Registry) Run() {
	r.t.Helper()
	// A test runs in the directory of its package, two below that of the module.
	cmd := exec.Command(filepath.Join("registrytest", "registry.sh"), "run", r.port)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	r.stop = func() {
		in.Close()
		<-ended
	}
	await.Until(r.t, func() error {
		select {
		case <-ended:
			r.t.Fatalf("registrytest: it ended:\n%s", &out)
		default:
		}
		res, err := http.Get(r.URL + "/schemas/types")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %d", res.StatusCode)
		}
		return nil
	})
}

// Kill ends it.
func (r *Registry) Kill() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// Add registers a schema as the next version of a subject and returns its id.
func (r *Registry) Add(subject string, s schematest.Schema) uint32 {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"schema": s.Text, "schemaType": s.Type, "references": s.References})
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := http.Post(r.URL+"/subjects/"+subject+"/versions", "application/vnd.schemaregistry.v1+json", bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var answer struct {
		ID uint32 `json:"id"`
	}
	if err != nil || json.Unmarshal(text, &answer) != nil || answer.ID == 0 {
		r.t.Fatalf("registrytest: subject %s: %s, %s, %v", subject, res.Status, strings.TrimSpace(string(text)), err)
	}
	return answer.ID
}
