package gen

import (
	"fmt"
	"math"

	"weir/event"
)

// A Config describes a stream. Times and durations are in milliseconds, shares
// are fractions of all events; an event that is not spoiled in one of the four
// ways is ordinary.
type Config struct {
	Seed   uint64
	Start  event.Time // record time of the first event
	Rate   int64      // events per second of record time
	Events int64      // how many; 0 for no end

	Users int64   // how many people there are; ids are 1 to Users
	Pages int     // clicks only: pages are /p/1 to /p/Pages
	Skew  float64 // clicks only: the views of page n are in proportion to n^-Skew (Zipf); 0: all alike

	Disorder event.Time // an ordinary event happened up to this long before its record time

	LateShare      float64    // events from long ago
	LateBy         event.Time // they happened between LateBy and twice that before; every eighth in 1970
	FutureShare    float64    // events from the future
	FutureBy       event.Time // they are dated between FutureBy and twice that ahead; every eighth in 2099
	DuplicateShare float64    // ordinary events sent once more, at most 1,024 records after the first time
	MalformedShare float64    // broken JSON, missing or wrong time, invalid UTF-8, coordinates off the earth
}

// Default returns a small, busy site with no faults in its traffic.
func Default() Config {
	return Config{
		Seed:     1,
		Rate:     1000,
		Users:    100_000,
		Pages:    1000,
		Skew:     1,
		Disorder: 2_000,
		LateBy:   48 * 3_600_000,
		FutureBy: 3_600_000,
	}
}

// Bounds of a Config.
const (
	maxUsers = math.MaxUint32
	maxPages = 1 << 20
	maxRate  = 1 << 30
	maxSkew  = 8
)

func (c *Config) validate() error {
	for _, n := range []struct {
		name           string
		have, from, to int64
	}{
		{"Start", int64(c.Start), 0, int64(maxStamp)},
		{"Rate", c.Rate, 1, maxRate},
		{"Events", c.Events, 0, math.MaxInt64 / 1000},
		{"Users", c.Users, 1, maxUsers},
		{"Pages", int64(c.Pages), 1, maxPages},
		{"Disorder", int64(c.Disorder), 0, int64(maxStamp)},
		{"LateBy", int64(c.LateBy), 0, int64(maxStamp)},
		{"FutureBy", int64(c.FutureBy), 0, int64(maxStamp)},
	} {
		if n.have < n.from || n.have > n.to {
			return fmt.Errorf("gen: %s is %d, want %d to %d", n.name, n.have, n.from, n.to)
		}
	}
	if !(c.Skew >= 0 && c.Skew <= maxSkew) {
		return fmt.Errorf("gen: Skew is %v, want 0 to %d", c.Skew, maxSkew)
	}
	sum := 0.0
	for _, s := range []struct {
		name  string
		share float64
	}{
		{"LateShare", c.LateShare},
		{"FutureShare", c.FutureShare},
		{"DuplicateShare", c.DuplicateShare},
		{"MalformedShare", c.MalformedShare},
	} {
		if !(s.share >= 0 && s.share <= 1) {
			return fmt.Errorf("gen: %s is %v, want 0 to 1", s.name, s.share)
		}
		sum += s.share
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("gen: the shares add up to %v, want at most 1", sum)
	}
	return nil
}
