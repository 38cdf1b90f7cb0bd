// Package limits holds rate limiters: it tells whether an event may happen now,
// given the events before it.
//
// There are two limiters. A Funnel lets through a steady rate and a burst, and
// needs one number per key; it is the GCRA of CL.THROTTLE. A Window lets
// through an exact number of events within any period, and needs a number per
// event of the period.
//
//	f, err := limits.NewFunnel(15, 30, 60*1e9) // 30 a minute, 15 more at once
//	answer, tat := f.Throttle(tat, now, 1)
//
// # Contract
//
// Both are functions of (state, time): they read no clock, so the same calls
// give the same answers, in a replay as in production. Times and durations are
// nanoseconds; times count from any origin, between -2^62 and 2^62 (the year
// 2116, from the Unix epoch). A clock that steps back lets nothing through
// twice: it makes the limiter stricter until it has caught up.
//
// No type here locks: one goroutine at a time may use it.
package limits

import "errors"

// ErrLimit is returned for a limit that cannot be kept.
var ErrLimit = errors.New("limits: impossible limit")

// Never is the RetryAfter of a request that will never be let through, and of
// one that was let through.
const Never = -1

// An Answer is what CL.THROTTLE replies, in nanoseconds.
type Answer struct {
	Limited    bool  // the request was not let through
	Limit      int64 // how many units may go at once
	Remaining  int64 // how many units may still go now
	RetryAfter int64 // until the same request would be let through, or Never
	ResetAfter int64 // until the limiter is as if it had never been used
}

// Reply returns the five integers of CL.THROTTLE. Seconds are cut to milliseconds,
// then rounded up, as redis-cell does it.
func (a Answer) Reply() [5]int64 {
	var limited int64
	if a.Limited {
		limited = 1
	}
	return [5]int64{limited, a.Limit, a.Remaining, seconds(a.RetryAfter), seconds(a.ResetAfter)}
}

func seconds(ns int64) int64 {
	if ns < 0 {
		return Never
	}
	return (ns/1e6 + 999) / 1000
}
