package redis

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Windows finds what jobs have counted. It is called by many goroutines at
// once, outside the server's lock, so it may take its time.
type Windows interface {
	// Lookup returns the value of a key: the join over its windows and groups.
	// found is false where nothing has been counted. The error is for the
	// client, that there is no such job or measure too: it is sent as it is,
	// after "ERR ".
	Lookup(ctx context.Context, key Key) (v Value, found bool, err error)
	// Recent returns what Lookup would, if that is at hand; otherwise known is
	// false. It takes no time.
	Recent(key Key) (v Value, found, known bool)
	// Keys iterates over the keys of single windows that have a value, in any
	// order, for KEYS and SCAN. An error ends it.
	Keys(ctx context.Context) iter.Seq2[Key, error]
}

// A Value is the value of a window key: what its measure comes to, or Hits if it is
// none, or Partial of the measure of that name. The server reads it under its own
// lock and changes nothing but what counting caches in a Sketch. The Windows that
// returned it must not change it afterwards, but may return it again.
type Value struct {
	Hits     uint64 // GET
	Measured any    // of a type that one of windowForms knows

	Partial string // why the value is not the whole; GET of partialMeasure
}

// windowForms say which commands read the value of a window key: one for each type
// that a measure may come to, in the file of these commands. A form makes the item
// what its commands read, or reports that the value is of another type.
var windowForms = []func(it *item, measured any) bool{sketchForm, activityForm, filterForm, placesForm, numberForm}

// A shown is what a window key shows.
type shown struct {
	measured any
	text     func(dst []byte) []byte // appends it as a string; nil: it is in item.str, or no string
}

// partialMeasure is what tells a client of replies that are not the whole, for
// lack of a place in the replies themselves: RESP2 has none, and at the attributes
// of RESP3 redis-cli 7.0 and redis-py 5 hang up.
const partialMeasure = "partial"

// windowPrefix begins every window key, and no scratch key.
const windowPrefix = "w:"

func isWindow(key []byte) bool { return len(key) >= 2 && key[0] == 'w' && key[1] == ':' }

// errReadOnlyWindow is the reply to a command that would write to a window key.
const errReadOnlyWindow = "ERR window keys are read-only: keys that begin with w: show what a job has counted"

// windowItem is the value of a key, as written, in the form that the commands
// read.
func windowItem(written string, key Key, v Value) *item {
	it := &item{window: &shown{measured: v.Measured}}
	it.name([]byte(written))
	switch {
	case v.Measured != nil:
		if !slices.ContainsFunc(windowForms, func(form func(*item, any) bool) bool { return form(it, v.Measured) }) {
			panic(fmt.Sprintf("redis: no command reads a %T", v.Measured))
		}
	case key.Measure == partialMeasure:
		it.str = []byte(v.Partial)
	default:
		it.str = strconv.AppendUint([]byte{}, v.Hits, 10)
	}
	return it
}

// A fault is the reply to a command whose window keys cannot be looked up.
type fault string

const (
	noFault    fault = ""
	impatience fault = "impatience" // no reply: it takes patience
)

// resolve looks up the window keys of a command before it runs.
func (c *client) resolve(cmd *command, args [][]byte, patient bool) fault {
	if cmd.run == nil || cmd.flags&flagWrite == 0 && cmd.keys.first == 0 {
		return noFault
	}
	for i := range cmd.keys.of(args) {
		if !isWindow(args[i]) || cmd.writesTo(args, i) {
			continue
		}
		if _, done := c.windows[string(args[i])]; done {
			continue
		}
		key, err := ParseKey(string(args[i]))
		if err != nil {
			return fault("ERR " + err.Error())
		}
		v, found, known := c.server.windows.Recent(key)
		if !known && !patient {
			return impatience
		}
		if !known {
			if v, found, err = c.server.windows.Lookup(c.ctx, key); err != nil {
				return fault("ERR " + strings.TrimPrefix(err.Error(), "ERR "))
			}
		}
		if c.windows == nil {
			c.windows = map[string]*item{}
		}
		if found {
			c.windows[string(args[i])] = windowItem(string(args[i]), key, v)
		} else {
			c.windows[string(args[i])] = nil
		}
	}
	return noFault
}

// list gathers the window keys for KEYS and SCAN, before the lock.
func (c *client) list() fault {
	c.listed = c.listed[:0]
	for key, err := range c.server.windows.Keys(c.ctx) {
		if err != nil {
			return fault(fmt.Sprintf("ERR the list of window keys: %v", err))
		}
		text := key.String()
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // a hash takes everything
		c.listed = append(c.listed, listedKey{h.Sum64()>>2 | windowCursor, text})
	}
	// Ordered by a hash, a scan can go on where it was although windows have
	// come and gone.
	slices.SortFunc(c.listed, func(a, b listedKey) int {
		if a.cursor != b.cursor {
			if a.cursor < b.cursor {
				return -1
			}
			return 1
		}
		return strings.Compare(a.key, b.key)
	})
	return noFault
}

// windowCursor marks the cursors of a SCAN that has done with scratch keys.
const windowCursor = 1 << 62

type listedKey struct {
	cursor uint64
	key    string
}

// scanWindows visits about n window keys from a cursor on.
func (c *client) scanWindows(cursor uint64, n int, visit func(string)) (next uint64) {
	i, _ := slices.BinarySearchFunc(c.listed, cursor, func(l listedKey, cursor uint64) int {
		if l.cursor < cursor {
			return -1
		}
		return 1
	})
	for ; i < len(c.listed); i++ {
		// Keys of one hash stay together.
		if n <= 0 && c.listed[i].cursor != c.listed[i-1].cursor {
			return c.listed[i].cursor
		}
		visit(c.listed[i].key)
		n--
	}
	return 0
}
