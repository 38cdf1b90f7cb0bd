// Command stack runs docker-compose.yml and tests it: the stack starts, counts, answers
// requests, survives the restart of each service, keeps its data, and leaves nothing
// behind when it is removed.
//
//	make stack
//
// It needs a machine with docker, or a bare Debian as root, where it installs and starts
// a container engine for this run. The images of Kafka, ClickHouse and Go are stand-ins,
// built from what the machine has. docker-compose.yml is used unchanged, with
// override.yml. docs/proof.md says what is not tested.
//
// It exits with 1 if something fails, after the state and the log of every service, and with
// 75 if no container engine answers and none can be started. With -optional it reports that
// and exits with 0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

var optional = flag.Bool("optional", false, "if no container engine answers and none can be started, print NOT RUN and exit 0")

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx)
	var elsewhere *done
	switch {
	case err == nil:
	case errors.As(err, &elsewhere): // the other process has printed its errors
		os.Exit(elsewhere.code)
	case errors.Is(err, errNoEngine) && *optional:
		fmt.Printf("stack: docker-compose.yml was NOT RUN: %v\n", err)
	case errors.Is(err, errNoEngine):
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(75)
	default:
		fmt.Fprintln(os.Stderr, "stack: FAILED:", err)
		os.Exit(1)
	}
}

// done is the exit code of a run that happened in another process.
type done struct{ code int }

func (d *done) Error() string { return fmt.Sprintf("ended with code %d", d.code) }

func run(ctx context.Context) (err error) {
	e, err := openEngine(ctx)
	if e != nil {
		defer func() { err = errors.Join(err, e.stop()) }()
	}
	if err != nil {
		return err
	}
	if err := e.buildImages(ctx); err != nil {
		return err
	}
	s := &stack{engine: e}
	// The stack is removed even after a ctrl-C.
	last := context.WithoutCancel(ctx)
	if err := s.down(last); err != nil { // of a run that was killed
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			s.explain(last, os.Stderr)
		}
		err = errors.Join(err, s.down(last))
	}()
	began := time.Now()
	if err := (&check{stack: s}).all(ctx); err != nil {
		return err
	}
	say("passed in %s", time.Since(began).Round(time.Second))
	return nil
}
