package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"weir/event"
	"weir/internal/await"
)

// A batchSpec describes a record batch that a test makes by hand.
type batchSpec struct {
	base       int64
	lastDelta  int32
	attributes uint16
	producer   int64
	firstTime  int64
	maxTime    int64
	count      int32
	payload    []byte
}

func (s batchSpec) bytes() []byte {
	b := be.AppendUint64(nil, uint64(s.base))
	b = be.AppendUint32(b, uint32(batchHeader-batchHead+len(s.payload)))
	b = be.AppendUint32(b, 0)
	b = append(b, 2, 0, 0, 0, 0)
	b = be.AppendUint16(b, s.attributes)
	b = be.AppendUint32(b, uint32(s.lastDelta))
	b = be.AppendUint64(b, uint64(s.firstTime))
	b = be.AppendUint64(b, uint64(s.maxTime))
	b = be.AppendUint64(b, uint64(s.producer))
	b = be.AppendUint16(b, 0)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint32(b, uint32(s.count))
	b = append(b, s.payload...)
	seal(b)
	return b
}

// seal sets a batch's checksum.
func seal(b []byte) { be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli)) }

// record returns one uncompressed record.
func record(timeDelta, offsetDelta int64, key, value []byte) []byte {
	r := []byte{0}
	r = binary.AppendVarint(r, timeDelta)
	r = binary.AppendVarint(r, offsetDelta)
	for _, field := range [][]byte{key, value} {
		if field == nil {
			r = binary.AppendVarint(r, -1)
		} else {
			r = binary.AppendVarint(r, int64(len(field)))
			r = append(r, field...)
		}
	}
	r = append(r, 0) // no headers
	return append(binary.AppendVarint(nil, int64(len(r))), r...)
}

// simple returns a batch of plain records from base on.
func simple(base int64, values ...string) batchSpec {
	s := batchSpec{base: base, lastDelta: int32(len(values) - 1), count: int32(len(values)), producer: -1}
	for i, v := range values {
		s.payload = append(s.payload, record(int64(i), int64(i), nil, []byte(v))...)
	}
	return s
}

// marker returns the control batch that ends a transaction.
func marker(base, producer int64, commit byte) batchSpec {
	return batchSpec{base: base, attributes: attrControl | attrTransactional, producer: producer, count: 1,
		payload: record(0, 0, []byte{0, 0, 0, commit}, []byte{0, 0, 0, 0, 0, 0})}
}

// answer makes a fake broker serve this record set, again and again, for
// fetches from below next; beyond it serves nothing.
func answer(c *kfake.Cluster, next int64, aborted []transaction, serve func(from int64) []byte) {
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		f := req.(*kmsg.FetchRequest)
		from := f.Topics[0].Partitions[0].FetchOffset
		r := f.ResponseKind().(*kmsg.FetchResponse)
		t := kmsg.NewFetchResponseTopic()
		t.TopicID = f.Topics[0].TopicID
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = next, next, 0
		for _, a := range aborted {
			p.AbortedTransactions = append(p.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.producer, FirstOffset: a.first})
		}
		if from < next {
			p.RecordBatches = serve(from)
		}
		t.Partitions = append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
		return r, nil, true
	})
}

// handMade reads a record set from offset 0 to next through a fake broker.
func handMade(t *testing.T, next int64, aborted []transaction, serve func(from int64) []byte) (*taker, *logbook, error) {
	t.Helper()
	c := fakeKafka(t, kfake.SeedTopics(1, "hand"))
	answer(c, next, aborted, serve)
	s, book := open(t, Config{Brokers: c.ListenAddrs(), Topic: "hand"})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	k := newTaker(map[int32]int64{0: 0})
	return k, book, k.fetch(ctx, g, map[int32]int64{0: next})
}

// An empty batch, a batch that ends before its last offset, and a hole between
// batches: reading continues after each.
func TestGapsAreSteppedOver(t *testing.T) {
	gap := simple(13, "a", "b")
	gap.lastDelta = 6 // records 15 to 19 were compacted away
	empty := batchSpec{base: 3, lastDelta: 9, producer: 4}
	set := slices.Concat(
		simple(0, "x", "y", "z").bytes(),
		empty.bytes(),
		gap.bytes(),
		simple(30, "after the hole").bytes(),
		batchSpec{base: 31, lastDelta: 8, producer: 4, attributes: codecZstd}.bytes(),
	)
	k, _, err := handMade(t, 40, nil, func(int64) []byte { return set })
	if err != nil {
		t.Fatal(err)
	}
	sameList(t, "read", k.plain[0], []string{"x", "y", "z", "a", "b", "after the hole"})
}

