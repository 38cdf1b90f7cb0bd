// Command resp compares the Redis endpoint of weir with redis-server: the same
// redis-benchmark against both in one run, in turns. A round measures the two
// one after the other, in alternating order, so that other work on the machine
// slows both down alike; the ratio is the median of the rounds' ratios, and the
// figures are medians too. It exits with 1 if a ratio is under its floor. `make
// bench-resp` runs it.
package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/bench/internal/testbed"
	"weir/internal/redistest"
)

// A row is a command at a pipeline depth. redis-benchmark replaces the word
// __rand_int__ by a random number padded with zeros, so that it cannot be an
// offset.
type row struct {
	name     string
	pipeline int
	requests int
	floor    float64 // least ratio of our throughput to Redis's
	args     []string
}

const (
	unions = 60
	out    = "bench/results/resp.txt"
)

func rows() []row {
	var list []row
	for _, c := range [][2]string{
		{"PFADD", "PFADD h:__rand_int__ e:__rand_int__"},
		{"SETBIT", "SETBIT bits:__rand_int__ 4095 1"},
		{"GEOADD", "GEOADD places 13.361389 38.115556 m:__rand_int__"},
		{"SADD", "SADD members m:__rand_int__"},
		{"SISMEMBER", "SISMEMBER members m:__rand_int__"},
	} {
		list = append(list,
			row{c[0], 1, 60_000, 0.5, strings.Fields(c[1])},
			row{c[0], 64, 600_000, 1, strings.Fields(c[1])})
	}
	union := []string{"PFCOUNT"}
	for i := range unions {
		union = append(union, fmt.Sprint("dense:", i))
	}
	return append(list, row{fmt.Sprintf("PFCOUNT of %d dense keys", unions), 1, 1500, 20, union})
}

func main() {
	weir := flag.String("weir", "bin/weir", "the binary under test")
	rounds := flag.Int("rounds", 9, "turns of each row")
	only := flag.String("only", "", "regular expression: rows to run")
	flag.Parse()
	under, err := run(*weir, *rounds, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-resp:", err)
		os.Exit(1)
	}
	if under > 0 {
		fmt.Printf("%d under the floor\n", under)
		os.Exit(1)
	}
}

func run(weir string, rounds int, only string) (under int, err error) {
	pick, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		return 0, fmt.Errorf("redis-benchmark is not installed: run `make redis`: %w", err)
	}
	theirs, err := redistest.Launch()
	if err != nil {
		return 0, err
	}
	defer theirs.Stop()
	ours, stop, err := serve(weir)
	if err != nil {
		return 0, err
	}
	defer stop()
	for _, addr := range []string{ours, theirs.Addr} {
		if err := prepare(addr); err != nil {
			return 0, err
		}
	}
	var report testbed.Report
	report.Say("# redis-benchmark against both in turns, client and server on the same CPUs, medians of %d rounds", rounds)
	report.SayWhere()
	report.Say("%-28s %9s %12s %12s %7s %13s %7s", "command", "pipeline", "weir/s", "redis/s", "ratio", "least-most", "floor")
	for _, r := range rows() {
		if !pick.MatchString(fmt.Sprint(r.name, " ", r.pipeline)) {
			continue
		}
		var rates [2][]float64
		var ratios []float64
		for round := range rounds {
			for turn := range 2 {
				side := (round + turn) % 2
				rate, err := measure([]string{ours, theirs.Addr}[side], r)
				if err != nil {
					return 0, fmt.Errorf("%s: %w", r.name, err)
				}
				rates[side] = append(rates[side], rate)
			}
			ratios = append(ratios, rates[0][round]/rates[1][round])
		}
		ratio, mark := testbed.Median(ratios), ""
		if ratio < r.floor {
			under++
			mark = "  UNDER"
		}
		report.Say("%-28s %9d %12.0f %12.0f %6.2fx %6.2f-%-6.2f %6.1fx%s", r.name, r.pipeline, testbed.Median(rates[0]), testbed.Median(rates[1]), ratio,
			slices.Min(ratios), slices.Max(ratios), r.floor, mark)
	}
	if only != "" { // only some rows: the report is not saved
		return under, nil
	}
	return under, report.Save(out)
}

// serve starts `weir serve` on a free port.
func serve(weir string) (addr string, stop func(), err error) {
	if addr, err = testbed.FreeAddress(); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(weir, "serve", "--listen", addr)
	log, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("%w; `make build` makes it", err)
	}
	stop = func() {
		_ = cmd.Process.Kill() // its keys are in memory: nothing is lost
		_ = cmd.Wait()
	}
	if _, err := bufio.NewReader(log).ReadString('\n'); err != nil {
		stop()
		return "", nil, fmt.Errorf("%s serve did not print its address: %w", weir, err)
	}
	return addr, stop, nil
}

// prepare makes the dense sketches.
func prepare(addr string) error {
	c, err := redistest.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range unions {
		args := []any{"PFADD", fmt.Sprint("dense:", i)}
		for j := range 20_000 {
			args = append(args, i*10_000+j)
		}
		if r, err := c.Do(args...); err != nil || r != int64(1) {
			return fmt.Errorf("PFADD: %v, %w", r, err)
		}
	}
	return nil
}

// measure runs redis-benchmark once and returns requests per second.
func measure(addr string, r row) (float64, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	args := append([]string{"-p", port, "-n", strconv.Itoa(r.requests), "-c", "50", "-P", strconv.Itoa(r.pipeline), "-r", "100000", "--csv"}, r.args...)
	var faults bytes.Buffer
	cmd := exec.Command("redis-benchmark", args...)
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w: %s", err, faults.String())
	}
	lines, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(lines) < 2 || len(lines[1]) < 2 {
		return 0, fmt.Errorf("redis-benchmark prints %q: %w", out, err)
	}
	return strconv.ParseFloat(lines[1][1], 64)
}
