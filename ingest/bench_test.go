package ingest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
)

// BenchmarkFetch compares the CPU time that reading a topic from a real
// broker costs this process: fetch, verify, decompress and walk over every
// record here, against kafka-go's Reader, in one run, each after a warm-up
// (the first pass over a topic costs the kernel more). One iteration reads the
// topic once: a million events of 190 bytes in four partitions.
//
//	go test -run xxx -bench BenchmarkFetch -benchtime 3x ./ingest
func BenchmarkFetch(b *testing.B) {
	scrubBuffers = false
	defer func() { scrubBuffers = true }()
	const events, partitions = 1_000_000, 4
	brokers := realKafka(b).Addrs()
	for _, layout := range []struct {
		name  string
		codec kgo.CompressionCodec
		size  int32
	}{
		{"none/1M", kgo.NoCompression(), 1 << 20},
		{"none/16K", kgo.NoCompression(), 16 << 10},
		{"lz4/1M", kgo.Lz4Compression(), 1 << 20},
		{"lz4/16K", kgo.Lz4Compression(), 16 << 10},
		{"zstd/1M", kgo.ZstdCompression(), 1 << 20},
	} {
		topic := newTopic(b, brokers, partitions, "max.message.bytes", fmt.Sprint(2<<20))
		c := newClient(b, brokers, kgo.ProducerBatchCompression(layout.codec), kgo.ProducerBatchMaxBytes(layout.size), kgo.ProducerLinger(50*time.Millisecond))
		for i := range events {
			c.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte(click(i))}, func(_ *kgo.Record, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		if err := c.Flush(context.Background()); err != nil {
			b.Fatal(err)
		}
		c.Close()
		perMillion := make(map[string]float64)
		for _, reader := range []struct {
			name string
			read func(testing.TB, []string, string, int32, int64)
		}{{"weir", readOurs}, {"kafka-go", readTheirs}} {
			b.Run(layout.name+"/"+reader.name, func(b *testing.B) {
				reader.read(b, brokers, topic, partitions, events)
				runtime.GC()
				b.ReportAllocs()
				cpu := cpuTime()
				n := 0
				for b.Loop() {
					reader.read(b, brokers, topic, partitions, events)
					n++
				}
				perMillion[reader.name] = (cpuTime() - cpu).Seconds() / float64(n) * 1e6 / events
				b.ReportMetric(perMillion[reader.name], "cpu-s/M")
				if ours := perMillion["weir"]; reader.name != "weir" && ours > 0 {
					b.ReportMetric(perMillion[reader.name]/ours, "times-weir's")
				}
			})
		}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readOurs reads the topic with a worker per CPU, as a job would.
func readOurs(b testing.TB, brokers []string, topic string, partitions int32, events int64) {
	s, err := Open(Config{Brokers: brokers, Topic: topic})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g, err := s.Assign(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var seen, size atomic.Int64
	var working sync.WaitGroup
	queues := make([]chan event.Part, runtime.GOMAXPROCS(0))
	for i := range queues {
		queues[i] = make(chan event.Part, 2*partitions)
		working.Go(func() {
			for p := range queues[i] {
				n, bytes := int64(0), int64(0)
				err := p.Unpack(func(batch *event.Batch) error {
					n += int64(len(batch.Records))
					for i := range batch.Records {
						bytes += int64(len(batch.Records[i].Value))
					}
					return nil
				})
				if err != nil {
					b.Error(err)
				}
				p.Done()
				size.Add(bytes)
				if seen.Add(n) >= events {
					cancel()
				}
			}
		})
	}
	err = g.Fetch(ctx, starts(g), func(p event.Part) error {
		queues[int(p.Partition)%len(queues)] <- p
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	for _, q := range queues {
		close(q)
	}
	working.Wait()
	if seen.Load() != events || size.Load() < 150*events {
		b.Fatalf("%d events, %d bytes", seen.Load(), size.Load())
	}
}

// readTheirs reads it with one Reader per partition, as its group mode does.
func readTheirs(b testing.TB, brokers []string, topic string, partitions int32, events int64) {
	var reading sync.WaitGroup
	for p := range partitions {
		reading.Go(func() {
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic, Partition: int(p), MaxBytes: 2 << 20, ReadLagInterval: -1, MaxWait: 250 * time.Millisecond})
			defer r.Close()
			for range events / int64(partitions) {
				if _, err := r.FetchMessage(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	reading.Wait()
}

// BenchmarkUnpack measures the part that needs no broker: verify and walk.
func BenchmarkUnpack(b *testing.B) {
	const n = 5000
	plain := batchSpec{count: n, lastDelta: n - 1, producer: -1}
	for i := range n {
		plain.payload = append(plain.payload, record(int64(i), int64(i), nil, []byte(click(i)))...)
	}
	for codec, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		b.Run(name, func(b *testing.B) {
			set := compressed(b, uint16(codec), plain).bytes()
			u := newUnpacker(64<<20, false)
			records := 0
			for b.Loop() {
				if _, err := unpackAll(u, set, 0, nil, func(batch *event.Batch) error { records += len(batch.Records); return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
		})
	}
}