// A damaged batch is fetched again, and none of it is delivered. If it is
// damaged again, reading stops after the batches before it.
func TestDamagedBatch(t *testing.T) {
	good := simple(0, "a", "b").bytes()
	bad := simple(2, "c", "d").bytes()
	damage := map[string]func([]byte){
		"a flipped bit":        func(b []byte) { b[len(b)-2] ^= 4 },
		"another format":       func(b []byte) { b[16] = 1; seal(b) },
		"a negative length":    func(b []byte) { be.PutUint32(b[8:], 1<<31) },
		"a short length":       func(b []byte) { be.PutUint32(b[8:], 48) },
		"negative last offset": func(b []byte) { be.PutUint32(b[23:], 1<<31); seal(b) },
		"offsets that overflow": func(b []byte) {
			be.PutUint64(b, 1<<63-2)
			be.PutUint32(b[23:], 1000)
			seal(b)
		},
	}
	for name, harm := range damage {
		for _, always := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, always %v", name, always), func(t *testing.T) {
				var served atomic.Int32
				k, book, err := handMade(t, 4, nil, func(from int64) []byte {
					b := slices.Clone(bad)
					if served.Add(1) == 1 || always {
						harm(b)
					}
					if from == 0 {
						return slices.Concat(good, b)
					}
					return b
				})
				if !strings.Contains(book.String(), "damaged") {
					t.Error("the log does not mention the damage")
				}
				if !always {
					if err != nil {
						t.Fatal(err)
					}
					sameList(t, "read", k.plain[0], []string{"a", "b", "c", "d"})
					return
				}
				var b *BatchError
				if !errors.Is(err, ErrCorrupt) || !errors.As(err, &b) || b.Partition != 0 || b.Offset != 2 {
					t.Errorf("Fetch: %v; want damage at offset 2 of partition 0", err)
				}
				sameList(t, "read", k.plain[0], []string{"a", "b"})
			})
		}
	}
}

// A first batch without an end, and a response with only batches before the
// requested offset, must not be requested for ever.
func TestNoProgressIsDamage(t *testing.T) {
	whole := simple(0, "a", "b").bytes()
	for name, set := range map[string][]byte{
		"cut off":            whole[:len(whole)-1],
		"only a few bytes":   whole[:5],
		"a length too large": func() []byte { b := slices.Clone(whole); be.PutUint32(b[8:], 1<<30); return b }(),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := handMade(t, 2, nil, func(int64) []byte { return set })
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("Fetch: %v", err)
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		k, _, err := handMade(t, 4, nil, func(int64) []byte { return whole })
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("Fetch: %v", err)
		}
		sameList(t, "read", k.plain[0], []string{"a", "b"})
	})
}

