package redis

// Commands run one at a time, so one that runs long keeps every other client
// waiting, and behind them the jobs of the process. Redis leaves it at that; here
// a command is refused that would take too long. How long that would be is
// reckoned before, from figures that `make longest` holds against the clock: a
// clock read while it runs could only tell when it is too late, and the same
// command would pass on one day and not on another.

// A cost is time by reckoning, in picoseconds.
type cost int64

const (
	nanosecond  cost = 1000
	millisecond      = 1_000_000 * nanosecond

	// workMost is what one command may take, or all those of a transaction.
	workMost = 5 * millisecond
	// turnMost is what a client may take before it is the others' turn.
	turnMost = 1 * millisecond
)

// What things take, measured on a machine that is slow and busy, with cold caches.
const (
	perCall      = 200 * nanosecond    // a command
	perArg       = 100 * nanosecond    // an argument, unless the command says otherwise
	perByte      = 500                 // a byte copied into a reply or into a string, the page faults included
	perRead      = 100                 // a byte of a string looked at
	perJoined    = 200                 // a byte of a source of BITOP
	perMade      = 170                 // a byte of what it makes
	perContainer = 60 * nanosecond     // 8 KiB of a window's bitmap
	perElement   = 100 * nanosecond    // an element of a list, or a member of a sorted set, in a reply
	perScore     = 200 * nanosecond    // its score beside it
	perRemoved   = 600 * nanosecond    // a member that is taken out of a sorted set, with those beside it
	perStored    = 500 * nanosecond    // a member that a search stores
	perWalked    = 14 * nanosecond     // a member that is passed by
	perNear      = 25 * nanosecond     // a member that a search compares with its shape
	perHit       = 250 * nanosecond    // a member that a search sorts, or sends with its distance or position
	perKey       = 250 * nanosecond    // a key that KEYS or SCAN looks at
	perMatch     = 4 * nanosecond      // a byte of a key against a byte of a pattern
	perSketch    = 2500 * nanosecond   // a sketch that is joined, dense
	perOpcode    = 8 * nanosecond      // a byte of it, sparse
	perUnion     = 60_000 * nanosecond // a sketch that has to change its form
	perWalk      = 100 * nanosecond    // a walk through a sparse sketch to a register
	perMoved     = 400                 // a byte of it that is passed or moved
	perProbe     = 6 * nanosecond      // a bit of a Bloom filter
	perMiss      = 50 * nanosecond     // one that is not in the caches
	perLayer     = 25_000 * nanosecond // a layer that a Bloom filter grows by
	perStats     = 50_000 * nanosecond // the statistics of the memory
	perClient    = 600 * nanosecond    // a line of CLIENT LIST
)

// keyMost and patternMost bound what a pattern is matched with: their product
// is the time that may take.
const (
	keyMost     = 8 << 10
	patternMost = 128
)

const errWork = "ERR too much at a time: a command, or a transaction, may hold up the others for about 5 ms, see docs/commands-redis.md; ask for less, or in parts"

// begin gives a command, or a transaction, its time.
func (c *client) begin() { c.workLimit = c.work + workMost }

// spend takes n steps from the time of the command; false: it has not so much.
func (c *client) spend(n int, each cost) bool {
	more := cost(n) * each // of lengths of slices, so it does not overflow
	if c.work+more > c.workLimit {
		return false
	}
	c.work += more
	return true
}

// base is what a command takes for its arguments alone.
func (cmd *command) base(args [][]byte) cost {
	n := 0
	for _, a := range args {
		n += len(a)
	}
	return perCall + cost(len(args))*cmd.each + cost(n)*perByte
}

// afford is spend before something is done; if it cannot be, the error has been
// sent.
func (c *client) afford(n int, each cost) bool {
	if !c.spend(n, each) {
		c.w.Error(errWork)
		return false
	}
	return true
}

// affordReply is afford of the bytes of n strings in a reply, for which it makes
// room at once.
func (c *client) affordReply(n, bytes int) bool {
	if !c.afford(bytes, perByte) {
		return false
	}
	c.w.Grow(bytes + 10*n)
	return true
}
