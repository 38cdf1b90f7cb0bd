package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/spf13/cobra"

	"weir/config"
	"weir/event"
	"weir/internal/spelling"
)

// lineMost is the longest line that becomes a record: the brokers' default
// limit. A longer line than linesMost goes out by itself, others together with as many
// as have so many bytes.
const (
	lineMost  = 1 << 20
	linesMost = 900_000
)

func produceCommand() *cobra.Command {
	var brokers []string
	var topic, codec, timeField, timeUnit string
	c := &cobra.Command{
		Use:   "produce",
		Short: "Write the lines of standard input into a topic",
		Long: `Write each line of standard input into a topic, as a record without a key. Empty
lines are left out. The topic has to exist.

The Kafka time of a record is now, so weir run takes events of the past for late ones.
With --time-field it is the time in the event, which is JSON; now, if the event has none,
or one of the future, which brokers refuse.

It is for trying weir with your own events: it supports no accounts and no TLS.`,
		Example: "  weir produce --topic plays < plays.jsonl\n" +
			"  weir produce --topic plays --time-field at --time-unit s < plays-of-last-week.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			if env := os.Getenv("WEIR_KAFKA_BROKERS"); env != "" && !c.Flags().Changed("kafka.brokers") {
				brokers = strings.Split(env, ",")
			}
			if _, ok := codecs[codec]; !ok {
				return &exit{exitUsage, fmt.Errorf("--compression %q: want none, gzip, snappy, lz4 or zstd", codec), ""}
			}
			if topic == "" {
				return &exit{exitUsage, errors.New("--topic is missing"), ""}
			}
			var clock *lineClock
			if timeField == "" && c.Flags().Changed("time-unit") {
				return &exit{exitUsage, errors.New("--time-unit belongs to --time-field"), ""}
			}
			if timeField != "" {
				var err error
				if clock, err = newLineClock(timeField, timeUnit); err != nil {
					return &exit{exitUsage, err, ""}
				}
			}
			p := &producer{brokers: brokers, topic: topic, codec: codec, log: newLog(c.ErrOrStderr(), config.Log{Level: "info", Format: "auto"})}
			n, err := p.lines(c.Context(), c.InOrStdin(), clock)
			if n > 0 || err == nil {
				fmt.Fprintf(c.ErrOrStderr(), "%s produced to %s\n", spelling.Count(n, "record"), topic)
			}
			if clock != nil {
				if none := clock.none.Load(); none > 0 {
					fmt.Fprintf(c.ErrOrStderr(), "note: %s without a time in unit %s at %s: their Kafka time is now\n", spelling.Count(none, "line"), timeUnit, timeField)
				}
			}
			return err
		},
	}
	f := c.Flags()
	f.StringSliceVar(&brokers, "kafka.brokers", []string{"127.0.0.1:9092"}, "addresses (host:port) of brokers; also $WEIR_KAFKA_BROKERS")
	f.StringVar(&topic, "topic", "", "topic to produce to")
	f.StringVar(&codec, "compression", "lz4", "none, gzip, snappy, lz4 or zstd")
	f.StringVar(&timeField, "time-field", "", "path of the time in an event of JSON, which becomes the Kafka time of its record")
	f.StringVar(&timeUnit, "time-unit", event.Millis.String(), "what its number counts (s, ms, us, ns), or the form of its text (rfc3339, iso8601)")
	return c
}

// A lineClock finds the time of an event of JSON.
type lineClock struct {
	reader *event.Reader
	vals   [1]event.Value
	unit   event.Unit
	none   atomic.Int64 // lines without a time that can be read
}

func newLineClock(field, unit string) (*lineClock, error) {
	path := event.ParsePathText(field)
	if err := event.CheckPath(path); err != nil || event.InEnvelope(path) {
		return nil, fmt.Errorf("--time-field %q is no path in an event of JSON, such as ts or meta.ts", field)
	}
	u, err := event.ParseUnit(unit)
	if err != nil || u == event.RecordTime {
		return nil, fmt.Errorf("--time-unit %q: want s, ms, us, ns, rfc3339 or iso8601", unit)
	}
	r, err := event.NewReader(event.Form{Format: event.JSON}, []string{path})
	return &lineClock{reader: r, unit: u}, err
}

// of returns the time of an event; now, if it has none that can be read, or one of the future: a broker
// refuses that, and with it all records of its batch.
func (c *lineClock) of(line []byte) time.Time {
	now := time.Now()
	if c == nil {
		return now
	}
	c.reader.Begin(false)
	if c.reader.Read(&event.Record{Value: line}, c.vals[:]) == nil {
		if t, ok := c.vals[0].Time(c.unit); ok {
			return time.UnixMilli(max(1, min(int64(t), now.UnixMilli()))) // kafka-go sends 0 as now
		}
	}
	c.none.Add(1)
	return now
}

// lines produces the lines of in until it or ctx ends; n is their number. The records have the times
// of their events by clock; without a clock they have the time of now.
func (p *producer) lines(ctx context.Context, in io.Reader, clock *lineClock) (n int64, err error) {
	w, closeWriter, err := p.connect(ctx)
	if err != nil {
		return 0, err
	}
	w.BatchBytes = 2 * lineMost // the batches below are shorter
	defer func() { err = errors.Join(err, closeWriter()) }()
	var writing sync.Mutex // guards n and refused; a read from a terminal cannot be interrupted, and holds up nothing
	var refused error
	ended := make(chan error, 1)
	go func() {
		ended <- batches(in, clock, func(batch []kafka.Message) error {
			writing.Lock()
			defer writing.Unlock()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var written int
			written, refused = p.write(ctx, w, batch)
			n += int64(written)
			return refused
		})
	}()
	select {
	case err = <-ended:
	case <-ctx.Done(): // a read may go on; a batch that was being written tells how that ended
	}
	writing.Lock()
	defer writing.Unlock()
	if err == nil && !errors.Is(refused, context.Canceled) {
		err = refused
	}
	return n, err
}

// batches calls send with the lines of in when a batch is full, or when no more have come, because a pipe may be slow.
func batches(in io.Reader, clock *lineClock, send func([]kafka.Message) error) error {
	r := bufio.NewReaderSize(in, lineMost)
	var batch []kafka.Message
	size := 0
	flush := func() (err error) {
		if len(batch) > 0 {
			err = send(batch)
		}
		batch, size = nil, 0
		return err
	}
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return cmp.Or(flush(), fmt.Errorf("line %d has more than 1 MiB", number))
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			if size+len(line) > linesMost {
				if err := flush(); err != nil {
					return err
				}
			}
			batch = append(batch, kafka.Message{Value: bytes.Clone(line), Time: clock.of(line)})
			size += len(line)
		}
		if err != nil || len(batch) == produceBatch || r.Buffered() == 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
