package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
)

var (
	hostileFor    = flag.Duration("hostile", 6*time.Second, "how long TestHostileMix goes on")
	hostileFloors = flag.Bool("floors", false, "TestHostileMix fails beyond its bound of PING, too")
)

func init() {
	programs["weir-test-pings"], programs["weir-test-hostiles"] = pings, attack
}

// TestHostileMix runs weir serve, as a process of its own, under a mix of attacks
// of clients on other clients: commands of the greatest length and longer,
// transactions that fill the memory, replies that are not read, requests that do
// not end, silent connections, wrong passwords. It must answer all the time, keep
// its memory within 1.5 times --memory and 64 MiB, and end after a SIGTERM. The
// seeds are fixed; the interleaving depends on time.
//
// PING comes from another process (pings), because in this one it would wait for
// the goroutines of the hostile clients, not for weir.
//
// Only -floors checks the bounds of PING and of the memory: a test must
// not fail because a machine is busy, and a garbage collector that gets no CPU falls behind.
// Here twice the memory would be a leak.
func TestHostileMix(t *testing.T) {
	const memory = 64 // MiB
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("opensesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := new(await.Output)
	cmd := exec.Command(binary(t), "serve", "--listen", "127.0.0.1:0", "--password-file", file, "--memory", fmt.Sprint(memory, "MiB"))
	cmd.Stdout, cmd.Stderr = out, out
	ended := launch(t, cmd)
	var addr string
	await.Until(t, func() error {
		if addr = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(out.String()); addr == "" {
			return errors.New("it does not say where it listens")
		}
		return nil
	})
	// They get the lowest priority, as if they ran on other machines.
	others := exec.Command("nice", "-n", "19", "weir-test-hostiles", addr)
	others.Stderr = os.Stderr
	until, err := others.StdinPipe() // the hostile clients stop when it closes
	if err != nil {
		t.Fatal(err)
	}
	var turns bytes.Buffer
	others.Stdout = &turns
	if err := others.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = others.Process.Kill() }) // if it still runs
	ping := exec.Command("weir-test-pings", addr, hostileFor.String())
	ping.Stderr = os.Stderr
	answer, err := ping.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ping.Start(); err != nil {
		t.Fatal(err)
	}
	peak := 0 // bytes
	answered := make(chan []byte)
	go func() { b, _ := io.ReadAll(answer); answered <- b }() // Unmarshal reports a truncated answer
	var reply []byte
	for look := time.NewTicker(5 * time.Millisecond); reply == nil; {
		select {
		case reply = <-answered:
		case <-look.C:
			peak = max(peak, resident(t, cmd.Process.Pid))
		}
	}
	if err := ping.Wait(); err != nil {
		t.Fatalf("the process that PINGs: %v\n%s", err, out)
	}
	var got pinged
	if err := json.Unmarshal(reply, &got); err != nil {
		t.Fatalf("the process that PINGs said %q: %v", reply, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil { // while the attacks continue
		t.Fatal(err)
	}
	await.Receive(t, "the end of weir serve", ended)
	_ = until.Close()
	if err := others.Wait(); err != nil {
		t.Errorf("the hostile process: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	t.Logf("%s, %s hostile connections; PING %d times: median %s, p99 %s, longest %s; resident %d MiB at most, with --memory %dMiB",
		*hostileFor, turns.String(), got.Times, got.Median, got.P99, got.Longest, peak>>20, memory)
	for _, l := range strings.Fields(got.Info) {
		if name, _, _ := strings.Cut(l, ":"); slices.Contains([]string{"used_memory_dataset", "total_connections_received", "total_commands_processed", "rejected_connections", "evicted_clients", "acl_access_denied_auth"}, name) {
			t.Log(l)
		}
	}
	if peak == 0 {
		t.Error("its memory was never measured")
	}
	most := memory*3/2 + 64
	if !*hostileFloors {
		most *= 2
	}
	if peak>>20 > most {
		t.Errorf("%d MiB resident, more than %d", peak>>20, most)
	}
	if *hostileFloors && got.P99 > 20*time.Millisecond {
		t.Errorf("PING took %s at the 99th percentile, more than 20ms", got.P99)
	}
}

// attack is the command weir-test-hostiles ADDRESS: it runs three of each of the
// hostiles at a time, until its standard input ends, and prints how many
// connections there were.
func attack() {
	addr := os.Args[1]
	var over atomic.Bool
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); over.Store(true) }()
	var all sync.WaitGroup
	var turns atomic.Int64
	for kind, f := range hostiles {
		// Each kind has an address of its own: passwords from that of the guesses must wait.
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+kind))}}
		for n := range 3 {
			r := rand.New(rand.NewPCG(14, uint64(100*kind+n)))
			all.Go(func() {
				for !over.Load() {
					if conn, err := d.Dial("tcp", addr); err == nil {
						_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
						f(r, conn)
						_ = conn.Close()
						turns.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	fmt.Print(turns.Load())
}

// pinged is the result of pings: how long PING took, and INFO at the end.
type pinged struct {
	Times                int
	Median, P99, Longest time.Duration
	Info                 string
}

// pings is the command weir-test-pings ADDRESS DURATION: it sends PING every 2 ms
// or as soon as the last is answered, and prints a pinged.
func pings() {
	fail := func(err error) { fmt.Fprintln(os.Stderr, "weir-test-pings:", err); os.Exit(1) }
	during, err := time.ParseDuration(os.Args[2])
	if err != nil {
		fail(err)
	}
	conn, err := redistest.Dial(os.Args[1])
	if err != nil {
		fail(err)
	}
	if r, err := conn.Do("AUTH", "opensesame"); r != "OK" {
		fail(fmt.Errorf("AUTH: %v, %w", r, err))
	}
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < during; {
		at := time.Now()
		if r, err := conn.Do("PING"); err != nil || r != "PONG" {
			fail(fmt.Errorf("PING: %v, %w", r, err))
		}
		took = append(took, time.Since(at))
		time.Sleep(2 * time.Millisecond)
	}
	info, err := conn.Do("INFO", "everything")
	if err != nil {
		fail(err)
	}
	slices.Sort(took)
	at := func(share float64) time.Duration { return took[int(share*float64(len(took)-1))] }
	_ = json.NewEncoder(os.Stdout).Encode(pinged{len(took), at(0.5), at(0.99), at(1), fmt.Sprint(info)}) // the reader notices a missing answer
}

// resident returns the memory of a process as the system counts it.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// hostiles are the attacks; each uses one connection and returns.
var hostiles = []func(r *rand.Rand, conn net.Conn){
	logged(func(r *rand.Rand, w io.Writer) { // long lists
		for range 5 {
			say(w, append([]string{"LPUSH", fmt.Sprint("l", r.IntN(20))}, slices.Repeat([]string{"x"}, 1000+r.IntN(60_000))...)...)
			say(w, "LRANGE", fmt.Sprint("l", r.IntN(20)), "0", fmt.Sprint(r.IntN(100_000)))
		}
	}),
	logged(func(r *rand.Rand, w io.Writer) { // strings of the greatest length, and a transaction that fills the memory with them
		say(w, "SETRANGE", "big", fmt.Sprint(4<<20+r.IntN(8<<20)), "x")
		say(w, "SET", fmt.Sprint("s", r.IntN(20)), strings.Repeat("x", r.IntN(9<<20)))
		say(w, "MULTI")
		for i := range 40 {
			say(w, "BITOP", "NOT", fmt.Sprint("d", i), "big")
			say(w, "BF.RESERVE", fmt.Sprint("b", r.Int()), "0.01", "10000000")
			say(w, "GET", "big")
		}
		say(w, "EXEC")
		for range 100 {
			say(w, "BITCOUNT", "big")
			say(w, "BITPOS", "big", "1")
		}
	}),
	logged(func(r *rand.Rand, w io.Writer) { // positions, by the thousand, and searches for all of them
		for range 20 {
			args := []string{"GEOADD", fmt.Sprint("g", r.IntN(3))}
			for range 1000 + r.IntN(2000) {
				args = append(args, fmt.Sprint(10+r.Float64()), fmt.Sprint(50+r.Float64()), fmt.Sprint("m", r.IntN(1_000_000)))
			}
			say(w, args...)
			say(w, "GEOSEARCH", "g0", "FROMLONLAT", "10.5", "50.5", "BYRADIUS", "500", "km", "ASC", "WITHDIST")
			say(w, "ZRANGE", "g1", "0", fmt.Sprint(r.IntN(60_000)), "WITHSCORES")
			say(w, "ZREMRANGEBYRANK", "g2", "0", fmt.Sprint(r.IntN(10_000)))
		}
	}),
	logged(func(r *rand.Rand, w io.Writer) { // many keys, and all of them at once
		for range 20_000 {
			say(w, "SET", fmt.Sprint("k", r.IntN(1_000_000)), "x", "PX", fmt.Sprint(1+r.IntN(20_000)))
		}
		for range 20 {
			say(w, "KEYS", "*a*a*a*b")
			say(w, "SCAN", "0", "COUNT", "1000000", "MATCH", "*"+strings.Repeat("?", 100)+"b")
		}
		args := []string{"PFADD", fmt.Sprint("h", r.IntN(100))}
		for i := range 50_000 {
			args = append(args, fmt.Sprint(i))
		}
		say(w, args...)
		for range 100 {
			say(w, append([]string{"PFCOUNT"}, slices.Repeat([]string{"h1"}, 1500)...)...)
		}
		say(w, append([]string{"BF.MADD", "f"}, args[2:10_000]...)...)
		if r.IntN(4) == 0 {
			say(w, "FLUSHALL")
		}
	}),
	func(r *rand.Rand, conn net.Conn) { // requests large replies, and reads none
		w := bufio.NewWriter(conn)
		say(w, "AUTH", "opensesame")
		for range 10 {
			say(w, "GET", "big")
		}
		_ = w.Flush()
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
	},
	func(r *rand.Rand, conn net.Conn) { // requests and transactions that do not end
		w := bufio.NewWriter(conn)
		say(w, "AUTH", "opensesame")
		say(w, "MULTI")
		for range r.IntN(200) {
			say(w, "ECHO", strings.Repeat("x", 30_000))
		}
		fmt.Fprintf(w, "*2\r\n$4\r\nECHO\r\n$%d\r\n%s", 8<<20, strings.Repeat("x", r.IntN(8<<20)))
		_ = w.Flush()
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
	},
	func(r *rand.Rand, conn net.Conn) { // silent, or guessing passwords
		if r.IntN(2) == 0 {
			_, _ = io.WriteString(conn, strings.Repeat("AUTH wrong\r\n", 1000))
		}
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
	},
	logged(func(r *rand.Rand, w io.Writer) { // changes of the operator's settings
		say(w, "CONFIG", "SET", "maxmemory", "9000000000000000000")
		say(w, "CONFIG", "SET", "maxmemory", fmt.Sprint(64<<20))
		say(w, "DEBUG", "SET-ACTIVE-EXPIRE", fmt.Sprint(r.IntN(2)))
		say(w, "EVAL", strings.Repeat("x", r.IntN(4<<20)), "0")
		say(w, "CLIENT", "LIST")
		say(w, "INFO")
		say(w, append([]string{"COMMAND", "DOCS"}, slices.Repeat([]string{"set"}, 4000)...)...)
	}),
}

// logged returns a hostile client with the password that reads its replies.
func logged(f func(r *rand.Rand, w io.Writer)) func(*rand.Rand, net.Conn) {
	return func(r *rand.Rand, conn net.Conn) {
		go func() { _, _ = io.Copy(io.Discard, conn) }() // until the connection ends
		w := bufio.NewWriterSize(conn, 1<<20)
		say(w, "AUTH", "opensesame")
		f(r, w)
		_ = w.Flush()
		time.Sleep(100 * time.Millisecond)
	}
}

// say writes a command.
func say(w io.Writer, args ...string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	_, _ = w.Write(b.Bytes()) // the server may have closed the connection
}
