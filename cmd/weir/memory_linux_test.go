package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"weir/internal/redistest"
)

// TestScratchKeysOfRun: in weir run, memory is divided among scratch keys, clients
// and jobs. Filled with keys until writes are refused, and with replies that are
// not read, the process stays within 1.5 times memory and 64 MiB.
func TestScratchKeysOfRun(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	cmd, out, _ := s.start(t, "run", "--memory=64MiB", "--resp.listen=127.0.0.1:0", "--resp.memory=32MiB")
	at := regexp.MustCompile(`"http":"([^"]+)","resp":"([^"]+)"`)
	eventually(t, "a listener", func() bool { return at.MatchString(out.String()) })
	addr := at.FindStringSubmatch(out.String())
	c, err := redistest.Dial(addr[2])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Do("CONFIG", "GET", "maxmemory")
	if want := []any{"maxmemory", fmt.Sprint(32 << 20)}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("CONFIG GET maxmemory = %v, %v; want %v", got, err, want)
	}
	res, err := http.Get("http://" + addr[1] + "/api/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var status struct {
		Jobs []struct {
			Budget int `json:"memory_budget_bytes"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, j := range status.Jobs {
		sum += j.Budget
	}
	if sum != (64-32-8)<<20 {
		t.Errorf("the jobs may hold %d bytes: %+v; want %d", sum, status, (64-32-8)<<20)
	}
	refused := false
	for i := 0; i < 64 && !refused; i++ {
		r, err := c.Do("SET", fmt.Sprint("k", i), strings.Repeat("x", 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		refused = r != "OK"
	}
	if !refused {
		t.Error("64 MiB of keys were taken")
	}
	for range 8 { // requests 8 MiB each and reads nothing
		idle, err := net.Dial("tcp", addr[2])
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
		fmt.Fprint(idle, strings.Repeat("GET k1\r\n", 8))
	}
	for i := range 200 {
		if _, err := c.Do("SET", fmt.Sprint("k", i%20), strings.Repeat("y", 1<<20)); err != nil {
			t.Fatal(err)
		}
		if n := resident(t, cmd.Process.Pid) >> 20; n > 64*3/2+64 {
			t.Fatalf("%d MiB resident", n)
		}
	}
}
