package http

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// BenchmarkStalled measures what clients cost that ask for a stream and read nothing of it: the
// CPU time of the process that answers, in milliseconds for each second, less that of the same
// questions without them. The questions take nothing, and their answers are as long as those of
// the page. A client whose connection is closed comes again after a second.
//
//	make bench-stalled    # four minutes
func BenchmarkStalled(b *testing.B) {
	if os.Getenv("WEIR_BENCH_STALLED") != "" {
		serveAnswers(b)
		return
	}
	for _, n := range []int{255, 500, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cost := 0.0
			for range b.N {
				cost += stalled(b, n)
			}
			b.ReportMetric(cost/float64(b.N), "CPU-ms/s")
		})
	}
}

const askForStream = "GET /api/v1/stream?ask=a&ask=b&ask=c&ask=d&ask=e&ask=f&ask=g HTTP/1.1\r\nHost: x\r\n\r\n"

func stalled(b *testing.B, n int) (cost float64) {
	c := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkStalled$", "-test.benchtime=1x")
	c.Env = append(os.Environ(), "WEIR_BENCH_STALLED=1")
	stdin, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		stdin.Close() // it ends
		_ = c.Wait()
	}()
	address := ""
	for lines := bufio.NewScanner(stdout); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "listens on ")
	}
	reader, err := net.Dial("tcp", address) // one viewer reads
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	fmt.Fprint(reader, askForStream)
	go func() { _, _ = io.Copy(io.Discard, reader) }()

	per := func(d time.Duration) float64 {
		before := spent(b, c.Process.Pid)
		time.Sleep(d)
		return (spent(b, c.Process.Pid) - before) / d.Seconds()
	}
	time.Sleep(3 * time.Second)
	alone := per(20 * time.Second)
	ctx, end := context.WithCancel(b.Context())
	defer end()
	for i := range n {
		go stall(ctx, address, time.Duration(i)*time.Second/time.Duration(n))
	}
	time.Sleep(15 * time.Second)
	return per(time.Minute) - alone
}

// spent returns the CPU time of a process in milliseconds.
func spent(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system float64 // hundredths of a second
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	return 10 * (user + system)
}

// stall is a client that reads nothing.
func stall(ctx context.Context, address string, pause time.Duration) {
	wait := func(d time.Duration) bool {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
	for ; wait(pause); pause = time.Second {
		c, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		_, err = fmt.Fprint(c, askForStream)
		for err == nil && wait(2*time.Second) {
			_, err = fmt.Fprint(c, "\r\n") // fails when the other end has closed it
		}
		c.Close()
	}
}

// serveAnswers answers streams until its standard input ends.
func serveAnswers(b *testing.B) {
	answers := map[string]endpoint{}
	for name, size := range map[string]int{"a": 500, "b": 7000, "c": 7000, "d": 30000, "e": 1500, "f": 2000, "g": 15000} {
		answers[name] = endpoint{nil, func(context.Context, question) (any, error) {
			return time.Now().String() + strings.Repeat("x", size), nil
		}}
	}
	c, s := newConnections(1280), &Server{}
	s.hub = newHub(answers, viewersMost, slog.New(slog.DiscardHandler))
	server := &http.Server{Handler: c.answering(s.guard(http.HandlerFunc(s.stream))), ConnState: c.state, ConnContext: c.context, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	fmt.Println("listens on", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	_ = server.Serve(l) // until it is closed
}
