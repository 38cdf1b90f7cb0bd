package geo

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// A Stamp says when a position was reported, so that of two positions of one
// member the later wins wherever they meet. Event times repeat; the slot and
// the offset of the record break the tie, so that no two records share a
// stamp.
type Stamp struct {
	Time   int64  // event time, milliseconds
	Slot   uint64 // the record's chunk of the log
	Offset int64  // the record's place in its partition
}

// Compare orders stamps by time, then slot, then offset.
func (s Stamp) Compare(o Stamp) int {
	return cmp.Or(cmp.Compare(s.Time, o.Time), cmp.Compare(s.Slot, o.Slot), cmp.Compare(s.Offset, o.Offset))
}

// later reports whether position (s, score) replaces (o, old). Scores decide
// between equal stamps, which only forged input has. So the choice is a maximum
// in a total order, and a merge for any input.
func later(s Stamp, score uint64, o Stamp, old uint64) bool {
	switch c := s.Compare(o); {
	case c != 0:
		return c > 0
	default:
		return score > old
	}
}

// Last holds the last position of every (window, member) pair. Put and Merge
// keep the position with the greater stamp, so order and repetition of calls do
// not matter. A Last holds the positions that a flush sends; it cannot be
// searched, but Set makes a searchable set of it.
//
// The zero value is empty and ready. A pair costs 56 bytes and the member's
// own, and 11 to 21 bytes of index; Bytes counts all of it.
//
// The index is a table of its own. A Put of a new pair and Gather were slower
// with hashtable.Table, whose Insert is a call.
type Last struct {
	entries []lastEntry
	arena   []byte   // the members' bytes, one behind the other
	index   []uint64 // open addressing, linear probing: 32 bits of hash, 32 of entry number + 1
	order   []lastKey
}

type lastEntry struct {
	window int64
	stamp  Stamp
	score  uint64
	at, n  int // the member is arena[at : at+n]
}

// lastKey sorts most entries by two integers, without a look at the arena.
type lastKey struct {
	window int64
	prefix uint64 // the member's first eight bytes, big-endian
	entry  uint32
}

// hash decides only where a pair lies in the index: Each sorts, and Bytes
// depends on numbers only. It is the same in every process, so a client can
// craft members that collide; they cost time, not correctness.
func hash(window int64, member []byte) uint64 {
	h := xxhash.Sum64(member) ^ uint64(window)*0x9E3779B97F4A7C15
	// The window must change the upper and the lower bits alike.
	h ^= h >> 32
	return h * 0xD6E8FEB86659FD93
}

// Put records that member was at score at the time of st, unless the window
// already has a later position of it. The member is copied.
func (l *Last) Put(window int64, member []byte, st Stamp, score uint64) {
	l.put(hash(window, member), window, member, st, score)
}

