package redis

import (
	"bytes"
	"iter"
)

type flags uint8

const (
	flagWrite   flags = 1 << iota // a read-only server refuses it
	flagGrow                      // refused while the memory is full
	flagNoAuth                    // allowed before AUTH
	flagNoQueue                   // runs at once within MULTI
	flagList                      // needs the list of window keys
)

// A keySpec says which arguments are keys: each step-th from first to last, where −1 is
// the last argument, and 0 means that the argument before the first one says how many
// there are; all zero if there is no key.
type keySpec struct{ first, last, step int }

var (
	noKeys      = keySpec{}
	firstKey    = keySpec{1, 1, 1}
	allKeys     = keySpec{1, -1, 1}
	countedKeys = keySpec{2, 0, 1}
)

// of iterates over the indexes of the keys in args.
func (k keySpec) of(args [][]byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		last := k.last
		switch {
		case last < 0:
			last += len(args)
		case last == 0 && k.first > 0 && k.first < len(args):
			n, _ := parseInt(args[k.first-1])
			last = k.first - 1 + int(min(max(n, 0), int64(len(args))))
		}
		for i := k.first; i > 0 && i <= last && i < len(args); i += k.step {
			if !yield(i) {
				return
			}
		}
	}
}

// A command is an entry of the command table: what the server does, and what
// the document says.
type command struct {
	name   string // lower case
	arity  int    // number of arguments, the name included; −n: at least n
	flags  flags
	keys   keySpec
	dest   int // the index of the only key that a writing command writes; 0: all keys; −1: see its code
	family string
	about  string // what it does, for the document
	differ string // how it differs from Redis, for the document
	run    func(call, *keyspace)
}

// writesTo reports whether the key at index i is one that the command writes.
func (cmd *command) writesTo(i int) bool {
	return cmd.flags&flagWrite != 0 && (cmd.dest == 0 || cmd.dest == i)
}

// table has every command, by its name.
var table = map[string]*command{}

func init() {
	for _, family := range [][]command{
		stringCommands, keyCommands, hllCommands, bitCommands, bloomCommands, geoCommands, zsetCommands,
		setCommands, tdigestCommands, topkCommands, throttleCommands, lockCommands, listCommands, transactionCommands, connectionCommands, adminCommands,
	} {
		for i := range family {
			table[family[i].name] = &family[i]
		}
	}
}

// lookup returns the command with this name, in upper or lower case, or nil.
func lookup(name []byte) *command {
	var room [24]byte
	if len(name) > len(room) {
		return nil
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		room[i] = c
	}
	return table[string(room[:len(name)])]
}

func arityError(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// is reports whether an argument is this word (given in upper case), in any
// case.
func is(arg []byte, word string) bool {
	return len(arg) == len(word) && bytes.EqualFold(arg, []byte(word))
}