// A batch with a correct checksum and wrong contents: only the offsets that it
// covers are affected, and all records before and after it are read.
func TestUnreadableBatch(t *testing.T) {
	big := strings.Repeat("x", BatchLimit)
	const (
		tooLarge = "the batch is larger than 64 MiB once decompressed, which is the most that is read"
		lying    = "the batch does not hold the records that it says it holds"
	)
	plain := simple(0, "a", "b", "c")
	head := batchSpec{count: 3, lastDelta: 2}
	with := func(change func(*batchSpec)) batchSpec { b := plain; change(&b); return b }
	from := func(payload ...[]byte) batchSpec { b := head; b.payload = slices.Concat(payload...); return b }
	first, second := record(0, 0, nil, []byte("a")), record(0, 1, nil, []byte("b"))
	tests := map[string]struct {
		batch batchSpec
		want  []string
	}{
		"codec 5":             {with(func(b *batchSpec) { b.attributes = 5 }), []string{"[10, 13): the batch is compressed with codec 5, which is unknown"}},
		"no gzip":             {with(func(b *batchSpec) { b.attributes = codecGzip }), []string{"[10, 13): the batch cannot be decompressed: it is not gzip"}},
		"no snappy":           {with(func(b *batchSpec) { b.attributes = codecSnappy }), []string{"[10, 13): the batch cannot be decompressed: it is not snappy"}},
		"no lz4":              {with(func(b *batchSpec) { b.attributes = codecLZ4 }), []string{"[10, 13): the batch cannot be decompressed: it is not lz4"}},
		"no zstd":             {with(func(b *batchSpec) { b.attributes = codecZstd }), []string{"[10, 13): the batch cannot be decompressed: it is not zstd"}},
		"half a gzip":         {with(func(b *batchSpec) { *b = compressed(t, codecGzip, *b); b.payload = b.payload[:len(b.payload)/2] }), []string{"[10, 13): the batch cannot be decompressed: it is not gzip"}},
		"too many records":    {with(func(b *batchSpec) { b.count = 1 << 30 }), []string{"a", "b", "c"}}, // every offset has its record
		"a record is missing": {from(first, second), []string{"a", "b", "[12, 13): " + lying}},
		"one record too many": {with(func(b *batchSpec) { b.count = 2 }), []string{"a", "b", "[12, 13): " + lying}},
		"no record counted":   {with(func(b *batchSpec) { b.count = 0 }), []string{"[10, 13): " + lying}},
		"fewer than none":     {with(func(b *batchSpec) { b.count = -5 }), []string{"[10, 13): " + lying}},
		"a record too long":   {from(first, []byte{100, 0, 0}), []string{"a", "[11, 13): " + lying}},
		"a negative record":   {from(first, []byte{1, 0, 0}), []string{"a", "[11, 13): " + lying}},
		"an endless length":   {from(first, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), []string{"a", "[11, 13): " + lying}},
		"an offset twice":     {from(first, first, second), []string{"a", "[11, 13): " + lying}},
		"an offset beyond":    {from(first, second, record(0, 3, nil, []byte("c"))), []string{"a", "b", "[12, 13): " + lying}},
		"a negative offset":   {from(record(0, -1, nil, []byte("a"))), []string{"[10, 13): " + lying}},
		"a key too long":      {from(first, []byte{12, 0, 0, 2, 100, 0, 0}), []string{"a", "[11, 13): " + lying}},
		"a value too long":    {from(first, []byte{12, 0, 0, 2, 1, 100, 0}), []string{"a", "[11, 13): " + lying}},
		"bytes behind it":     {from(first, second, record(0, 2, nil, []byte("c")), []byte{0}), []string{"a", "b", "c"}}, // likewise
		"too large in zstd":   {compressed(t, codecZstd, simple(0, "a", big, "c")), []string{"[10, 13): " + tooLarge}},

		"compacted, then too large": {func() batchSpec { b := compressed(t, codecZstd, simple(0, big)); b.lastDelta = 2; return b }(), []string{"[10, 13): " + tooLarge}},
		"a control without key":     {batchSpec{attributes: attrControl, lastDelta: 2, count: 1, payload: record(0, 0, nil, nil)}, nil},
		"a control of nothing":      {batchSpec{attributes: attrControl | codecZstd, lastDelta: 2, count: 1, payload: []byte("nonsense")}, nil},
		"unreadable, but aborted":   {batchSpec{attributes: attrTransactional | codecZstd, producer: 7, lastDelta: 2, count: 3, payload: []byte("nonsense")}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bad := test.batch
			bad.base = 10
			set := slices.Concat(simple(0, "before").bytes(), bad.bytes(), marker(13, 7, 0).bytes(), simple(14, "behind").bytes())
			k, _, err := handMade(t, 15, []transaction{{7, 10}}, func(int64) []byte { return set })
			if err != nil {
				t.Fatal(err)
			}
			sameList(t, "read", k.plain[0], slices.Concat([]string{"before"}, test.want, []string{"behind"}))
		})
	}
}

// Records of the formats before Kafka 0.11, which a disk may still hold, are
// unreadable, and the reason says so. The offset of a message that contains
// others is that of the last.
func TestOldFormatIsSaid(t *testing.T) {
	message := func(offset int64, magic byte) []byte {
		b := be.AppendUint64(nil, uint64(offset))
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, magic, 0)
		if magic == 1 {
			b = be.AppendUint64(b, 1_763_600_000_000)
		}
		b = append(b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 'x')
		be.PutUint32(b[8:], uint32(len(b)-batchHead))
		be.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
		return b
	}
	set := slices.Concat(message(0, 0), message(4, 1), simple(5, "new").bytes())
	k, _, err := handMade(t, 6, nil, func(int64) []byte { return set })
	if err != nil {
		t.Fatal(err)
	}
	sameList(t, "read", k.plain[0], []string{
		"[0, 1): the record has format 0, from before Kafka 0.11", "[1, 5): the record has format 1, from before Kafka 0.11", "new"})

	damaged := slices.Clone(set)
	damaged[20]++
	if _, _, err := handMade(t, 6, nil, func(int64) []byte { return damaged }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with another checksum: %v", err)
	}
}

