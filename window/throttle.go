package window

import (
	"fmt"

	"weir/event"
	"weir/internal/hashtable"
	"weir/sketches/limits"
)

// Throttle lets an event of a key count only as a limiter of package limits allows.
//
// It is a function of the log: the limiter of a key is asked about its events of one
// partition in the order of their offsets. Its clock is the greatest event time of the
// key so far, each at most the time of its record. So an event that comes late is judged as
// if it had come with the one before it, and a fast clock of one client takes nothing from others. The limiter of a chunk's events is as if the log began with the chunk
// before. Events that are malformed, late, future, filtered, or repeated within their chunk
// do not use it up, and a repeat of an event of the chunk before does so only for the chunk
// that follows: see Partition.look.
type Throttle struct {
	Path   string     `json:"field"`
	Limit  int        `json:"limit"`            // events per period
	Per    event.Time `json:"per_ms"`           // the period, ms
	Funnel bool       `json:"funnel,omitempty"` // limits.Funnel; else limits.Window
	Burst  int        `json:"burst,omitempty"`  // Funnel: how many events more may go at once
}

// limiter makes the limiter that the throttle asks; times are in milliseconds times nano.
func (t *Throttle) limiter() (f limits.Funnel, w limits.Window, err error) {
	if t.Funnel {
		f, err = limits.NewFunnel(int64(t.Burst), int64(t.Limit), int64(t.Per)*nano)
	} else {
		w, err = limits.NewWindow(t.Limit, int64(t.Per)*nano)
	}
	return f, w, err
}

// nano is how many of the units of package limits are in a millisecond. maxTime stays
// within its bound.
const nano = 1_000_000

// A throttler has the limiters of the keys of one partition since the beginning of a chunk.
type throttler struct {
	form   *Throttle
	window limits.Window
	funnel limits.Funnel
	keys   []throttled
	logs   []limits.Log // by key; empty with a funnel
	index  hashtable.Table[uint32]
	held   int // bytes of the logs
}

type throttled struct {
	id     id
	tat    int64 // Funnel: its state, the theoretical arrival time
	latest int64 // Funnel: the clock
}

func newThrottler(t *Throttle) *throttler {
	if t == nil {
		return nil
	}
	r := &throttler{form: t}
	var err error
	if r.funnel, r.window, err = t.limiter(); err != nil {
		panic(fmt.Sprintf("window: a throttle that Validate refuses: %v", err))
	}
	return r
}

// allow asks for an event of a key and of a time to be let through.
func (r *throttler) allow(key id, at event.Time) bool {
	slot := r.index.First(uint32(key[0]))
	for ; slot >= 0 && r.keys[*r.index.At(slot)].id != key; slot = r.index.Next(slot) {
	}
	var i uint32
	if slot >= 0 {
		i = *r.index.At(slot)
	} else {
		i = uint32(len(r.keys))
		r.index.Insert(slot, uint32(key[0]), i)
		r.keys = append(r.keys, throttled{id: key})
		if !r.form.Funnel {
			r.logs = append(r.logs, limits.Log{})
		}
	}
	now := int64(at) * nano
	if r.form.Funnel {
		k := &r.keys[i]
		k.latest = max(k.latest, now)
		var a limits.Answer
		a, k.tat = r.funnel.Throttle(k.tat, k.latest, 1)
		return !a.Limited
	}
	l := &r.logs[i]
	before := l.Bytes()
	a := r.window.Allow(l, now)
	r.held += l.Bytes() - before
	return !a.Limited
}

func (r *throttler) reset() {
	clear(r.logs)
	r.keys, r.logs, r.held = r.keys[:0], r.logs[:0], 0
	r.index.Reset()
}

func (r *throttler) bytes() int {
	const key, log = 32, 48
	return cap(r.keys)*key + cap(r.logs)*log + r.index.Bytes() + r.held
}
