package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
	"weir/internal/await"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

// click returns a value about as long and as compressible as an event.
func click(i int) string {
	return fmt.Sprintf(`{"event_id":"%032x","ts":%d,"user_id":%d,"page":"/p/%d","action":"view","referrer":"https://example.org/","country":"DE","device":"mobile"}`,
		uint64(i)*0x9E3779B97F4A7C15, 1763600000000+i, i*7919%2000003, i%1000)
}

// Every codec, in batches of the size of a Java producer's and in big ones,
// over four partitions of one broker, compared with franz-go.
func TestEveryCodecReadsAsFranzDoes(t *testing.T) {
	kafka := realKafka(t)
	for name, codec := range codecs {
		for _, size := range []int32{16 << 10, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%dK", name, size>>10), func(t *testing.T) {
				t.Parallel()
				topic := newTopic(t, kafka.Addrs(), 4)
				c := newClient(t, kafka.Addrs(), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(size), kgo.ProducerLinger(20*time.Millisecond))
				for i := range 20000 {
					c.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 4), Value: []byte(click(i))}, func(_ *kgo.Record, err error) {
						if err != nil {
							t.Error(err)
						}
					})
				}
				if err := c.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
				got := readAll(t, s)
				same(t, name, got.records, franz(t, kafka.Addrs(), topic, got.next))
				if n := len(got.records[0]); n != 5000 {
					t.Errorf("partition 0: %d records, want 5000", n)
				}
			})
		}
	}
}

// The greatest level of each codec declares the most memory for whoever reads it. Producers choose it, or the
// topic does, and then the broker compresses: zstd of level 22 with a window of 128 MiB.
func TestGreatestLevels(t *testing.T) {
	kafka := realKafka(t)
	values := make([]string, 2000)
	for i := range values {
		values[i] = click(i)
	}
	for _, by := range []struct {
		name     string
		codec    kgo.CompressionCodec
		settings []string
	}{
		{"gzip", codecs["gzip"].WithLevel(9), nil},
		{"lz4", codecs["lz4"].WithLevel(int(lz4.Level9)), nil},
		{"zstd", codecs["zstd"].WithLevel(int(zstd.SpeedBestCompression)), nil},
		{"gzip of the topic", codecs["none"], []string{"compression.type", "gzip", "compression.gzip.level", "9"}},
		{"snappy of the topic", codecs["none"], []string{"compression.type", "snappy"}},
		{"lz4 of the topic", codecs["none"], []string{"compression.type", "lz4", "compression.lz4.level", "17"}},
		{"zstd of the topic", codecs["none"], []string{"compression.type", "zstd", "compression.zstd.level", "22"}},
	} {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			topic := newTopic(t, kafka.Addrs(), 1, by.settings...)
			produce(t, kafka.Addrs(), topic, 0, values, kgo.ProducerBatchCompression(by.codec))
			s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
			got := readAll(t, s)
			same(t, by.name, got.records, franz(t, kafka.Addrs(), topic, got.next))
			if n := len(got.records[0]); n != len(values) {
				t.Errorf("%d records, want %d", n, len(values))
			}
		})
	}
}

// TestFramesOfOthers: what the broker takes of producers with compressors of their own is read: zeros behind the member of
// gzip, and a frame of zstd whose header has a window of 128 MiB over 100 kB.
func TestFramesOfOthers(t *testing.T) {
	kafka := realKafka(t)
	values := make([]string, 400)
	for i := range values {
		values[i] = click(i)
	}
	for _, by := range []framer{
		{kgo.CodecGzip, func(b []byte) []byte { return append(compress(t, codecGzip, b), make([]byte, 16)...) }},
		{kgo.CodecZstd, func(b []byte) []byte { // raw blocks in a frame that says only its window
			frame := append([]byte("\x28\xb5\x2f\xfd\x00"), (27-10)<<3)
			for last := uint32(0); last == 0; b = b[min(len(b), 100_000):] {
				n := min(len(b), 100_000)
				if n == len(b) {
					last = 1
				}
				block := uint32(n)<<3 | last
				frame = append(append(frame, byte(block), byte(block>>8), byte(block>>16)), b[:n]...)
			}
			return frame
		}},
	} {
		topic := newTopic(t, kafka.Addrs(), 1)
		produce(t, kafka.Addrs(), topic, 0, values, kgo.WithCompressor(by))
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
		got := readAll(t, s).records[0]
		if len(got) != len(values) {
			t.Fatalf("codec %d: %d records, want %d", by.codec, len(got), len(values))
		}
	}
}

