package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"weir/config"
	"weir/demo/gen"
	"weir/event"
)

// The traffic of `weir up --history` comes at these rates, in events per second of the past. A
// week of it is counted within a minute. historyMost is the longest one.
const (
	historyClicks    = 2
	historyLocations = 1
	historyMost      = config.Duration(30 * 24 * time.Hour)
)

// past returns how far back the traffic begins: u.history, or 0 if the data is not new, because
// older events cannot come after the ones in the broker's log.
func (u *up) past() time.Duration {
	if u.history == 0 {
		return 0
	}
	if _, err := os.Stat(filepath.Join(u.data, "broker")); err == nil {
		u.step("history", "none is made: %s has a log already", u.data)
		return 0
	}
	seconds := int64(u.history.Seconds())
	u.step("history", "%s: first come %d clicks and %d locations", config.Duration(u.history), seconds*historyClicks, seconds*historyLocations)
	return u.history
}

// generate produces the traffic of `weir up`: the past at once, then the wanted rate until ctx
// ends.
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
			if ctx.Err() != nil {
				err = nil // no job needs the last records
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
