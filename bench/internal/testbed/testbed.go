// Package testbed holds what the measurements of whole pipelines share: a Kafka
// 4 broker and the real ClickHouse engine, each a process of its own,
// topics filled with ten minutes of traffic, and a report that names the
// machine and the commit. It runs on Linux only: CPU times are the kernel's.
package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/gen"
	"weir/demo/local"
	"weir/event"
	"weir/internal/kafkatest"
)

// Root is the directory in which New and Alone make theirs. Empty: that for temporary files.
var Root string

// Partitions is the number of partitions of each topic.
const Partitions = 4

// A Bed is a broker, an engine and a directory, until Close.
type Bed struct {
	Dir    string // removed by Close
	Kafka  *kafkatest.Cluster
	Broker string // its address
	Engine Engine

	ends []func()
}

// An Engine is ClickHouse with its own HTTP listener, as a process of its own.
type Engine struct {
	URL string
	pid int
}

// New starts the broker, with these listeners besides the one of Broker, and the engine.
func New(listeners ...kafkatest.Listener) (g *Bed, err error) {
	g = new(Bed)
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if g.Dir, err = os.MkdirTemp(Root, "weir-bench-"); err != nil {
		return g, err
	}
	g.ends = append(g.ends, func() { _ = os.RemoveAll(g.Dir) })
	kafka, err := kafkatest.Launch(kafkatest.Config{Steady: true, Listeners: listeners, Properties: map[string]string{
		"num.io.threads": "8", "num.network.threads": "3", // Kafka's defaults, because this broker is measured
	}})
	if err != nil {
		return g, err
	}
	g.ends = append(g.ends, kafka.Close)
	g.Kafka, g.Broker = kafka, kafka.Addrs()[0]
	return g, g.startEngine()
}

// Alone is New without a broker.
func Alone() (g *Bed, err error) {
	g = new(Bed)
	if g.Dir, err = os.MkdirTemp(Root, "weir-bench-"); err != nil {
		return g, err
	}
	g.ends = append(g.ends, func() { _ = os.RemoveAll(g.Dir) })
	if err := g.startEngine(); err != nil {
		g.Close()
		return g, err
	}
	return g, nil
}

// Close stops both and removes the directory.
func (g *Bed) Close() {
	for len(g.ends) > 0 {
		last := len(g.ends) - 1
		g.ends[last]()
		g.ends = g.ends[:last]
	}
}

func (g *Bed) startEngine() error {
	var ports [2]int
	for i := range ports {
		var err error
		if ports[i], err = kafkatest.FreePort(); err != nil {
			return err
		}
	}
	engine, err := local.StartNative(context.Background(), local.NativeConfig{Data: filepath.Join(g.Dir, "engine"), HTTP: ports[0], TCP: ports[1]})
	if err != nil {
		return err
	}
	g.ends = append(g.ends, engine.Kill)
	g.Engine = Engine{engine.URL(), engine.Pid()}
	return nil
}

// asking keeps no connection: the engine closes one that rests, and a POST that goes out just then fails.
var asking = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Query returns the engine's answer to a statement.
func (e Engine) Query(sql string) (string, error) {
	res, err := asking.Post(e.URL, "text/plain", strings.NewReader(sql)) // a GET may not write
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", sql, body)
	}
	return strings.TrimSpace(string(body)), err
}

// CPU returns the time the engine has used.
func (e Engine) CPU() time.Duration { return CPU(e.pid) }

// Peak returns the engine's greatest resident set so far, in bytes.
func (e Engine) Peak() int64 { return Peak(e.pid) }

// Settle waits until the engine has used no CPU time to speak of for three seconds:
// until it has merged what it wants to merge.
func (e Engine) Settle() {
	for quiet, was := 0, e.CPU(); quiet < 6; {
		time.Sleep(500 * time.Millisecond)
		now := e.CPU()
		if quiet++; now-was > 20*time.Millisecond {
			quiet = 0
		}
		was = now
	}
}