// A framer compresses what a producer sends.
type framer struct {
	codec kgo.CompressionCodecType
	frame func([]byte) []byte
}

func (f framer) Compress(_ *bytes.Buffer, b []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	return f.frame(b), f.codec
}

// Three transactional producers interleave with a plain one and abort often;
// the smallest responses truncate batches and begin within transactions.
func TestAbortedTransactionsReadAsFranzDoes(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	r := rand.New(rand.NewPCG(7, 7))
	var producers []*kgo.Client
	for i := range 3 {
		opts := []kgo.Opt{kgo.TransactionalID(fmt.Sprint(topic, "-", i)), kgo.ProducerLinger(0)}
		if i == 0 {
			opts = append(opts, kgo.ProducerBatchCompression(kgo.ZstdCompression()))
		}
		producers = append(producers, newClient(t, kafka.Addrs(), opts...))
	}
	plain := newClient(t, kafka.Addrs(), kgo.ProducerLinger(0))
	inside := make([]bool, 3)
	aborted := 0
	end := func(i int, how kgo.TransactionEndTry) {
		if err := producers[i].EndTransaction(t.Context(), how); err != nil {
			t.Fatal(err)
		}
		inside[i] = false
	}
	for k := range 240 {
		i := r.IntN(4)
		c := plain
		if i < 3 {
			c = producers[i]
			if !inside[i] {
				if err := c.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
				inside[i] = true
			}
		}
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%d-%d", i, k)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if i < 3 && r.IntN(4) == 0 {
			how := kgo.TransactionEndTry(r.IntN(2) == 0)
			if how == kgo.TryAbort {
				aborted++
			}
			end(i, how)
		}
	}
	for i := range producers {
		if inside[i] {
			end(i, kgo.TryAbort)
			aborted++
		}
	}
	var want map[int32][]string
	for _, size := range []struct{ partition, request int }{{1 << 20, 16 << 20}, {300, 16 << 20}, {2000, 16 << 20}, {1 << 20, 300}, {1 << 20, 2000}} {
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
		s.config.PartitionBytes, s.config.RequestBytes = size.partition, size.request // smaller than Open allows
		got := readAll(t, s)
		if want == nil {
			want = franz(t, kafka.Addrs(), topic, got.next)
			t.Logf("%d of 240 records are visible, %d transactions aborted", len(want[0]), aborted)
		}
		same(t, fmt.Sprintf("%d bytes per partition, %d per request", size.partition, size.request), got.records, want)
		s.Close()
	}
}

// While a transaction is open, no record after its beginning is read, nothing
// fails and no connection is lost. When it ends, reading continues at once.
func TestOpenTransactionIsWaitedFor(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	produce(t, kafka.Addrs(), topic, 0, numbered("a", 0, 3))
	c := newClient(t, kafka.Addrs(), kgo.TransactionalID(topic))
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("b")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s, book := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, MaxWait: 50 * time.Millisecond})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := s.Spans(ctx)
	if err != nil || spans[0] != (event.Span{Next: 3, End: 4, TopicID: g.Partitions()[0].TopicID}) || g.Partitions()[0].LogEnd != 4 {
		t.Errorf("with a transaction open: spans %v (%v), want 3 records that can be read, of 4; log end %d, want 4", spans, err, g.Partitions()[0].LogEnd)
	}
	k := newTaker(starts(g))
	result := make(chan error, 1)
	go func() { result <- k.fetch(ctx, g, map[int32]int64{0: 5}) }()
	eventually(t, "it is read up to the open transaction", func() bool { ok, _ := k.reached(map[int32]int64{0: 3}); return ok })
	connections := s.conns.list()
	time.Sleep(300 * time.Millisecond) // six long polls
	now := s.conns.list()
	for l := range connections {
		if !now[l] {
			t.Error("a connection was lost")
		}
	}
	k.mu.Lock()
	next, last := k.next[0], k.last[0]
	k.mu.Unlock()
	if next != 3 || last.LastStable != 3 || last.HighWater != 4 {
		t.Errorf("with a transaction open: read to %d, last stable %d, high water %d; want 3, 3, 4", next, last.LastStable, last.HighWater)
	}
	if err := c.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	sameList(t, "after the commit", k.plain[0], []string{"a0", "a1", "a2", "b"})
	if log := book.String(); strings.Contains(log, "WARN") {
		t.Errorf("something was said to be wrong:\n%s", log)
	}
}

