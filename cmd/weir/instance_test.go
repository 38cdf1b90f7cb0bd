package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	waiting "weir/internal/await"
)

func TestInstance(t *testing.T) {
	dead := exec.Command(os.Args[0], "-test.run", "^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	// A killed process that its parent, this process, has not collected.
	unreaped := exec.Command("sleep", "600")
	if err := unreaped.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unreaped.Wait() }()
	if !alive(unreaped.Process.Pid) {
		t.Error("a process that sleeps is dead")
	}
	if err := unreaped.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waiting.Until(t, func() error {
		if alive(unreaped.Process.Pid) {
			return errors.New("a killed process that was not collected is alive")
		}
		return nil
	})
	me := instance{"web-1.example", os.Getpid(), 1763600000123}
	if back, ok := parseInstance(me.String()); !ok || back != me {
		t.Errorf("%s reads back as %+v, %v", me, back, ok)
	}
	for _, c := range []struct {
		name string
		id   string
		want bool
	}{
		{"killed", instance{me.host, dead.Process.Pid, me.start - 5000}.String(), true},
		{"killed, in a container where every run has this pid", instance{me.host, me.pid, me.start - 1}.String(), true},
		{"itself", me.String(), false},
		{"alive beside it", instance{me.host, os.Getppid(), me.start}.String(), false},
		{"on another host", instance{"web-2.example", dead.Process.Pid, me.start}.String(), false},
		{"another program", "consumer-weir-1", false},
		{"an older weir", "weir", false},
		{"no pid", "weir-web-1.example--abc", false},
		{"not a number", "weir-web-1.example-7-!", false},
	} {
		if got := me.succeeds(c.id); got != c.want {
			t.Errorf("%s: %s is dead: %v, want %v", c.name, c.id, got, c.want)
		}
	}
}

// FuzzInstance: any program in the group may have any client id. If one parses
// as weir's, its text must parse as the same instance.
func FuzzInstance(f *testing.F) {
	for _, id := range []string{"weir-web-1.example-7-kf12ab", "weir---1-0", "weir-", "consumer-1", "weir-h-7--1", "weir-h-+7-a"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		i, ok := parseInstance(id)
		if !ok {
			return
		}
		if again, ok := parseInstance(i.String()); !ok || again != i || i.pid <= 0 {
			t.Fatalf("%q is %+v, written %q, read as %+v, %v", id, i, i, again, ok)
		}
	})
}