func (l *Last) put(h uint64, window int64, member []byte, st Stamp, score uint64) {
	if 4*(len(l.entries)+1) > 3*len(l.index) {
		l.grow()
	}
	mask := uint64(len(l.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := l.index[i]
		if slot == 0 {
			l.entries = append(l.entries, lastEntry{window, st, score, len(l.arena), len(member)})
			l.arena = append(l.arena, member...)
			l.index[i] = h>>32<<32 | uint64(len(l.entries))
			return
		}
		if slot>>32 != h>>32 {
			continue
		}
		e := &l.entries[uint32(slot)-1]
		if e.window == window && bytes.Equal(l.member(e), member) {
			e.merge(st, score)
			return
		}
	}
}

func (e *lastEntry) merge(st Stamp, score uint64) {
	if later(st, score, e.stamp, e.score) {
		e.stamp, e.score = st, score
	}
}

// grow makes the index twice as large, and large enough for one entry more.
func (l *Last) grow() {
	size := max(16, 2*len(l.index))
	for 4*(len(l.entries)+1) > 3*size {
		size *= 2
	}
	l.index = make([]uint64, size)
	mask := uint64(len(l.index) - 1)
	for n := range l.entries {
		e := &l.entries[n]
		h := hash(e.window, l.member(e))
		i := h & mask
		for l.index[i] != 0 {
			i = (i + 1) & mask
		}
		l.index[i] = h>>32<<32 | uint64(n+1)
	}
}

func (l *Last) member(e *lastEntry) []byte { return l.arena[e.at : e.at+e.n : e.at+e.n] }

// Merge puts every position of o.
func (l *Last) Merge(o *Last) {
	switch {
	case l == o:
		return
	case len(l.entries) == 0: // a copy then, which takes no search
		l.entries = append(l.entries, o.entries...)
		l.arena = append(l.arena[:0], o.arena...)
		l.index = append(l.index[:0], o.index...)
		return
	}
	l.Gather(o, func(window int64) (int64, bool) { return window, true })
}

// Gather puts the positions of o under the window that into returns, or skips
// them where keep is false. It calls into for each run of entries of a window.
//
// A search for a member reads memory three times, each time at an address that
// the read before gives, and most reads miss the cache. The reads of a batch of
// members overlap, which is twice as fast as one Put after the other.
func (l *Last) Gather(o *Last, into func(window int64) (to int64, keep bool)) {
	const batch = 32
	var (
		wanted  [batch]*lastEntry
		windows [batch]int64
		hashes  [batch]uint64
		likely  [batch]uint32 // entry number + 1 of the first with the hash, or 0
		known   [batch]bool   // and it is the member
		last    int64
		to      int64
		keep    bool
	)
	for from := 0; from < len(o.entries); {
		n := 0
		for ; n < batch && from < len(o.entries); from++ {
			e := &o.entries[from]
			if from == 0 || e.window != last {
				last = e.window
				to, keep = into(last)
			}
			if keep {
				wanted[n], windows[n], hashes[n], likely[n], known[n] = e, to, hash(to, o.member(e)), 0, false
				n++
			}
		}
		if mask := uint64(len(l.index) - 1); len(l.index) > 0 {
			for i, h := range hashes[:n] {
				if slot := l.index[h&mask]; slot>>32 == h>>32 {
					likely[i] = uint32(slot)
				}
			}
		}
		for i, number := range likely[:n] {
			if number != 0 {
				e := &l.entries[number-1]
				known[i] = e.window == windows[i] && bytes.Equal(l.member(e), o.member(wanted[i]))
			}
		}
		for i, e := range wanted[:n] {
			if known[i] {
				l.entries[likely[i]-1].merge(e.stamp, e.score)
			} else {
				l.put(hashes[i], windows[i], o.member(e), e.stamp, e.score)
			}
		}
	}
}

// Set returns the positions of one window as a sorted set, which can be
// searched.
func (l *Last) Set(window int64) *Set { return l.Members(window, math.MinInt64).Set() }

// Members returns the members of a window with positions at that time or later.
// It copies them in the order in which they came, so a caller that locks l need
// not hold the lock while it makes a Set of them.
func (l *Last) Members(window, since int64) Members {
	n := 0
	for i := range l.entries {
		if e := &l.entries[i]; e.window == window && e.stamp.Time >= since {
			n++
		}
	}
	names := string(l.arena)
	m := Members{make([]entry, 0, n)}
	for i := range l.entries {
		if e := &l.entries[i]; e.window == window && e.stamp.Time >= since {
			m.entries = append(m.entries, entry{float64(e.score), names[e.at : e.at+e.n]})
		}
	}
	return m
}

// Members are members and their positions.
type Members struct{ entries []entry }

// Set sorts them and takes them over. Members share memory, which is freed when
// the last of them is.
func (m Members) Set() *Set { return newSet(m.entries) }

// Len returns the number of (window, member) pairs.
func (l *Last) Len() int { return len(l.entries) }

// Bytes returns the memory held, unused capacity included.
func (l *Last) Bytes() int {
	return cap(l.entries)*lastEntryBytes + cap(l.arena) + 8*cap(l.index) + cap(l.order)*lastKeyBytes
}

const lastEntryBytes, lastKeyBytes = 56, 24

// Reset removes everything and keeps the memory.
func (l *Last) Reset() {
	l.entries = l.entries[:0]
	l.arena = l.arena[:0]
	clear(l.index)
}

// All yields what Each yields, in the order in which the members came. It
// changes nothing in l, not even scratch memory, so it may run beside another
// reader.
func (l *Last) All(yield func(window int64, member []byte, st Stamp, score uint64) bool) {
	for i := range l.entries {
		e := &l.entries[i]
		if !yield(e.window, l.member(e), e.stamp, e.score) {
			return
		}
	}
}

// Each calls yield with every position, ordered by window, then by the
// member's bytes, until yield returns false. The member is valid until l changes.
// yield must not change l.
func (l *Last) Each(yield func(window int64, member []byte, st Stamp, score uint64) bool) {
	l.order = l.order[:0]
	for i := range l.entries {
		e := &l.entries[i]
		l.order = append(l.order, lastKey{e.window, prefix(l.member(e)), uint32(i)})
	}
	slices.SortFunc(l.order, func(a, b lastKey) int {
		if a.window != b.window {
			return cmp.Compare(a.window, b.window)
		}
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(l.member(&l.entries[a.entry]), l.member(&l.entries[b.entry]))
	})
	for _, k := range l.order {
		e := &l.entries[k.entry]
		if !yield(e.window, l.member(e), e.stamp, e.score) {
			return
		}
	}
}

// prefix packs the first eight bytes of a member so that integers compare as
// the bytes do; shorter members are padded with zeros.
func prefix(member []byte) uint64 {
	if len(member) >= 8 {
		return binary.BigEndian.Uint64(member)
	}
	var b [8]byte
	copy(b[:], member)
	return binary.BigEndian.Uint64(b[:])
}