// Fetch retries after each temporary error code, and ends at once after a fatal
// one, with a remedy.
func TestFetchErrorCodes(t *testing.T) {
	passing := []*kerr.Error{kerr.UnknownServerError, kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition,
		kerr.ReplicaNotAvailable, kerr.KafkaStorageError, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable,
		kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.ThrottlingQuotaExceeded}
	for _, code := range passing {
		t.Run(code.Message, func(t *testing.T) {
			t.Parallel()
			c := fakeKafka(t, kfake.SeedTopics(2, "codes"))
			for p := range int32(2) {
				produce(t, c.ListenAddrs(), "codes", p, numbered("v", 0, 5))
			}
			h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{1}, Err: code, Count: 1})
			s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "codes"})
			got := readAll(t, s)
			for p := range int32(2) {
				sameList(t, fmt.Sprint("partition ", p), got.plain[p], numbered("v", 0, 5))
			}
			if h.Hits() != 1 {
				t.Errorf("the fault occurred %d times", h.Hits())
			}
		})
	}
	for _, code := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.InvalidRequest, kerr.UnsupportedVersion} {
		t.Run(code.Message, func(t *testing.T) {
			t.Parallel()
			c := fakeKafka(t, kfake.SeedTopics(1, "codes"))
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "codes", Err: code, Count: -1})
			s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "codes"})
			ctx := await.Context(t)
			g, err := s.Assign(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Fetch(ctx, starts(g), func(p event.Part) error { p.Done(); return nil }); err == nil || judge(err) != fatal {
				t.Errorf("Fetch: %v", err)
			}
		})
	}
}

// A Source with AwaitRights waits for a missing permission, for the topic or the
// group, at the start or while reading, with a message that names it; when it is
// granted, reading continues where it stopped. A Source without AwaitRights
// returns an error.
func TestRightsAreAwaited(t *testing.T) {
	for name, fault := range map[string]kfake.Fault{
		"describe": {Keys: []kmsg.Key{kmsg.Metadata}, Topic: "secret", Err: kerr.TopicAuthorizationFailed},
		"offsets":  {Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "secret", Err: kerr.TopicAuthorizationFailed},
		"read":     {Keys: []kmsg.Key{kmsg.Fetch}, Topic: "secret", Err: kerr.TopicAuthorizationFailed},
		"find":     {Keys: []kmsg.Key{kmsg.FindCoordinator}, Err: kerr.GroupAuthorizationFailed},
		"join":     {Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.GroupAuthorizationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fakeKafka(t, kfake.SeedTopics(1, "secret"))
			produce(t, c.ListenAddrs(), "secret", 0, numbered("v", 0, 5))
			fault.Count = -1
			h := c.Fault(fault)
			missing := `User:ANONYMOUS needs READ and DESCRIBE on topic "secret"`
			if fault.Topic == "" {
				missing = `User:ANONYMOUS needs READ on group "g"`
			}
			ctx := await.Context(t)

			hasty, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "secret", Group: "g"})
			err := func() error {
				g, err := wait(ctx, hasty)
				if err != nil {
					return err
				}
				defer g.Release()
				return g.Fetch(ctx, starts(g), func(p event.Part) error { p.Done(); return nil })
			}()
			if err == nil || !strings.Contains(err.Error(), missing) {
				t.Errorf("without waiting: %v", err)
			}
			hasty.Close()

			s, book := open(t, Config{Brokers: c.ListenAddrs(), Topic: "secret", Group: "g", AwaitRights: true})
			read := make(chan error, 1)
			k := newTaker(map[int32]int64{0: 0})
			go func() {
				g, err := wait(ctx, s)
				if err == nil {
					err = k.fetch(ctx, g, map[int32]int64{0: 5})
				}
				read <- err
			}()
			before := h.Hits()
			if err := h.Wait(ctx, before+3); err != nil {
				t.Fatal(err)
			}
			eventually(t, "Trouble names the right", func() bool { return strings.Contains(s.Trouble(), missing) })
			h.Remove()
			if err := <-read; err != nil {
				t.Fatal(err)
			}
			sameList(t, "read", k.plain[0], numbered("v", 0, 5))
			eventually(t, "the trouble is over", func() bool { return s.Trouble() == "" })
			log := book.String()
			if strings.Count(log, "a permission is missing, and topic secret is not read") != 1 || !strings.Contains(log, "the permission is granted; topic secret is read") {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}

// OpenTransactions names the open transactions and their producers.
func TestOpenTransactions(t *testing.T) {
	addrs := realKafka(t).Addrs()
	topic := newTopic(t, addrs, 2)
	s, _ := open(t, Config{Brokers: addrs, Topic: topic})
	ctx := await.Context(t)
	produce(t, addrs, topic, 0, numbered("v", 0, 5))
	produce(t, addrs, topic, 1, numbered("v", 0, 5))
	if got, err := s.OpenTransactions(ctx); err != nil || got != nil {
		t.Errorf("before there is any: %v %v", got, err)
	}
	began := time.Now().Truncate(time.Millisecond)
	producer := newClient(t, addrs, kgo.TransactionalID(topic))
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: 1, Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	produce(t, addrs, topic, 1, numbered("behind", 0, 3))
	id, epoch, err := producer.ProducerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.OpenTransactions(ctx)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v %v, want one", got, err)
	}
	o := got[0]
	if o.Written.Before(began) || o.Written.After(time.Now()) {
		t.Errorf("it wrote at %v, not since %v", o.Written, began)
	}
	o.Written = time.Time{}
	if want := (OpenTransaction{Partition: 1, Offset: 5, Records: 4, Producer: id, Epoch: int32(epoch)}); o != want {
		t.Errorf("%+v, want %+v", o, want)
	}
	if err := producer.EndTransaction(ctx, kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the transaction has ended", func() bool {
		got, err := s.OpenTransactions(ctx)
		return err == nil && got == nil
	})
}

