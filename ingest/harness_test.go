package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"weir/event"
	"weir/internal/await"
	"weir/internal/kafkatest"
)

var shared struct { // one real broker for all tests that need one
	once  sync.Once
	kafka *kafkatest.Cluster
	err   error
}

func TestMain(m *testing.M) {
	scrubBuffers = true
	if like := os.Getenv("WEIR_TEST_BROKER"); like != "" { // make older
		if ceiling = olderBrokers()[like]; ceiling == nil {
			fmt.Fprintf(os.Stderr, "WEIR_TEST_BROKER: %q is none of %q\n", like, slices.Sorted(maps.Keys(olderBrokers())))
			os.Exit(1)
		}
	}
	code := m.Run()
	if shared.kafka != nil {
		shared.kafka.Close()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const (
	testUser     = "reader"
	testPassword = "kept-quiet-7"
)

// realKafka returns the shared broker. A test that stops a broker starts its own.
func realKafka(t testing.TB) *kafkatest.Cluster {
	t.Helper()
	kafkatest.Wanted(t)
	shared.once.Do(func() {
		shared.kafka, shared.err = kafkatest.Launch(kafkatest.Config{
			Steady: true,
			Listeners: []kafkatest.Listener{
				{Name: "TLS", Security: "SSL"},
				{Name: "SASL", Security: "SASL_PLAINTEXT"},
				{Name: "BOTH", Security: "SASL_SSL"},
			},
			Users:      map[string]string{testUser: testPassword},
			Properties: map[string]string{"log.cleaner.backoff.ms": "200"}, // of 15 s: TestCompactedTopicReadsAsFranzDoes waits for the cleaner
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.kafka
}

// fakeKafka returns a cluster in this process, for responses that no real broker
// gives.
func fakeKafka(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var topicNumber struct {
	sync.Mutex
	n int
}

// newTopic creates a topic with a name of its own. Settings are name, value
// pairs.
func newTopic(t testing.TB, addrs []string, partitions int32, settings ...string) string {
	t.Helper()
	name := newTopicName()
	createTopic(t, addrs, name, partitions, settings...)
	return name
}

func newTopicName() string {
	topicNumber.Lock()
	defer topicNumber.Unlock()
	topicNumber.n++
	return fmt.Sprintf("topic-%d", topicNumber.n)
}

func createTopic(t testing.TB, addrs []string, name string, partitions int32, settings ...string) {
	t.Helper()
	config := make(map[string]*string)
	for i := 0; i < len(settings); i += 2 {
		config[settings[i]] = &settings[i+1]
	}
	admin := newAdmin(t, addrs)
	await.Until(t, func() error { // a topic of that name may still be in deletion
		_, err := admin.CreateTopic(t.Context(), partitions, -1, config, name)
		return err
	})
}

func newClient(t testing.TB, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addrs...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.UnknownTopicRetries(-1), // a topic that was just made
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func newAdmin(t testing.TB, addrs []string) *kadm.Client {
	t.Helper()
	return kadm.NewClient(newClient(t, addrs))
}

// produce writes values to a partition in one go.
func produce(t testing.TB, addrs []string, topic string, partition int32, values []string, opts ...kgo.Opt) {
	t.Helper()
	for {
		c := newClient(t, addrs, opts...)
		var records []*kgo.Record
		for _, v := range values {
			records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
		}
		err := c.ProduceSync(t.Context(), records...).FirstErr()
		c.Close()
		if hungUp := new(kgo.ErrFirstReadEOF); errors.As(err, &hungUp) {
			continue // refused by a broker that stops or starts, before anything was sent
		}
		if err != nil {
			t.Fatalf("producing to %s/%d: %v", topic, partition, err)
		}
		return
	}
}

func numbered(prefix string, from, to int) []string {
	var values []string
	for i := from; i < to; i++ {
		values = append(values, fmt.Sprintf("%s%d", prefix, i))
	}
	return values
}

// A logbook keeps the log of a Source.
type logbook struct{ await.Output }

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// open opens a Source with times that suit tests.
func open(t testing.TB, c Config) (*Source, *logbook) {
	t.Helper()
	setDefault(&c.Session, 6*time.Second)
	setDefault(&c.Heartbeat, 100*time.Millisecond)
	setDefault(&c.Watch, 200*time.Millisecond)
	book := &logbook{}
	c.Log = book.logger()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if t.Failed() {
			t.Logf("the source's log:\n%s", book)
		}
	})
	return s, book
}

// A taker reads Parts as a job does, in a goroutine of its own. It checks the
// guarantees of the package and keeps the records.
type taker struct {
	mu      sync.Mutex
	next    map[int32]int64
	records map[int32][]string // offset:time:value
	plain   map[int32][]string // value
	parts   int
	last    map[int32]event.Part
	problem error
	queue   chan event.Part
	done    chan struct{}
}

func newTaker(from map[int32]int64) *taker {
	k := &taker{
		next:    make(map[int32]int64),
		records: make(map[int32][]string),
		plain:   make(map[int32][]string),
		last:    make(map[int32]event.Part),
		queue:   make(chan event.Part, 4),
		done:    make(chan struct{}),
	}
	for p, o := range from {
		k.next[p] = o
	}
	go func() {
		defer close(k.done)
		for p := range k.queue {
			k.take(p)
		}
	}()
	return k
}

func (k *taker) take(p event.Part) {
	defer p.Done()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parts++
	k.last[p.Partition] = p
	err := p.Unpack(func(b *event.Batch) error {
		if b.Partition != p.Partition || b.First != k.next[p.Partition] || b.Next <= b.First {
			return fmt.Errorf("partition %d: batch of %d [%d, %d), want it to begin at %d", p.Partition, b.Partition, b.First, b.Next, k.next[p.Partition])
		}
		k.next[p.Partition] = b.Next
		if b.Unreadable != "" {
			if len(b.Records) > 0 {
				return fmt.Errorf("partition %d: %d records in an unreadable batch", p.Partition, len(b.Records))
			}
			k.plain[p.Partition] = append(k.plain[p.Partition], fmt.Sprintf("[%d, %d): %s", b.First, b.Next, b.Unreadable))
		}
		previous := b.First - 1
		for _, r := range b.Records {
			if r.Offset <= previous || r.Offset >= b.Next {
				return fmt.Errorf("partition %d: offset %d after %d in [%d, %d)", p.Partition, r.Offset, previous, b.First, b.Next)
			}
			previous = r.Offset
			k.records[p.Partition] = append(k.records[p.Partition], sprint(r.Offset, int64(r.Time), r.Value))
			k.plain[p.Partition] = append(k.plain[p.Partition], string(r.Value))
		}
		return nil
	})
	if end := k.next[p.Partition]; err == nil && (p.HighWater < end || p.LastStable < end || p.HighWater < p.LastStable) {
		err = fmt.Errorf("partition %d: read to %d, last stable %d, high water %d", p.Partition, end, p.LastStable, p.HighWater)
	}
	if err != nil && k.problem == nil {
		k.problem = err
	}
}

func sprint(offset, ms int64, value []byte) string {
	if value == nil {
		return fmt.Sprintf("%d:%d:null", offset, ms)
	}
	return fmt.Sprintf("%d:%d:%q", offset, ms, value)
}

// reached reports whether every partition has been read to its end, or returns
// the taker's error.
func (k *taker) reached(ends map[int32]int64) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p, end := range ends {
		if k.next[p] < end {
			return false, k.problem
		}
	}
	return true, k.problem
}

// fetchTo reads from the given offsets until the given ends are reached, and
// returns what it read. The generation stays usable.
func fetchTo(t testing.TB, ctx context.Context, g *Generation, from, ends map[int32]int64) *taker {
	t.Helper()
	k := newTaker(from)
	err := k.fetch(ctx, g, ends)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// fetch feeds the taker until the ends are reached (nil: until Fetch fails).
func (k *taker) fetch(ctx context.Context, g *Generation, ends map[int32]int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	enough := errors.New("enough")
	watching := make(chan error, 1)
	go func() {
		for ends != nil {
			if ok, err := k.reached(ends); ok || err != nil {
				cancel()
				if err == nil {
					err = enough
				}
				watching <- err
				return
			}
			if !sleep(ctx, 2*time.Millisecond) {
				break
			}
		}
		watching <- nil
	}()
	k.mu.Lock()
	from := make(map[int32]int64)
	for p, o := range k.next {
		from[p] = o
	}
	k.mu.Unlock()
	err := g.Fetch(ctx, from, func(p event.Part) error {
		select {
		case k.queue <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	cancel()
	close(k.queue)
	<-k.done
	if why := <-watching; why != nil {
		err = why
	}
	if k.problem != nil {
		return k.problem
	}
	if errors.Is(err, enough) {
		return nil
	}
	if err == nil {
		err = g.Err()
	}
	if err == nil {
		return errors.New("Fetch returned without a reason")
	}
	if ok, _ := k.reached(ends); ends != nil && !ok {
		return fmt.Errorf("%w; read to %v of %v", err, k.next, ends)
	}
	return err
}

func starts(g *Generation) map[int32]int64 {
	from := make(map[int32]int64)
	for _, a := range g.Partitions() {
		from[a.Partition] = a.LogStart
	}
	return from
}

// readAll reads a topic from start to end without a group. It waits until no transaction
// is open: a transaction's producer is answered before its markers are in the log.
func readAll(t testing.TB, s *Source) *taker {
	t.Helper()
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	ends := map[int32]int64{}
	await.Until(t, func() error {
		spans, err := s.Spans(ctx)
		for p, span := range spans {
			if ends[p] = span.Next; span.Next < span.End {
				err = fmt.Errorf("partition %d has an open transaction", p)
			}
		}
		return err
	})
	return fetchTo(t, ctx, g, starts(g), ends)
}

// franz returns what franz-go reads of a topic, read committed, by partition.
func franz(t testing.TB, addrs []string, topic string, ends map[int32]int64) map[int32][]string {
	t.Helper()
	at := make(map[int32]kgo.Offset)
	left := 0
	for p, end := range ends {
		at[p] = kgo.NewOffset().AtStart()
		if end > 0 {
			left++
		}
	}
	c := newClient(t, addrs,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // they show that the end is reached
		kgo.FetchMaxWait(100*time.Millisecond))
	defer c.Close()
	records := make(map[int32][]string)
	ctx := await.Context(t)
	for left > 0 {
		fetches := c.PollFetches(ctx)
		for _, e := range fetches.Errors() {
			t.Fatalf("franz-go: partition %d: %v", e.Partition, e.Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				records[r.Partition] = append(records[r.Partition], sprint(r.Offset, r.Timestamp.UnixMilli(), r.Value))
			}
			if r.Offset == ends[r.Partition]-1 {
				left--
			}
		})
	}
	return records
}

// same compares the records read with the expected ones.
func same(t testing.TB, what string, got, want map[int32][]string) {
	t.Helper()
	for p := range want {
		if _, ok := got[p]; !ok && len(want[p]) > 0 {
			t.Errorf("%s: partition %d: nothing read, want %d records", what, p, len(want[p]))
		}
	}
	for p := range got {
		sameList(t, fmt.Sprintf("%s: partition %d", what, p), got[p], want[p])
	}
}

func sameList(t testing.TB, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: record %d: got %.80s, want %.80s", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: got %d records, want %d", what, len(got), len(want))
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.Until(t, func() error {
		if !ok() {
			return errors.New(what)
		}
		return nil
	})
}

func contains(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: %q does not contain %q", what, text, p)
		}
	}
}

// list returns the connections open now.
func (b *connections) list() map[*connection]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[*connection]bool)
	for l := range b.open {
		all[l] = true
	}
	return all
}
