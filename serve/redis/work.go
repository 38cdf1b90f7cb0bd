package redis

// Commands run one at a time, so a long one keeps every other client waiting, and
// takes time from the jobs of the process. Redis allows that; this server refuses
// a command that would take too long. It estimates the time before the command
// runs, from the figures below, which `make longest` compares with measured times.
// A clock cannot do this: it shows the time only after the command, and would allow a
// command on one day and refuse it on another.

// A cost is estimated time, in picoseconds.
type cost int64

const (
	nanosecond  cost = 1000
	millisecond      = 1_000_000 * nanosecond

	// workMost is what one command may take, or all those of a transaction.
	workMost = 5 * millisecond
	// turnMost is how much one turn of a client may take.
	turnMost = 1 * millisecond
)

// The cost of single steps, measured on a slow, busy machine with cold caches.
const (
	perCall      = 200 * nanosecond    // a command
	perArg       = 120 * nanosecond    // an argument, unless the command says otherwise
	perByte      = 500                 // a byte copied into a reply or into a string, the page faults included
	perRead      = 100                 // a byte of a string that is read
	perSource    = 350                 // a byte of a source of BITOP
	perMade      = 170                 // a byte of the result of BITOP
	perContainer = 60 * nanosecond     // 8 KiB of a window's bitmap
	perShared    = 60 * nanosecond     // a hash of the smaller of two window sets
	perElement   = 100 * nanosecond    // an element of a list, or a member of a sorted set, in a reply
	perScore     = 200 * nanosecond    // the score of such a member
	perRemoved   = 600 * nanosecond    // a member that is removed from a sorted set with its neighbours
	perSought    = 300 * nanosecond    // a member that is looked up in a set
	perJoined    = 700 * nanosecond    // a member that a combination of sets keeps
	perDrawn     = 300 * nanosecond    // a random member of a set
	perTaken     = 1000 * nanosecond   // a member that SPOP removes
	perStored    = 500 * nanosecond    // a member that a search stores
	perWalked    = 14 * nanosecond     // a member that is skipped
	perNear      = 25 * nanosecond     // a member that a search compares with its shape
	perHit       = 250 * nanosecond    // a member that a search sorts, or sends with its distance or position
	perKey       = 330 * nanosecond    // a key that KEYS or SCAN looks at
	perMatch     = 4 * nanosecond      // a byte of a key against a byte of a pattern
	perSketch    = 2500 * nanosecond   // a dense sketch that is merged
	perOpcode    = 8 * nanosecond      // a byte of a sparse sketch that is merged
	perUnion     = 60_000 * nanosecond // a sketch that changes from sparse to dense
	perWalk      = 100 * nanosecond    // finding a register in a sparse sketch
	perMoved     = 400                 // a byte of a sparse sketch that is passed or moved
	perProbe     = 6 * nanosecond      // a bit of a Bloom filter
	perMiss      = 50 * nanosecond     // a bit of a Bloom filter that is not in the caches
	perLayer     = 25_000 * nanosecond // a layer that a Bloom filter grows by
	perLetter    = 25 * nanosecond     // a byte of a text that is compared with the scripts
	perBucket    = 2 * nanosecond      // a bucket of a histogram, for each number asked for
	perStats     = 50_000 * nanosecond // the statistics of the memory
	perClient    = 600 * nanosecond    // a line of CLIENT LIST
)

// keyMost and patternMost bound the length of keys and patterns: matching takes
// time in proportion to their product.
const (
	keyMost     = 8 << 10
	patternMost = 128
)

const errWork = "ERR too much at a time: a command, or a transaction, may hold up the others for about 5 ms, see docs/commands-redis.md; ask for less, or in parts"

// A budget is the time of the commands of one turn.
type budget struct {
	used  cost // in this turn
	limit cost // what used may reach while a command, or a transaction, runs
}

// begin gives a command, or a transaction, its time: workMost from now.
func (b *budget) begin() { b.limit = b.used + workMost }

// left returns the time that the command has left.
func (b *budget) left() cost { return b.limit - b.used }

// spend takes the cost of n steps from the time of the command; false: there is
// not enough left.
func (b *budget) spend(n int, each cost) bool {
	more := cost(n) * each // of lengths of slices, so it does not overflow
	if b.used+more > b.limit {
		return false
	}
	b.used += more
	return true
}

// base returns the cost of a command's arguments alone.
func (cmd *command) base(args [][]byte) cost {
	n := 0
	for _, a := range args {
		n += len(a)
	}
	return perCall + cost(len(args))*cmd.each + cost(n)*perByte
}

// afford is budget.spend, but sends the error if there is not enough time.
func (c call) afford(n int, each cost) bool {
	if !c.work.spend(n, each) {
		c.w.Error(errWork)
		return false
	}
	return true
}

// room returns how long an array of n strings with so many bytes is at most: each has its
// length in front, of up to seven digits. A reply that outgrows its buffer is copied.
func room(n, bytes int) int { return bytes + len("$8388608\r\n\r\n")*n + 16 }

// affordReply is afford for a reply of n strings with so many bytes; it also makes
// room for the reply.
func (c call) affordReply(n, bytes int) bool {
	if !c.afford(bytes, perByte) {
		return false
	}
	c.w.Grow(room(n, bytes))
	return true
}