// The leadership of a partition moves between brokers, several times, while it
// is read.
func TestLeaderMoves(t *testing.T) {
	c := fakeKafka(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "moving"))
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "moving", MaxWait: 20 * time.Millisecond})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from := starts(g)
	k := newTaker(from)
	var done sync.WaitGroup
	done.Go(func() {
		for i := range 30 {
			for p := range int32(3) {
				produce(t, c.ListenAddrs(), "moving", p, numbered("", i*5, i*5+5))
				if err := c.MoveTopicPartition("moving", p, (int32(i)+p)%3); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err := k.fetch(ctx, g, map[int32]int64{0: 150, 1: 150, 2: 150}); err != nil {
		t.Error(err)
	}
	done.Wait()
	for p := range int32(3) {
		sameList(t, fmt.Sprint("partition ", p), k.plain[p], numbered("", 0, 150))
	}
}

func TestOldBrokerIsRefused(t *testing.T) {
	c := fakeKafka(t, kfake.SeedTopics(1, "old"), kfake.MaxVersions(kversion.V0_10_2()))
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "old"})
	_, err := s.Assign(await.Context(t))
	if !errors.Is(err, ErrOldBroker) {
		t.Fatalf("Assign on Kafka 0.10: %v", err)
	}
	contains(t, "the error", err.Error(), "Kafka 0.11", "Fetch from version 4")
}

// A broker that throttles for long does not read from that connection meanwhile
// (KIP-219). So no heartbeat may be sent on it: the Source closes it.
func TestMutedConnectionIsNotUsed(t *testing.T) {
	c := fakeKafka(t, kfake.SeedTopics(1, "slow"))
	ctx, cancel := context.WithCancel(await.Context(t))
	defer cancel()
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "slow"})
	s.conns.longest = time.Hour // nothing else closes a connection
	var fetches atomic.Int32
	var before atomic.Value // connections open when the throttled response is sent
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		fetches.Add(1)
		before.Store(s.conns.list())
		r := req.ResponseKind().(*kmsg.FetchResponse)
		r.ThrottleMillis = 600_000
		return r, nil, true
	})
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- g.Fetch(ctx, starts(g), func(p event.Part) error { p.Done(); return nil }) }()
	eventually(t, "the connection of the throttled fetch is closed", func() bool {
		if fetches.Load() == 0 {
			return false
		}
		now, gone := s.conns.list(), 0
		for c := range before.Load().(map[*connection]bool) {
			if !now[c] {
				gone++
			}
		}
		return gone == 1
	})
	if n := fetches.Load(); n != 1 {
		t.Errorf("fetched %d times, told to wait ten minutes", n)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A response above the limit is not read, and the error names the setting.
func TestResponseLimit(t *testing.T) {
	c := fakeKafka(t, kfake.SeedTopics(1, "large"))
	produce(t, c.ListenAddrs(), "large", 0, []string{strings.Repeat("x", 900<<10)})
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "large", PartitionBytes: 64 << 10, RequestBytes: 128 << 10, ResponseLimit: 256 << 10})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = g.Fetch(ctx, starts(g), func(p event.Part) error { p.Done(); return nil })
	if !errors.Is(err, errResponse) {
		t.Fatalf("Fetch: %v", err)
	}
	contains(t, "the error", err.Error(), "topic large", "max.message.bytes", "kafka-delete-records")
}

