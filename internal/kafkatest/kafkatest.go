// Package kafkatest runs a real Apache Kafka for tests: one broker or several,
// on loopback, each in its own process.
//
//	func TestSomething(t *testing.T) {
//		kafka := kafkatest.Start(t, kafkatest.Config{})
//		source, err := ingest.Open(ingest.Config{Brokers: kafka.Addrs()})
//		...
//		kafka.Kill(1) // kill -9
//		kafka.Run(1)  // again, on the same port and data
//	}
//
// A broker takes 1 to 2.5 s to start and about 150 MB. The jars are fetched with
// Maven into .cache/kafka on first use (`make tools` does it ahead). Without
// Java or Maven a test fails and says what to install; only -short skips it.
// Brokers end with the process that started them, even if that is killed with
// kill -9.
package kafkatest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/await"
)

// A Config says what to start. The zero value is one broker with one
// plaintext listener.
type Config struct {
	Brokers    int               // how many, with ids from 1; 0 means 1
	Listeners  []Listener        // besides the plaintext one
	Users      map[string]string // user → password, for SASL listeners: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. They accept OAUTHBEARER, too, with tokens that have no signature
	TLS        *Certificate      // the certificate of SSL listeners; nil makes a fresh one for 127.0.0.1
	Racks      []string          // broker.rack of each broker; clients then may fetch from the replica in their rack (KIP-392)
	Properties map[string]string // server.properties; they override all other settings here
	Advertise  string            // host:port told to clients of the plaintext listener: a proxy in front of a single broker
	Steady     bool              // for tests that kill no broker: a broker counts as dead after a minute instead of 1.5 s, because a busy machine may stop it for seconds
	Dir        string            // keeps the data here; empty means a temporary directory, removed by Close
}

// A Listener is a further listener, on a port of its own.
type Listener struct {
	Name      string // upper case, not PLAINTEXT, INNER or CONTROLLER
	Security  string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Advertise string // host:port told to clients; empty means the listener's own
}

// A Cluster is what Launch started.
type Cluster struct {
	TLS *Certificate // the certificate of SSL listeners; clients should trust its Pool

	dir     string
	keep    bool
	script  string
	format  string
	mu      sync.Mutex // guards the brokers' processes
	brokers []*broker  // broker i has id i+1
}

type broker struct {
	id      int
	dir     string
	ports   map[string]int // by listener name
	process *exec.Cmd      // nil while the broker is down
	stdin   io.WriteCloser
	ended   chan struct{} // closed when the process has ended
}

const startLimit = await.Never

// Wanted skips the test under go test -short, which starts no
// broker. Start calls it; a test that uses Launch must call it.
func Wanted(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no broker: make test does")
	}
}

