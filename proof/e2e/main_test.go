// Package e2e tests the whole of weir from outside: the binary as a user runs it,
// with a real Apache Kafka broker and the real ClickHouse engine, through kills,
// outages and other faults. It compares the results, through SQL, with a known
// truth.
//
//	go -C proof test ./e2e                     what make test runs of it
//	go -C proof test ./e2e -run TestKill -v    one fault
//	go -C proof test -tags prove ./e2e         with chaos, soak, shards and other long tests
//
// The tests share one broker and one engine where they do not break them, each
// with topics, groups and a database of its own. At most three work at once: they
// wait more than they compute, even on two cores; no test depends on how long
// anything takes.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"weir/demo/local"
	"weir/demo/local/localtest"
	"weir/internal/kafkatest"
)

func TestMain(m *testing.M) {
	localtest.Hook()
	flag.Parse()
	if testing.Short() {
		fmt.Println("-short starts no broker and no engine: make test does")
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "1000") // slots decide
	code := m.Run()
	if house.broker.v != nil {
		house.broker.v.Close()
	}
	os.RemoveAll(house.dir)
	localtest.Stop()
	os.Exit(code)
}

// house is what all tests share, made when the first test needs it.
var house struct {
	dir    string
	binary onceValue[string]
	engine onceValue[string] // the library, which the binary does not find from a test's directory
	broker onceValue[*kafkatest.Cluster]
}

func init() {
	house.binary.make = build
	house.engine.make = local.FindEngine
	house.broker.make = func() (*kafkatest.Cluster, error) {
		return kafkatest.Launch(kafkatest.Config{Steady: true,
			// For TestOneJobForbidden; clients of the plaintext listener may do everything.
			Listeners:  []kafkatest.Listener{{Name: "SASL", Security: "SASL_PLAINTEXT"}},
			Users:      map[string]string{"ada": "hush"},
			Properties: map[string]string{"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS"},
		})
	}
}

// build compiles the binary that is tested, as `make build` does, but without the
// tables of a debugger, which cost the linker time.
func build() (string, error) {
	var err error
	if house.dir, err = os.MkdirTemp("", "weir-e2e-"); err != nil {
		return "", err
	}
	file := filepath.Join(house.dir, "weir")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/weir")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building weir: %w\n%s", err, out)
	}
	return file, nil
}

type onceValue[T any] struct {
	make func() (T, error)
	once sync.Once
	v    T
	err  error
}

func (o *onceValue[T]) get(t testing.TB) T {
	t.Helper()
	o.once.Do(func() { o.v, o.err = o.make() })
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.v
}

// slots bounds how many tests work at a time. A test that has waited gets a free slot
// before one that has not begun, because its processes run while it waits.
var slots = slotQueue{free: 3}

type slotQueue struct {
	mu               sync.Mutex
	free             int
	returning, fresh []chan struct{}
}

// take waits for a slot in one of the two queues.
func (q *slotQueue) take(queue *[]chan struct{}) {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	*queue = append(*queue, turn)
	q.mu.Unlock()
	<-turn
}

func (q *slotQueue) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, queue := range []*[]chan struct{}{&q.returning, &q.fresh} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = (*queue)[1:]
			return
		}
	}
	q.free++
}

// idle runs wait in a test that called parallel, and lets another test work
// meanwhile.
func idle(wait func()) {
	slots.give()
	defer slots.take(&slots.returning)
	wait()
}

// parallel lets the test run beside others.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	slots.take(&slots.fresh)
	t.Cleanup(slots.give)
}

// parallelFirst is for the two tests that take longest: they begin before the
// others do. It takes the slot while tests still come one after the other.
func parallelFirst(t *testing.T) {
	t.Helper()
	slots.take(&slots.fresh)
	t.Cleanup(slots.give)
	t.Parallel()
}