// Four idempotent producers write the same keys; the cleaner leaves three
// empty batches, which hold their producers' last sequence numbers.
func TestCompactedTopicReadsAsFranzDoes(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1, "cleanup.policy", "compact", "segment.ms", "300",
		"min.cleanable.dirty.ratio", "0.01", "max.compaction.lag.ms", "300", "delete.retention.ms", "100")
	write := func(keys, n int) {
		c := newClient(t, kafka.Addrs(), kgo.ProducerLinger(50*time.Millisecond))
		defer c.Close()
		var records []*kgo.Record
		for i := range n {
			records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i%keys), Value: fmt.Appendf(nil, "v%d", i)})
		}
		if err := c.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		write(5, 10)
		time.Sleep(400 * time.Millisecond)
	}
	read := func() *taker {
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
		defer s.Close()
		return readAll(t, s)
	}
	for deadline := await.Deadline(); ; {
		write(1, 1) // rolls the segment, so that the one before can be cleaned
		got := read()
		if len(got.records[0]) < 15 {
			want := franz(t, kafka.Addrs(), topic, got.next)
			if slices.Equal(read().records[0], got.records[0]) { // otherwise the cleaner has changed the log between the two readings
				same(t, "compacted", got.records, want)
				if end := got.next[0]; end < 40 {
					t.Errorf("read to %d, want at least 40", end)
				}
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no compaction: %v", got.records[0])
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// Values that are empty, null or large, null and long keys, many headers, and
// a timestamp that is the producer's or the broker's.
func TestUnusualRecordsReadAsFranzDoes(t *testing.T) {
	kafka := realKafka(t)
	for _, stamp := range []string{"CreateTime", "LogAppendTime"} {
		topic := newTopic(t, kafka.Addrs(), 2, "max.message.bytes", "9000000", "message.timestamp.type", stamp)
		var headers []kgo.RecordHeader
		for i := range 200 {
			headers = append(headers, kgo.RecordHeader{Key: fmt.Sprint("h", i), Value: []byte(strings.Repeat("x", i))})
		}
		big := []byte(strings.Repeat("0123456789abcdef", 1<<18)) // 4 MB, four times the fetch size
		c := newClient(t, kafka.Addrs(), kgo.ProducerBatchMaxBytes(8<<20))
		for p := range int32(2) {
			for _, r := range []*kgo.Record{
				{Value: []byte("plain")},
				{Value: []byte{}},
				{Value: nil, Key: []byte("tombstone")},
				{Value: []byte("with headers"), Key: []byte{}, Headers: headers},
				{Value: big},
				{Value: []byte("after it"), Key: big[:1<<17], Timestamp: time.UnixMilli(1)},
			} {
				r.Topic, r.Partition = topic, p
				if err := c.ProduceSync(t.Context(), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
		got := readAll(t, s)
		same(t, stamp, got.records, franz(t, kafka.Addrs(), topic, got.next))
		if got.records[0][1] == got.records[0][2] || !strings.HasSuffix(got.records[0][2], ":null") {
			t.Errorf("an empty value reads as %s, a null one as %s", got.records[0][1], got.records[0][2])
		}
	}
}
