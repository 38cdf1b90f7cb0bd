package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"weir/event"
	"weir/gen"
	"weir/internal/config"
)

// The traffic of `weir up --history` comes at these rates, in events per second of the
// past, so that a week of it is counted within a minute. historyMost is the longest one.
const (
	historyClicks    = 2
	historyLocations = 1
	historyMost      = config.Duration(30 * 24 * time.Hour)
)

// past returns how far back the traffic begins: u.history, or 0 if the topics have records,
// because older ones cannot come after these.
func (u *up) past(ctx context.Context, broker string) (time.Duration, error) {
	if u.history == 0 {
		return 0, nil
	}
	client := &kafka.Client{Addr: kafka.TCP(broker), Transport: &kafka.Transport{}}
	defer client.Transport.(*kafka.Transport).CloseIdleConnections()
	ask := map[string][]kafka.OffsetRequest{}
	for _, topic := range upTopics {
		for p := range upPartitions {
			ask[topic] = append(ask[topic], kafka.LastOffsetOf(p))
		}
	}
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return 0, fmt.Errorf("asking whether the topics are empty: %w", err)
	}
	records := int64(0)
	for _, partitions := range res.Topics {
		for _, p := range partitions {
			records += max(0, p.LastOffset)
			if p.Error != nil && !errors.Is(p.Error, kafka.UnknownTopicOrPartition) { // the generator makes it
				return 0, fmt.Errorf("asking whether the topics are empty: %w", p.Error)
			}
		}
	}
	if records > 0 {
		u.step("history", "none is made: the topics in %s have %d records already", u.data, records)
		return 0, nil
	}
	seconds := int64(u.history.Seconds())
	u.step("history", "%s: first come %d clicks and %d locations", config.Duration(u.history), seconds*historyClicks, seconds*historyLocations)
	return u.history, nil
}

// generate produces the traffic of `weir up`: that of the past at once, then that of the
// wanted rate until ctx ends.
func (u *up) generate(ctx context.Context, broker string, past time.Duration) error {
	type stream struct {
		topic         string
		make          func(gen.Config) (*gen.Generator, error)
		rate, history int
	}
	done := make(chan error, 2)
	streams := []stream{{"clicks", gen.Clicks, u.rate, historyClicks}, {"locations", gen.Locations, max(1, u.rate/4), historyLocations}}
	now := event.Time(time.Now().UnixMilli())
	for _, s := range streams {
		go func() {
			cfg := gen.Default()
			cfg.Seed = uint64(now) // different traffic at every start
			cfg.Pages, cfg.MalformedShare = 200, 0.0005
			p := &producer{brokers: []string{broker}, topic: s.topic, partitions: upPartitions, codec: "lz4", retries: true, log: u.log}
			produce := func() error {
				g, err := s.make(cfg)
				if err == nil {
					_, err = p.run(ctx, g)
				}
				return err
			}
			var err error
			if past > 0 {
				cfg.Start, cfg.Rate = now-event.Time(past.Milliseconds()), int64(s.history)
				cfg.Events = cfg.Rate * int64(past.Seconds())
				err = produce()
			}
			if err == nil && ctx.Err() == nil {
				cfg.Start, cfg.Rate, cfg.Events = event.Time(time.Now().UnixMilli()), int64(s.rate), 0
				p.paced = true
				err = produce()
			}
			done <- err
		}()
	}
	var err error
	for range streams {
		err = errors.Join(err, <-done)
	}
	return err
}
