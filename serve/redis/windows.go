package redis

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"strings"

	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/topk"
	"weir/serve/key"
	"weir/serve/live"
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

// Windows finds what jobs have counted; *live.Windows does. Many goroutines call it at
// once, outside the server's lock, so it may take its time.
type Windows interface {
	// Lookup returns the answer to a key. The error is for the client: it is sent as
	// it is, after "ERR ".
	Lookup(ctx context.Context, k key.Key) (live.Answer, error)
	// Keys returns the keys of single windows that have a value, in any order, for KEYS and SCAN.
	Keys(ctx context.Context) ([]key.Key, error)
}

// A windowValue is what a window key shows.
type windowValue struct {
	value any                     // live.Answer.Value
	text  func(dst []byte) []byte // appends it as a string; nil: it is in item.str, or no string
}

// answerOf returns the answer of a window key if it is a T, and else the zero T.
func answerOf[T any](it *item) (answer T) {
	if it.window != nil {
		answer, _ = it.window.value.(T)
	}
	return answer
}

// answered returns the answer of a window key of a kind that no scratch key has; if there is no
// such key, it sends the error.
func answered[T any](c call, k *keyspace, of valueType, missing string) (answer T, ok bool) {
	it, ok := k.typed(c, c.args[1], of)
	if ok && it == nil {
		c.w.Error(missing)
	}
	if it == nil {
		return answer, false
	}
	return answerOf[T](it), true
}

// errReadOnlyWindow is the reply to a command that would write to a window key.
const errReadOnlyWindow = "ERR window keys are read-only: keys that begin with w: show what a job has counted"

// windowItem returns an answer as the item of a key, or nil if nothing was counted. Commands
// read it by its type. What makes a reply may cache something in the value, under the server's
// lock, but changes nothing that a reader can see.
//
// No reply says that its answer is partial: RESP2 has no place for it, and redis-cli 7.0 and
// redis-py 5 close the connection when they get an attribute of RESP3. Clients ask the measure
// partial.
func windowItem(key string, a live.Answer) *item {
	if !a.Found() {
		return nil
	}
	it := &item{key: key, window: &windowValue{value: a.Value}}
	switch v := a.Value.(type) {
	case *hll.Sketch:
		it.window.text = func(dst []byte) []byte { return v.AppendRedis(dst, hll.DefaultSparseMax) }
	case *bitmap.Activity:
		it.window.text = v.AppendBytes
	case *set.Answer:
		it.typ = typeSet
	case *bloom.Filter:
		it.typ = typeBloom
	case *geo.Set:
		it.typ, it.value = typeZset, &zset{Set: *v}
	case *quantile.Answer:
		it.typ = typeDigest
	case *topk.Answer:
		it.typ = typeTopK
	case encoding.TextAppender: // a number
		text, err := v.AppendText([]byte{})
		if err != nil {
			panic("redis: a number without a text: " + err.Error())
		}
		it.str = text
	default:
		panic(fmt.Sprintf("redis: no command reads a %T", v))
	}
	return it
}

// errAsk is why a question is given up.
var errAsk = errors.New("ClickHouse is slow, or the command asks for too much: ask for fewer keys or a shorter range")

// A fault is the reply to a command whose window keys cannot be looked up.
type fault string

const noFault fault = ""

// asksWindows reports whether a command would read window keys if it ran now.
func (c *client) asksWindows(args [][]byte) bool {
	for _, q := range c.reads(args) {
		if q.cmd.asksWindows(q.args) {
			return true
		}
	}
	return false
}

// reads returns the commands that would run for this one: itself, none if it is queued,
// the commands of the transaction for EXEC.
func (c *client) reads(args [][]byte) []queued {
	cmd := lookup(args[0])
	switch {
	case cmd == nil || c.server.windows == nil:
		return nil
	case !c.transaction.open:
		return []queued{{cmd, args}}
	case cmd.name == "exec":
		return c.transaction.queue
	}
	return nil
}

func (cmd *command) asksWindows(args [][]byte) bool {
	if cmd.flags&flagList != 0 {
		return true
	}
	for i := range cmd.keys.of(args) {
		if key.Is(args[i]) && !cmd.writesTo(i) {
			return true
		}
	}
	return false
}

// resolve looks up the window keys of a command before it runs, or of a transaction. If
// one fails the transaction does not run, because it must not run in part.
func (c *client) resolve(args [][]byte) fault {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.server.config.Ask, errAsk)
	defer cancel()
	c.keys.windows = map[string]*item{}
	for _, q := range c.reads(args) {
		if f := c.resolveOne(ctx, q.cmd, q.args); f != noFault {
			if c.transaction.open {
				f = "EXECABORT Transaction discarded because of: " + f
			}
			return f
		}
	}
	return noFault
}

func (c *client) resolveOne(ctx context.Context, cmd *command, args [][]byte) fault {
	if cmd.flags&flagList != 0 {
		if f := c.list(ctx); f != noFault {
			return f
		}
	}
	for i := range cmd.keys.of(args) {
		name := string(args[i])
		if _, done := c.keys.windows[name]; done || !key.Is(args[i]) || cmd.writesTo(i) {
			continue
		}
		k, err := key.Parse(name)
		if err != nil {
			return fault("ERR " + err.Error())
		}
		a, err := c.server.windows.Lookup(ctx, k)
		if err != nil {
			return c.unanswered(ctx, name, err)
		}
		c.keys.windows[name] = windowItem(name, a)
	}
	return noFault
}

// unanswered is the reply to a question that failed.
func (c *client) unanswered(ctx context.Context, question string, err error) fault {
	if errors.Is(context.Cause(ctx), errAsk) {
		return fault(fmt.Sprintf("ERR no answer about %.100s within %s: %v", question, c.server.config.Ask, errAsk))
	}
	return fault("ERR " + strings.TrimPrefix(err.Error(), "ERR "))
}

// list gathers the window keys for KEYS and SCAN, before the lock.
func (c *client) list(ctx context.Context) fault {
	list, err := c.server.windows.Keys(ctx)
	if err != nil {
		return c.unanswered(ctx, "the list of window keys", fmt.Errorf("the list of window keys: %w", err))
	}
	c.keys.listed = nil
	for _, k := range list {
		c.keys.listed = append(c.keys.listed, k.String())
	}
	return noFault
}
