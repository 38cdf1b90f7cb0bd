package redis

import (
	"math"
	"strconv"
	"time"

	"weir/sketches/limits"
)

var throttleCommands = []command{
	{name: "cl.throttle", arity: -1, flags: flagWrite | flagGrow, keys: firstKey, family: "throttle", about: "key max_burst count period [quantity]: limited, limit, remaining, retry after, reset after",
		differ: "Limits above 1,000 per second bind as well: the state does not end before its funnel is empty. Errors begin with ERR.", run: throttle},
}

// throttle stores its state as redis-cell does: a string with the time at which
// the funnel will be empty, in nanoseconds since the Unix epoch. So DEL resets
// the limiter, and PTTL returns how long it remains.
func throttle(c call, k *keyspace) {
	if len(c.args) != 5 && len(c.args) != 6 {
		c.w.Error("ERR Cell error: Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]")
		return
	}
	var n [4]int64
	n[3] = 1
	for i, a := range c.args[2:] {
		var ok bool
		if n[i], ok = parseInt(a); !ok {
			c.w.Error("ERR Cell error: Couldn't parse as integer: " + string(a))
			return
		}
	}
	burst, count, period, quantity := n[0], n[1], n[2], n[3]
	if count <= 0 || period <= 0 {
		c.w.Error("ERR Cell error: Zero rates are not supported")
		return
	}
	if period > math.MaxInt64/int64(time.Second) {
		c.w.Error("ERR Cell error: the period is too long")
		return
	}
	funnel, err := limits.NewFunnel(burst, count, period*int64(time.Second))
	if err != nil {
		c.w.Error("ERR Cell error: " + err.Error())
		return
	}
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	tat := k.nano
	if it != nil {
		if tat, err = strconv.ParseInt(string(it.str), 10, 64); err != nil {
			c.w.Error(errInteger)
			return
		}
	}
	answer, next := funnel.Throttle(tat, k.nano, quantity)
	if !answer.Limited {
		if it == nil {
			it = k.put(c.args[1], &item{str: []byte{}})
		}
		it.str = strconv.AppendInt(it.str[:0], next, 10)
		k.expire(it, next/int64(time.Millisecond)+1)
		k.touch(it)
	}
	c.w.Array(5)
	for _, v := range answer.Reply() {
		c.w.Int(v)
	}
}
