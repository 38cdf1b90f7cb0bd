package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/demo/local"
	"weir/jobs"
)

// A Measurement is a command that measures a weir binary, with the flags -weir, -out and
// -floor.
type Measurement struct {
	Weir string // the binary to measure

	name  string
	out   string
	floor bool
}

// Command declares the flags of the measurement in bench/NAME. Its figures go to
// bench/results/NAME.txt unless -out names another file.
func Command(name string) *Measurement {
	m := &Measurement{name: name}
	flag.StringVar(&m.Weir, "weir", "bin/weir", "the binary to measure")
	flag.StringVar(&m.out, "out", filepath.Join("bench", "results", name+".txt"), "file for the figures")
	flag.BoolVar(&m.floor, "floor", true, "exit 1 below a floor")
	return m
}

// Main parses the flags and runs the measurement. After an error it ends the process
// with 1.
func (m *Measurement) Main(run func(context.Context) error) {
	local.MaybeChild() // the engine is this binary, started again
	flag.Parse()
	ctx, cancel := context.WithCancel(context.Background())
	err := run(ctx)
	cancel()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench-%s: %v\n", m.name, err)
		os.Exit(1)
	}
}

// Save writes the report to the file of -out. It returns an error that names the floors
// that were missed, unless -floor is false.
func (m *Measurement) Save(r *Report, missed []string) error {
	if err := r.Save(m.out); err != nil {
		return err
	}
	if len(missed) > 0 && m.floor {
		return fmt.Errorf("below the floor: %s", strings.Join(missed, ", "))
	}
	return nil
}

// A Process is what a process used from its beginning to its end.
type Process struct {
	Wall, CPU time.Duration // CPU: user and system time
	Peak      int64         // greatest resident set, in bytes
}

// Measure runs a process to its end and returns what it used.
func Measure(cmd *exec.Cmd) (Process, error) {
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	// The kernel's own figure (ru_maxrss) begins with the memory of the parent
	// process, so the peak is read while the process runs.
	peak, done := int64(0), make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				return Process{}, fmt.Errorf("%w\n%s", err, log.String())
			}
			return Process{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak}, nil
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, Peak(cmd.Process.Pid))
		}
	}
}

// Migrate makes the tables of a configuration.
func (m *Measurement) Migrate(file string) error {
	if said, err := exec.Command(m.Weir, "migrate", "-c", file).CombinedOutput(); err != nil {
		return fmt.Errorf("weir migrate: %w\n%s", err, said)
	}
	return nil
}

// Read makes the tables of a configuration, whose database holds one job clicks, and reads its topic of
// so many events to the end. It returns what weir used, and the CPU time of the engine until that had
// nothing more to merge. The database is dropped.
func (m *Measurement) Read(g *Bed, config, database string, events int64) (weir Process, engine time.Duration, err error) {
	file := filepath.Join(g.Dir, m.name+".yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return weir, 0, err
	}
	if err := m.Migrate(file); err != nil {
		return weir, 0, err
	}
	before := g.Engine.CPU()
	if weir, err = Measure(exec.Command(m.Weir, "run", "-c", file, "--until", "end")); err != nil {
		return weir, 0, err
	}
	g.Engine.Settle()
	engine = g.Engine.CPU() - before
	if err := g.Engine.Check(events, database+".clicks_1m"); err != nil {
		return weir, 0, err
	}
	_, err = g.Engine.Query("DROP DATABASE " + database + " SYNC")
	return weir, engine, err
}

// Status returns the status of the jobs of a process, which answers HTTP at host:port.
func Status(address string) ([]jobs.Status, error) {
	res, err := http.Get("http://" + address + "/api/v1/status")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var status struct{ Jobs []jobs.Status }
	err = json.NewDecoder(res.Body).Decode(&status)
	return status.Jobs, err
}

// Check returns an error unless as many events as wanted are counted in the views
// together.
func (e Engine) Check(want int64, views ...string) error {
	got := int64(0)
	for _, view := range views {
		text, err := e.Query("SELECT sum(hits) FROM " + view)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("hits of %s: %w", view, err)
		}
		got += n
	}
	if got != want {
		return fmt.Errorf("%s: %d events counted, want %d", strings.Join(views, " and "), got, want)
	}
	return nil
}