// Peak returns a process's greatest resident set so far, in bytes.
func Peak(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// CPU returns the processor time that a process has used, as the kernel counts it.
func CPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}

// FreeAddress returns a loopback address that was free when it looked.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Traffic returns so many events of so many people on 1,000 pages, for Fill.
func Traffic(users, events int64) gen.Config {
	cfg := gen.Default()
	cfg.Users, cfg.Pages, cfg.Events = users, 1000, events
	return cfg
}

// Fill makes a topic and fills it with the traffic (gen.Clicks or gen.Locations) of a span
// of time that ends now. It sets the beginning and the rate of cfg. encode, unless nil, makes
// a record's value of the JSON of an event, which it may not keep.
func (g *Bed) Fill(ctx context.Context, topic string, codec kgo.CompressionCodec, traffic func(gen.Config) (*gen.Generator, error), cfg gen.Config, span time.Duration, encode func(json []byte) ([]byte, error)) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.Broker), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerLinger(50*time.Millisecond), kgo.MaxBufferedRecords(200_000), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := create(ctx, cl, topic); err != nil {
		return err
	}
	cfg.Rate = max(1, cfg.Events/int64(span/time.Second))
	cfg.Start = event.Time(time.Now().Add(-span).UnixMilli())
	made, err := traffic(cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling %s …\n", topic)
	var failed error
	for {
		var r gen.Record // a new one each: the client keeps the value until it is sent
		if !made.Next(&r) {
			break
		}
		if encode != nil {
			if r.Value, err = encode(r.Value); err != nil {
				return err
			}
		}
		cl.Produce(ctx, &kgo.Record{Value: r.Value, Timestamp: time.UnixMilli(int64(r.Time))}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	return errors.Join(cl.Flush(ctx), failed)
}

// Flow sends so many events a second, on 1,000 pages, to an existing topic until ctx
// ends, and returns how many there were.
func (g *Bed) Flow(ctx context.Context, topic string, traffic func(gen.Config) (*gen.Generator, error), rate int64) (sent int64, err error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.Broker), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.ProducerLinger(50*time.Millisecond), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	cfg := gen.Default()
	cfg.Users, cfg.Pages, cfg.Rate, cfg.Start = 100_000, 1000, rate, event.Time(time.Now().UnixMilli())
	made, err := traffic(cfg)
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var failed error
	for ctx.Err() == nil {
		var r gen.Record
		made.Next(&r)
		at := time.UnixMilli(int64(r.Time))
		if early := time.Until(at); early > 0 {
			time.Sleep(early + 50*time.Millisecond) // the next ones are due then, too
		}
		cl.Produce(context.WithoutCancel(ctx), &kgo.Record{Value: r.Value, Timestamp: at}, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
		sent++
	}
	err = cl.Flush(context.WithoutCancel(ctx))
	mu.Lock()
	defer mu.Unlock()
	return sent, errors.Join(err, failed)
}

// Create makes an empty topic.
func (g *Bed) Create(ctx context.Context, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.Broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	return create(ctx, cl, topic)
}

func create(ctx context.Context, cl *kgo.Client, topic string) error {
	_, err := kadm.NewClient(cl).CreateTopic(ctx, Partitions, 1, map[string]*string{"max.message.bytes": kadm.StringPtr("2097152")}, topic)
	return err
}

// Median returns the median of one or more values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// A Report prints each line as it is added, and saves all in a file.
type Report struct{ text strings.Builder }

// Say adds a line and prints it.
func (r *Report) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Println(line)
	r.text.WriteString(line + "\n")
}

// SayWhere adds the line that names machine, toolchain and commit, and how busy
// other programs have kept the machine.
func (r *Report) SayWhere() {
	commit := "unknown"
	if b, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		commit = strings.TrimSpace(string(b))
	}
	load := "unknown"
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	r.Say("# %s, %s, %d CPUs, commit %s, load average %s", cpuModel(), runtime.Version(), runtime.NumCPU(), commit, load)
}

// Save writes the report to a file.
func (r *Report) Save(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(r.text.String()), 0o644)
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}
