package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"weir/bench/internal/testbed"
	"weir/internal/redistest"
)

// The other side of a row.
const (
	Redis     = "redis"
	Libraries = "libraries"
)

// A Side runs n operations and returns the processor time that they took.
type Side func(n int) (time.Duration, error)

// A Row compares our side with another.
type Row struct {
	Name    string  // of the operation
	Other   string  // the other side, in a few words
	Against string  // Redis or Libraries
	Floor   float64 // least ratio of the other's time to ours
	Aim     float64 // the ratio to aim for, if above Floor
	Ours    Side
	Theirs  Side
	N       int // operations in a run; 0: as many as fill some milliseconds
	Theirsn int // the same for the other side; 0: like N
}

// A Limit is a number that must not be exceeded.
type Limit struct {
	Name    string
	Against string
	Unit    string
	Value   float64
	Most    float64
	Aim     float64
}

// A Bench runs rows and prints a line for each.
type Bench struct {
	against string
	only    *regexp.Regexp
	rounds  int
	under   int
	server  *redistest.Server
}

func (b *Bench) header() {
	new(testbed.Report).SayWhere()
	fmt.Printf("%-46s %-30s %11s %11s %8s %7s %7s\n", "operation", "against", "ours", "other", "ratio", "floor", "aim")
}

// Wants tells whether a row will run. If not, its data need not be made.
func (b *Bench) Wants(against, name string) bool {
	return (b.against == "all" || b.against == against) && b.only.MatchString(name)
}

// Compare runs a row.
func (b *Bench) Compare(r Row) error {
	if !b.Wants(r.Against, r.Name) {
		return nil
	}
	n, err := operations(r.Ours, r.N)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	m, err := operations(r.Theirs, cmp.Or(r.Theirsn, r.N))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", r.Name, r.Other, err)
	}
	ours, theirs := math.Inf(1), math.Inf(1)
	for round := 0; round < b.rounds || round < 5*b.rounds && theirs < r.Floor*ours; round++ {
		d, err := r.Ours(n)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		ours = min(ours, float64(d)/float64(n))
		if d, err = r.Theirs(m); err != nil {
			return fmt.Errorf("%s, %s: %w", r.Name, r.Other, err)
		}
		theirs = min(theirs, float64(d)/float64(m))
	}
	ratio := theirs / ours
	b.line(r.Name, r.Other, nanoseconds(ours), nanoseconds(theirs), fmt.Sprintf("%.1fx", ratio), fmt.Sprintf("%gx", r.Floor), fmt.Sprintf("%gx", cmp.Or(r.Aim, r.Floor)), ratio < r.Floor)
	return nil
}

// Limit checks a number.
func (b *Bench) Limit(l Limit) {
	if !b.Wants(l.Against, l.Name) {
		return
	}
	unit := func(x float64) string { return fmt.Sprintf("%.4g %s", x, l.Unit) }
	b.line(l.Name, "-", unit(l.Value), "-", "-", "<="+unit(l.Most), "<="+unit(cmp.Or(l.Aim, l.Most)), l.Value > l.Most)
}

func (b *Bench) line(name, other, ours, theirs, ratio, floor, aim string, under bool) {
	mark := ""
	if under {
		mark = "  UNDER ITS FLOOR"
		b.under++
	}
	fmt.Printf("%-46s %-30s %11s %11s %8s %7s %7s%s\n", name, other, ours, theirs, ratio, floor, aim, mark)
}

// operations finds the number of operations that take a few milliseconds: long
// compared with the clock's microsecond, and short compared with a time slice.
func operations(s Side, n int) (int, error) {
	if n > 0 {
		return n, nil
	}
	for n = 1; ; n *= 2 {
		d, err := s(n)
		if err != nil {
			return 0, err
		}
		if d >= 3*time.Millisecond || n >= 1<<26 {
			return n, nil
		}
	}
}

// Here makes a side of a function that runs n operations in this process.
func Here(run func(n int)) Side {
	return func(n int) (time.Duration, error) {
		start := ownCPU()
		run(n)
		return ownCPU() - start, nil
	}
}

// Around makes a side of a function that handles the events from and up to a number, of
// as many as there are. Each run goes on after the one before, and begins again at the
// end; of must be a multiple of every n.
func Around(of int, run func(from, to int)) Side {
	next := 0
	return Here(func(n int) {
		run(next, next+n)
		next = (next + n) % of
	})
}

func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // the arguments are constants
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Server returns a redis-server for this run, started by the first call.
func (b *Bench) Server() (*redistest.Server, error) {
	if b.server == nil {
		s, err := redistest.Launch()
		if err != nil {
			return nil, err
		}
		b.server = s
	}
	return b.server, nil
}

// sink keeps results from being optimised away.
var sink uint64

func (b *Bench) close() {
	runtime.KeepAlive(sink)
	if b.server != nil {
		b.server.Stop()
		b.server = nil
	}
}

// Command makes a side of one Redis command, repeated in a pipeline. Its time
// is the processor time of the server, with reading and replying. per is the
// number of operations in one command.
func Command(s *redistest.Server, per int, args ...any) Side {
	return func(n int) (time.Duration, error) {
		start, err := s.CPU()
		if err != nil {
			return 0, err
		}
		if err := Pipeline(s, (n+per-1)/per, args...); err != nil {
			return 0, err
		}
		end, err := s.CPU()
		if err != nil {
			return 0, err
		}
		// Only whole commands can run, so the time is scaled to n operations.
		return time.Duration(float64(end-start) * float64(n) / float64((n+per-1)/per*per)), nil
	}
}

// Pipeline sends one command n times, up to 100 at once, and checks that no
// reply is an error.
func Pipeline(s *redistest.Server, n int, args ...any) error {
	c := s.Conn()
	for n > 0 {
		k := min(n, 100)
		for range k {
			if err := c.Send(args...); err != nil {
				return err
			}
		}
		if err := c.Flush(); err != nil {
			return err
		}
		for range k {
			r, err := c.Receive()
			if err != nil {
				return err
			}
			if e, ok := r.(redistest.Error); ok {
				return e
			}
		}
		n -= k
	}
	return nil
}

func nanoseconds(x float64) string {
	switch {
	case x < 1e3:
		return fmt.Sprintf("%.3g ns", x)
	case x < 1e6:
		return fmt.Sprintf("%.3g µs", x/1e3)
	default:
		return fmt.Sprintf("%.3g ms", x/1e6)
	}
}