// There are only two buffers per broker: while the reader has not called Done
// for their Parts, no further fetch is sent.
func TestBackPressure(t *testing.T) {
	c := fakeKafka(t, kfake.SeedTopics(1, "pressed"))
	for i := range 10 {
		produce(t, c.ListenAddrs(), "pressed", 0, numbered("", i*10, i*10+10))
	}
	fetches := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "pressed", Count: -1, Observe: true})
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "pressed"})
	s.config.PartitionBytes, s.config.RequestBytes = 50, 50 // a batch each
	ctx, cancel := context.WithCancel(await.Context(t))
	defer cancel()
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	parts := make(chan event.Part, 100)
	result := make(chan error, 1)
	go func() {
		result <- g.Fetch(ctx, starts(g), func(p event.Part) error { parts <- p; return nil })
	}()
	first := <-parts
	second := <-parts
	time.Sleep(100 * time.Millisecond)
	if n, q := fetches.Hits(), len(parts); n != 2 || q != 0 {
		t.Errorf("with two Parts in hand: %d fetches, %d more Parts; want 2 and 0", n, q)
	}
	k := newTaker(map[int32]int64{0: 0})
	k.take(first)
	first.Done() // a second call does no harm
	third := <-parts
	time.Sleep(50 * time.Millisecond)
	if n := fetches.Hits(); n != 3 {
		t.Errorf("with one buffer free: %d fetches, want 3", n)
	}
	k.take(second)
	k.take(third)
	for k.next[0] < 100 {
		k.take(<-parts)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(k.queue)
	if k.problem != nil {
		t.Error(k.problem)
	}
	sameList(t, "read", k.plain[0], numbered("", 0, 100))
}

// If a busy partition were always first in the request, it would fill every
// response: a quiet partition after it must be read too.
func TestABusyPartitionDoesNotStarveOthers(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 2)
	large := strings.Repeat("x", 100<<10)
	for range 20 {
		produce(t, kafka.Addrs(), topic, 0, []string{large})
	}
	produce(t, kafka.Addrs(), topic, 1, []string{large})
	s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, PartitionBytes: 64 << 10, RequestBytes: 64 << 10})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := fetchTo(t, ctx, g, starts(g), map[int32]int64{1: 1})
	if n := got.next[0]; n > 10 {
		t.Errorf("%d batches of the busy partition were read before the quiet one's", n)
	}
}

// The Source waits for a deleted topic outside the group: kafka-go would join
// again and again without a pause.
func TestADeletedTopicIsNotJoinedFor(t *testing.T) {
	c := fakeKafka(t, kfake.SeedTopics(1, "gone"))
	joins := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Group: "g", Count: -1, Observe: true})
	s, book := open(t, Config{Brokers: c.ListenAddrs(), Topic: "gone", Group: "g"})
	ctx := await.Context(t)
	g := next(t, ctx, s)
	if err := c.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	<-g.Done()
	g.Release()
	got := later(ctx, s)
	eventually(t, "it is said that the topic is gone", func() bool { return strings.Contains(book.String(), "does not exist") })
	before := joins.Hits()
	time.Sleep(300 * time.Millisecond)
	if n := joins.Hits() - before; n != 0 || before > 4 {
		t.Errorf("%d joins until the topic was missed, %d since", before, n)
	}
	if err := c.CreateTopic("gone", 2, nil); err != nil {
		t.Fatal(err)
	}
	if g := <-got; g == nil || len(g.Partitions()) != 2 {
		t.Errorf("after its return: %v", g)
	}
}
