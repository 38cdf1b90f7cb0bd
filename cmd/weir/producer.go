package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"

	"weir/demo/gen"
)

// produceBatch is how many records go to Kafka in one call when there is no
// rate to keep: enough to fill a record batch per partition.
const produceBatch = 10_000

// With a rate to keep, records go out every produceEvery: each request costs the
// broker and its readers as much as some hundred records. pacedBatch is how many go to a
// partition in one request. kafka-go allocates room for that many each time.
const (
	produceEvery = 50 * time.Millisecond
	pacedBatch   = 512
)

// A producer writes a generator's records, or lines, into a topic.
type producer struct {
	brokers    []string
	topic      string
	partitions int // of a topic that it makes; 0: a missing topic is an error
	codec      string
	paced      bool // records go out when their time has come
	retries    bool // records that the broker refuses are sent again until ctx ends
	truth      *gen.Truth
	log        *slog.Logger
}

// connect waits until the topic accepts records.
func (p *producer) connect(ctx context.Context) (w *kafka.Writer, closeWriter func() error, err error) {
	addr := kafka.TCP(p.brokers...)
	transport := &kafka.Transport{MetadataTTL: time.Second}
	client := &kafka.Client{Addr: addr, Transport: transport}
	var missing error
	err = kafkaService(p.brokers, false).reach(ctx, p.log, 30*time.Second, func(ctx context.Context) error {
		err := p.create(ctx, client)
		if missing = nil; p.partitions == 0 && errors.Is(err, kafka.UnknownTopicOrPartition) {
			missing, err = &exit{exitFailed, err, "make it first; weir up makes the topics of its jobs"}, nil
		}
		return err
	})
	if err = cmp.Or(err, missing); err != nil {
		transport.CloseIdleConnections()
		return nil, nil, err
	}
	batch := produceBatch
	if p.paced {
		batch = pacedBatch
	}
	w = &kafka.Writer{
		Addr: addr, Transport: transport, Topic: p.topic, Balancer: &kafka.Hash{}, RequiredAcks: kafka.RequireAll, Compression: codecs[p.codec],
		BatchSize: batch, BatchBytes: 900_000, BatchTimeout: 5 * time.Millisecond, MaxAttempts: 10,
		// The time-outs are long, because a slow broker may still store the request, and its
		// records would then be in the topic twice.
		WriteTimeout: time.Minute, ReadTimeout: time.Minute,
	}
	return w, func() error {
		defer transport.CloseIdleConnections()
		return w.Close()
	}, nil
}

// run produces until the generator or ctx ends. Without an error, every record of it is in the log and in the truth.
func (p *producer) run(ctx context.Context, g *gen.Generator) (n int64, err error) {
	w, closeWriter, err := p.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeWriter()) }()
	var records []gen.Record
	var messages []kafka.Message
	began := time.Now()
	said := began
	var sent time.Time // the Kafka time of the last record that went out
	for more := true; more && ctx.Err() == nil; {
		messages = messages[:0]
		for len(messages) < produceBatch {
			if len(records) <= len(messages) {
				records = append(records, gen.Record{})
			}
			r := &records[len(messages)]
			if more = g.Next(r); !more {
				break
			}
			messages = append(messages, kafka.Message{Key: r.Key, Value: r.Value, Time: time.UnixMilli(int64(r.Time))})
			if at := messages[len(messages)-1].Time; p.paced && time.Until(at) > 0 && at.Sub(sent) >= produceEvery {
				break
			}
		}
		if len(messages) == 0 {
			break
		}
		if p.paced {
			select {
			case <-ctx.Done():
				return n, nil
			case <-time.After(min(max(0, time.Until(messages[len(messages)-1].Time)), time.Second)):
			}
			sent = messages[len(messages)-1].Time
		}
		// The write does not end with ctx. An error leaves no truth.
		written, err := p.write(ctx, w, messages)
		n += int64(written)
		if err != nil {
			return n, err
		}
		for i := range messages {
			if p.truth != nil {
				p.truth.Add(&records[i])
			}
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			p.log.Info("producing", "topic", p.topic, "events", n, "per_second", int64(float64(n)/time.Since(began).Seconds()))
		}
	}
	return n, nil
}

// write writes all messages, some of them more than once if a broker's answer
// was lost, and returns how many are in the topic.
func (p *producer) write(ctx context.Context, w *kafka.Writer, messages []kafka.Message) (n int, err error) {
	for left := messages; ; {
		err := w.WriteMessages(context.WithoutCancel(ctx), left...)
		if err == nil {
			return len(messages), nil
		}
		var each kafka.WriteErrors
		if errors.As(err, &each) { // one error for each message, mostly all the same
			var refused []kafka.Message
			for i, e := range each {
				if e != nil {
					refused, err = append(refused, left[i]), e
				}
			}
			left = refused
		}
		n, err = len(messages)-len(left), fmt.Errorf("producing to %s: %d of %d records refused: %w", p.topic, len(left), len(messages), err)
		if !p.retries && !errors.Is(err, protocol.ErrNoLeader) { // the cluster elects a leader
			return n, err
		}
		p.log.Warn("the broker refuses records; has the partition no leader, or is the disk full? Trying again in 1s", "error", err)
		select {
		case <-ctx.Done():
			return n, err
		case <-time.After(time.Second):
		}
	}
}

var codecs = map[string]compress.Compression{"none": compress.None, "gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.Lz4, "zstd": compress.Zstd}

// create makes the topic if it is missing and p.partitions is set. It returns when the
// brokers name the topic to producers, which is some time after they have made it.
func (p *producer) create(ctx context.Context, client *kafka.Client) error {
	if err := p.dial(ctx); err != nil {
		return err
	}
	if p.partitions > 0 {
		res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: p.topic, NumPartitions: p.partitions, ReplicationFactor: -1}}})
		if err != nil {
			return err
		}
		if err := res.Errors[p.topic]; err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			return err
		}
	}
	described, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{p.topic}})
	if err != nil {
		return err
	}
	for _, t := range described.Topics {
		if t.Error != nil {
			return fmt.Errorf("topic %s: %w", p.topic, t.Error)
		}
	}
	return nil
}

// dial tests whether a broker accepts connections: kafka-go does not report why it cannot
// reach one.
func (p *producer) dial(ctx context.Context) (err error) {
	for _, b := range p.brokers {
		var c net.Conn
		if c, err = new(net.Dialer).DialContext(ctx, "tcp", b); err == nil {
			return c.Close()
		}
	}
	return err
}
