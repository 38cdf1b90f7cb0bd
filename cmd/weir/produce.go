package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/spf13/cobra"

	"weir/internal/config"
	"weir/internal/spelling"
)

// lineMost is the longest line that becomes a record: the brokers' default
// limit.
const lineMost = 1 << 20

func produceCommand() *cobra.Command {
	var brokers []string
	var topic, codec string
	c := &cobra.Command{
		Use:   "produce",
		Short: "Write the lines of standard input into a topic",
		Long: `Write each line of standard input into a topic, as a record without a key whose
Kafka time is now. Empty lines are left out. The topic has to exist.

It is for trying weir with your own events: it supports no accounts and no TLS.`,
		Example: "  weir produce --topic plays < plays.jsonl",
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
			p := &producer{brokers: brokers, topic: topic, codec: codec, log: newLog(c.ErrOrStderr(), config.Log{Level: "info", Format: "auto"})}
			n, err := p.lines(c.Context(), c.InOrStdin())
			if n > 0 || err == nil {
				fmt.Fprintf(c.ErrOrStderr(), "%s produced to %s\n", spelling.Count(n, "record"), topic)
			}
			return err
		},
	}
	f := c.Flags()
	f.StringSliceVar(&brokers, "kafka.brokers", []string{"127.0.0.1:9092"}, "addresses (host:port) of brokers; also $WEIR_KAFKA_BROKERS")
	f.StringVar(&topic, "topic", "", "topic to produce to")
	f.StringVar(&codec, "compression", "lz4", "none, gzip, snappy, lz4 or zstd")
	return c
}

// lines produces the lines of in until it or ctx ends; n is their number. It
// sends lines when a batch is full or when no more have come, because a pipe may
// be slow.
func (p *producer) lines(ctx context.Context, in io.Reader) (n int64, err error) {
	w, closeWriter, err := p.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeWriter()) }()
	batches := make(chan []kafka.Message)
	failed := make(chan error, 1)
	ended := make(chan struct{})
	defer close(ended)
	go func() { // a read from a terminal cannot be interrupted
		defer close(batches)
		r := bufio.NewReaderSize(in, lineMost)
		var batch []kafka.Message
		for number := 1; ; number++ {
			line, err := r.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				failed <- fmt.Errorf("line %d has more than 1 MiB", number)
				err = io.EOF
			} else if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
				batch = append(batch, kafka.Message{Value: bytes.Clone(line), Time: time.Now()})
			}
			if err != nil && !errors.Is(err, io.EOF) {
				failed <- err
			}
			if len(batch) > 0 && (err != nil || len(batch) == produceBatch || r.Buffered() == 0) {
				select {
				case batches <- batch:
				case <-ended:
					return
				}
				batch = nil
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return n, nil
		case batch, more := <-batches:
			if !more {
				select {
				case err := <-failed:
					return n, err
				default:
					return n, nil
				}
			}
			if err := p.write(ctx, w, batch); err != nil {
				return n, err
			}
			n += int64(len(batch))
		}
	}
}