// Start launches a cluster for one test and closes it when the test ends.
func Start(t testing.TB, c Config) *Cluster {
	t.Helper()
	Wanted(t)
	k, err := Launch(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// Launch starts a cluster and waits until every broker answers. It is Start
// for TestMain and for programs; the caller must Close the cluster.
func Launch(c Config) (*Cluster, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	k := &Cluster{TLS: c.TLS, dir: c.Dir, keep: c.Dir != "", script: filepath.Join(root, "internal", "kafkatest", "kafka.sh")}
	if err := fetch(k.script); err != nil {
		return nil, err
	}
	if k.TLS == nil {
		if k.TLS, err = Certify(time.Now().Add(24 * time.Hour)); err != nil {
			return nil, err
		}
	}
	if k.dir == "" {
		if k.dir, err = os.MkdirTemp("", "kafkatest-"); err != nil {
			return nil, err
		}
	}
	if k.dir, err = filepath.Abs(k.dir); err == nil {
		err = k.configure(c)
	}
	if err == nil {
		err = k.runAll()
	}
	if err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// Addrs returns the plaintext addresses of all brokers, running or not.
func (k *Cluster) Addrs() []string { return k.Listener(plaintext) }

// Listener returns the addresses of all brokers' listeners of that name: where
// the brokers listen, not what they advertise.
func (k *Cluster) Listener(name string) []string {
	var addrs []string
	for _, b := range k.brokers {
		addrs = append(addrs, "127.0.0.1:"+strconv.Itoa(b.ports[name]))
	}
	return addrs
}

// Kill ends broker id with kill -9. Its data stays.
func (k *Cluster) Kill(id int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.brokers[id-1].kill()
}

// Run starts broker id again, on its old port and data, and waits until it
// answers. If the broker runs, Run does nothing.
func (k *Cluster) Run(id int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.brokers[id-1]
	if b.process != nil {
		return nil
	}
	if err := k.launch(b); err != nil {
		return err
	}
	return b.await()
}

// Close kills every broker and removes the data, unless Config.Dir was set.
func (k *Cluster) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, b := range k.brokers {
		b.kill()
	}
	if !k.keep {
		os.RemoveAll(k.dir)
	}
}

// Tail returns the end of a broker's log, for the message of a failing test.
func (k *Cluster) Tail(id int) string { return k.brokers[id-1].tail() }

func (k *Cluster) runAll() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, b := range k.brokers {
		if err := k.launch(b); err != nil {
			return err
		}
	}
	for _, b := range k.brokers {
		if err := b.await(); err != nil {
			return err
		}
	}
	return nil
}

func (k *Cluster) launch(b *broker) error {
	if err := os.Truncate(b.log(), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cmd := exec.Command(k.script, "run", b.dir)
	cmd.Env = append(os.Environ(), "KAFKA_FORMAT="+k.format)
	if !k.keep {
		cmd.Env = append(cmd.Env, "KAFKA_FORGET="+k.dir)
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("kafkatest: %w", err)
	}
	b.process, b.stdin, b.ended = cmd, stdin, make(chan struct{})
	go func() {
		cmd.Wait()
		if complaint.Len() > 0 {
			appendTo(b.log(), complaint.Bytes())
		}
		close(b.ended)
	}()
	return nil
}

// kill ends the broker by a command to kafka.sh.
func (b *broker) kill() {
	if b.process == nil {
		return
	}
	io.WriteString(b.stdin, "kill\n")
	<-b.ended
	b.stdin.Close()
	b.process = nil
}

// await returns when the broker answers. It says so in its log within a few
// milliseconds of opening its port.
func (b *broker) await() error {
	give := time.After(startLimit)
	for {
		if log, _ := os.ReadFile(b.log()); bytes.Contains(log, []byte("Kafka Server started")) {
			return nil
		}
		select {
		case <-b.ended:
			return fmt.Errorf("kafkatest: broker %d ended while starting:\n%s", b.id, b.tail())
		case <-give:
			return fmt.Errorf("kafkatest: broker %d does not answer after %v:\n%s", b.id, startLimit, b.tail())
		case <-time.After(15 * time.Millisecond):
		}
	}
}

func (b *broker) log() string { return filepath.Join(b.dir, "broker.log") }

// tail returns the part of the log that explains a failure: warnings and errors, then
// the last lines.
func (b *broker) tail() string {
	log, _ := os.ReadFile(b.log())
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	var bad []string
	for _, l := range lines {
		if strings.Contains(l, " ERROR ") || strings.Contains(l, " FATAL ") || strings.Contains(l, "Caused by") {
			bad = append(bad, l)
		}
	}
	bad = bad[max(0, len(bad)-10):]
	return strings.Join(slices.Concat(bad, []string{"…"}, lines[max(0, len(lines)-15):]), "\n")
}

func appendTo(file string, text []byte) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.Write(text)
}

// fetch runs the script that downloads the jars, with progress on standard
// error. go test shows that only for a failing package; `make tools` shows it at
// once.
func fetch(script string) error {
	cmd := exec.Command(script, "jars")
	var complaint bytes.Buffer
	cmd.Stderr = io.MultiWriter(os.Stderr, &complaint)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kafkatest: no Kafka broker to test against (%w):\n%s", err, complaint.String())
	}
	return nil
}

// moduleRoot returns the directory of weir.yaml: the working directory, which for a test
// is its package's, or one above it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "weir.yaml")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("kafkatest: %s lies in no checkout", dir)
		}
	}
}

// FreePort returns a port where nothing listens, and which the kernel gives to no
// outgoing connection, so that a test can start, stop and start a server again
// on one address.
func FreePort() (int, error) { return freePort(make(map[int]bool)) }

// freePort picks a port below the range of outgoing connections, so that none of
// them can take it while the broker is down.
func freePort(taken map[int]bool) (int, error) {
	for range 500 {
		p := 15000 + rand.IntN(15000)
		if taken[p] {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(p))
		if err != nil {
			continue
		}
		l.Close()
		taken[p] = true
		return p, nil
	}
	return 0, errors.New("kafkatest: no free port between 15000 and 30000")
}

func sortedLines(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%s\n", k, m[k])
	}
	return b.String()
}
