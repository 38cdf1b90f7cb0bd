// Command stack runs docker-compose.yml for real and tries what it promises: it
// comes up, counts, answers, survives the restart of each service, keeps its data
// and goes without a trace.
//
//	make stack
//	make chaos-stack CYCLES=20     # the same containers, struck; see chaos.go
//	make chaos-brokers CYCLES=20   # three brokers in the place of one, and these struck; see brokers.go
//
// It takes a machine with docker, or a bare Debian as root, where it installs and
// starts a container engine for the time being. Kafka, ClickHouse and the Go
// image are stand-ins, built from what the machine has; the file itself is used
// as it is, under override.yml. docs/stack.md says what that leaves untried.
//
// Every figure is printed beside its floor. It exits 1 where something fails,
// after the last words of every service, and 75 where no container engine answers
// or can be started, so that nothing was tried. With -optional it says that
// instead, and exits 0; only with -floors is a missed floor a failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

var (
	cycles = flag.Int("cycles", 0, "strike so many times instead, and compare with the truth after each")
	seed   = flag.Uint64("seed", 0, "of the strikes; 0: a new one")
	three  = flag.Bool("brokers", false, "with -cycles: start three brokers, and strike these")
)

var (
	floors   = flag.Bool("floors", false, "fail where a figure misses its floor")
	optional = flag.Bool("optional", false, "where no container engine answers or can be started, say NOT RUN and exit 0")
)

var keep = flag.Bool("keep", false, "when something fails, wait for ctrl-C before the stack is removed")

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx)
	var elsewhere *done
	switch {
	case err == nil:
	case errors.As(err, &elsewhere): // it has said everything
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

// done is the end of a run that went on in another process.
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
	s := &stack{engine: e, project: "weir-stack", files: []string{"stack/override.yml"}, kafka: []string{"127.0.0.1:9092"}}
	if *three {
		s.project, s.files, s.kafka = "weir-brokers", append(s.files, "stack/brokers.yml"), append(s.kafka, "127.0.0.1:9093", "127.0.0.1:9094")
	}
	// What is left is removed even after a ctrl-C.
	last := context.WithoutCancel(ctx)
	if err := s.down(last); err != nil { // of a run that was killed
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			s.lastWords(last, os.Stderr)
			if *keep {
				say("%v", err)
				say("the stack is kept until ctrl-C")
				<-ctx.Done()
			}
		}
		err = errors.Join(err, s.down(last))
	}()
	c := &check{stack: s}
	began := time.Now()
	if *cycles > 0 {
		if *seed == 0 {
			*seed = rand.Uint64N(1_000_000) + 1
		}
		h := &chaos{check: c, kinds: strikes, services: []string{"kafka", "clickhouse", "weir"}}
		if *three {
			h.kinds, h.services, h.settled = brokerStrikes, append(h.services, nodes[1:]...), (*chaos).whole
		}
		err = h.cycles(ctx, *cycles, *seed)
	} else {
		err = c.all(ctx)
	}
	if err != nil {
		return err
	}
	say("passed in %s", time.Since(began).Round(time.Second))
	return nil
}
