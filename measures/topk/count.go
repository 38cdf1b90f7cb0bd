// Package topk is the kind of measure that keeps the most frequent values of a field.
//
//	count.go   the kind, its lists and how they add up
//	few.go     the order of keys where a chunk has few of them
//	recent.go  the numbers of short keys that came lately
package topk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"strings"
	"unsafe"

	"weir/internal/counts"
	"weir/internal/hashtable"
	"weir/measures/slots"
	"weir/measures/texts"
	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/window"
)

// Kind keeps the most frequent values of a field, with bounds of their counts that hold
// for every value. In the chunk that is being read all counts are exact; what is sent of
// it is a Top.
var Kind = &window.Kind{
	Name:        "topk",
	Additive:    true,
	HoldsValues: true,
	Intake:      func(*window.Spec, *window.Measure, []int) window.Intake { return new(intake) },
	Column:      func(m *window.Measure) window.Column { return &column{listed: Listed(m)} },
	Tally:       func(m *window.Measure) window.Tally { return &tally{listed: Listed(m)} },
	Text:        slots.CheckedText,
}

// Listed returns how many keys a Top of a measure lists at most: more than
// it shows, because what one chunk or window does not list is unknown when it is added up
// with others.
func Listed(m *window.Measure) int { return max(4*m.K, 64) }

// A Top has the most frequent keys of some events, those of the greatest Count first,
// equal ones in the order of their bytes.
type Top struct {
	Events uint64 // that had a key
	Floor  uint64 // no key that is not listed has more events
	List   []Key
}

// A Key is a key that has at least Count events, and at most Count + Error.
type Key struct {
	Key          string
	Count, Error uint64
}

// before is the order of a list.
func (a Key) before(b Key) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Key, b.Key))
}

// A topList is the list of a Top in few bytes: for each key its length, the key, its count and
// its error, numbers as varints.
type topList []byte

func (l topList) add(key []byte, count, wrong uint64) topList {
	l = append(binary.AppendUvarint(l, uint64(len(key))), key...)
	return binary.AppendUvarint(binary.AppendUvarint(l, count), wrong)
}

// Each yields the keys, the most frequent first. A key is valid only during the call.
func (l topList) Each(yield func(key []byte, count, wrong uint64) bool) {
	number := func() uint64 {
		n, k := binary.Uvarint(l)
		l = l[k:]
		return n
	}
	for len(l) > 0 {
		n := number()
		key := l[:n]
		l = l[n:]
		count := number()
		if !yield(key, count, number()) {
			return
		}
	}
}

func (l topList) keys() (all []Key) {
	l.Each(func(key []byte, count, wrong uint64) bool {
		all = append(all, Key{string(key), count, wrong})
		return true
	})
	return all
}

// A Listing is a Top with its list in few bytes.
type Listing struct {
	Events, Floor uint64
	Keys          topList
}

// later tells which of two Listings of one slot is the greater one in ClickHouse's order of
// tuples: that of more events, which are a longer prefix of the same ones.
func (t Listing) later(o Listing) bool {
	by := cmp.Or(cmp.Compare(t.Events, o.Events), cmp.Compare(t.Floor, o.Floor))
	if by == 0 {
		by = slices.CompareFunc(t.Keys.keys(), o.Keys.keys(), func(a, b Key) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Error, b.Error))
		})
	}
	return by > 0
}

func (t Listing) top() Top { return Top{t.Events, t.Floor, t.Keys.keys()} }

func (t Top) listing() Listing {
	l := Listing{Events: t.Events, Floor: t.Floor}
	for _, e := range t.List {
		l.Keys = l.Keys.add([]byte(e.Key), e.Count, e.Error)
	}
	return l
}

// A topSum adds up Tops of different events. It keeps every key that one of them lists, so
// that the order of the Tops does not matter.
type topSum struct {
	events, floors uint64
	keys           map[string]topShare
}

// A topShare is what the Tops that list a key add: at least count events, and at most
// floors + over, which wraps around.
type topShare struct{ count, over uint64 }

func (s *topSum) add(t Listing) {
	if s.keys == nil {
		s.keys = map[string]topShare{}
	}
	s.events += t.Events
	s.floors += t.Floor
	t.Keys.Each(func(key []byte, count, wrong uint64) bool {
		have := s.keys[string(key)]
		s.keys[string(key)] = topShare{have.count + count, have.over + count + wrong - t.Floor}
		return true
	})
}

// top returns the sum with at most so many keys listed.
func (s *topSum) top(listed int) Top {
	all := make([]Key, 0, len(s.keys))
	for key, share := range s.keys {
		all = append(all, Key{key, share.count, s.floors + share.over - share.count})
	}
	slices.SortFunc(all, Key.before)
	t := Top{Events: s.events, Floor: s.floors, List: all}
	if len(all) > listed {
		for _, e := range all[listed:] {
			t.Floor = max(t.Floor, e.Count+e.Error)
		}
		t.List = slices.Clone(all[:listed])
	}
	return t
}

type intake struct {
	texts.Block
	keys [window.BlockSize]uint32
}

func (in *intake) Add(to window.Store, cells []uint32, events []window.Entry) {
	t := to.(*tally)
	keys := in.keys[:len(events)]
	for n, e := range events {
		keys[n] = t.number(in.Of(e))
	}
	t.count(cells, keys)
}

// A tally has the exact count of each key in each cell.
type tally struct {
	listed int
	counts counts.Pool             // by cell, the numbers of the keys
	keys   []span                  // by number, from 1
	text   []byte                  // the keys, one after another
	index  hashtable.Table[uint32] // numbers by key
	recent recent                  // short keys of late

	words []uint64 // of the cell whose top is sought
	best  []ranked // to use again
	list  topList  // the same

	fewKeys topFew
}

// A span says where in text a key lies, and has its first four bytes.
type span struct {
	from      int
	len, head uint32
}

func (t *tally) key(number uint32) []byte {
	at := &t.keys[number-1]
	return t.text[at.from:][:at.len]
}

// Number returns the number of a key, and adds the key if it is new.
func (t *tally) number(key []byte) uint32 {
	k, known := t.recent.slot(key)
	switch {
	case known:
		return k.number
	case k == nil:
		return t.find(key)
	}
	k.number = t.find(key)
	return k.number
}

// find is number without a look at the recent keys.
func (t *tally) find(key []byte) uint32 {
	hash := uint32(hll.Hash(key))
	at := t.index.First(hash)
	for ; at >= 0; at = t.index.Next(at) {
		if n := *t.index.At(at); bytes.Equal(t.key(n), key) {
			return n
		}
	}
	var head [4]byte
	copy(head[:], key)
	t.keys = append(t.keys, span{len(t.text), uint32(len(key)), binary.BigEndian.Uint32(head[:])})
	t.text = append(t.text, key...)
	n := uint32(len(t.keys))
	t.index.Insert(at, hash, n)
	return n
}

// count counts an event of keys[n] in cells[n], for each n.
func (t *tally) count(cells, keys []uint32) { counts.AddBatch(&t.counts, cells, keys) }

func (t *tally) Grow(n int) { t.counts.Grow(n) }

func (t *tally) Reset() {
	t.counts.Reset()
	t.keys, t.text = t.keys[:0], t.text[:0]
	t.index.Reset()
	t.recent = recent{}
	t.fewKeys.order = t.fewKeys.order[:0]
}

func (t *tally) Bytes() int {
	return t.counts.Bytes() + 16*cap(t.keys) + cap(t.text) + t.index.Bytes() + int(unsafe.Sizeof(t.recent)) + 8*cap(t.words) + 16*cap(t.best) + cap(t.list) + t.fewKeys.Bytes()
}

// A ranked key has its count, counted down from the greatest one, and its head in one number, of
// which the least is the first of a list. Few keys have equal ones.
type ranked struct {
	order  uint64
	number uint32
}

func (t *tally) rank(word uint64) ranked {
	number := counts.Key(word)
	return ranked{uint64(^counts.Count(word))<<32 | uint64(t.keys[number-1].head), number}
}

func (r ranked) count() uint64 { return uint64(^uint32(r.order >> 32)) }

func (t *tally) compare(a, b ranked) int {
	if a.order != b.order {
		return cmp.Compare(a.order, b.order)
	}
	return bytes.Compare(t.key(a.number), t.key(b.number))
}

// top returns the Top of a cell. It is valid until the next call.
func (t *tally) top(cell uint32) (top Listing) {
	t.words = t.counts.Append(t.words[:0], cell)
	for _, w := range t.words {
		top.Events += uint64(counts.Count(w))
	}
	best, floor, ok := t.few()
	if !ok {
		best, floor = t.all()
	}
	t.best, t.list, top.Floor = best, t.list[:0], floor
	for _, r := range best {
		t.list = t.list.add(t.key(r.number), r.count(), 0)
	}
	top.Keys = t.list
	return top
}

// all returns the keys of words that are listed, in their order, and the greatest count of the others. It
// gathers twice as many keys as are listed before it sorts them and drops one half: most keys are
// rarer than the last of those that stay, and cost one comparison.
func (t *tally) all() (best []ranked, floor uint64) {
	best, full := t.best[:0], false
	cut := func() {
		slices.SortFunc(best, t.compare)
		if len(best) > t.listed {
			floor = max(floor, best[t.listed].count())
			best, full = best[:t.listed], true
		}
	}
	for _, w := range t.words {
		r := t.rank(w)
		if full && t.compare(r, best[t.listed-1]) > 0 {
			floor = max(floor, r.count())
			continue
		}
		if best = append(best, r); len(best) == 2*t.listed {
			cut()
		}
	}
	cut()
	return best, floor
}

func (t *tally) Report(cell uint32, slot window.Slot, to window.Column, row uint32) {
	if !t.counts.Empty(cell) {
		to.(*column).put(row, slot, t.top(cell))
	}
}

func (t *tally) AppendState(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.keys)))
	for n := range t.keys {
		key := t.key(uint32(n + 1))
		dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	}
	return t.counts.AppendState(dst)
}

func (t *tally) Load(state []byte) (rest []byte) {
	keys, k := binary.Uvarint(state)
	for state = state[k:]; keys > 0; keys-- {
		n, k := binary.Uvarint(state)
		t.find(state[k:][:n])
		state = state[k+int(n):]
	}
	return t.counts.Load(state)
}

type column struct {
	slots.Slots[value]
	lists  slots.Arena
	listed int
	sums   map[uint32]*topSum // by row that Plus has added to
}

// A value says where in lists the list of a Listing lies.
type value struct {
	events, floor uint64
	slots.Place
}

func (c *column) listing(v *value) Listing {
	return Listing{v.events, v.floor, c.lists.At(v.Place)}
}

func (c *column) put(i uint32, slot window.Slot, top Listing) {
	if have, _ := c.At(i, slot); top.later(c.listing(have)) {
		*have = value{top.Events, top.Floor, c.lists.Put(top.Keys)}
	}
}

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	f := from.(*column)
	f.settle(j)
	for slot, v := range f.Slots.Of(j) {
		if have, _ := c.At(i, slot); f.listing(v).later(c.listing(have)) {
			*have = value{v.events, v.floor, c.lists.Bring(&f.lists, v.Place)}
		}
	}
}

// Take makes the lists of another column its own.
func (c *column) Take(from window.Column) {
	f := from.(*column)
	for i := range f.sums { // while its arena may still grow
		f.settle(i)
	}
	c.lists.Take(&f.lists)
}

// Leave ends Take.
func (c *column) Leave() { c.lists.Leave() }

func (c *column) Reset() {
	c.Slots.Reset()
	c.lists.Reset()
	c.sums = nil
}

func (c *column) Bytes() int { return c.Slots.Bytes() + c.lists.Bytes() }

// of yields the slots of row i, ascending, and the Listing of each.
func (c *column) of(i uint32) iter.Seq2[window.Slot, Listing] {
	return func(yield func(window.Slot, Listing) bool) { c.each(i, yield) }
}

func (c *column) each(i uint32, yield func(window.Slot, Listing) bool) {
	c.settle(i)
	for slot, v := range c.Slots.Of(i) {
		if !yield(slot, c.listing(v)) {
			return
		}
	}
}

// settle puts what Plus has added to row i under window.Whole.
func (c *column) settle(i uint32) {
	if sum := c.sums[i]; sum != nil {
		c.put(i, window.Whole, sum.top(c.listed).listing())
		delete(c.sums, i)
	}
}

// total returns the Top of row i: that of its slots, or that of a rollup if it has more
// events.
func (c *column) total(i uint32) Listing {
	var whole Listing
	var sum topSum
	for slot, top := range c.of(i) {
		if slot == window.Whole {
			whole = top
		} else {
			sum.add(top)
		}
	}
	if whole.Events > sum.events {
		return whole
	}
	if of := sum.top(c.listed).listing(); of.later(whole) {
		return of
	}
	return whole
}

func (c *column) Plus(i uint32, from window.Column, j uint32) {
	if c.sums == nil {
		c.sums = map[uint32]*topSum{}
	}
	if c.sums[i] == nil {
		c.sums[i] = new(topSum)
	}
	c.sums[i].add(from.(*column).total(j))
}

// Number returns the number of events with a check of the floor and the list.
func (c *column) Number(i uint32) uint64 {
	total := c.total(i)
	check := total.Floor
	total.Keys.Each(func(key []byte, count, wrong uint64) bool {
		check += bloom.Hash(key) * (count + wrong<<32)
		return true
	})
	return slots.Checked(total.Events, check)
}

var errState = errors.New("not the state of a topk measure: for each slot, ascending, events, floor and keys with their counts and errors, the most frequent first")

// topReader reads a state; short is set where it ends too early.
type topReader struct {
	rest  []byte
	short bool
}

func (r *topReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.short = nil, true
		return make([]byte, 8)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *topReader) word() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

func (c *column) Load(i uint32, state []byte) error {
	type loaded struct {
		slot window.Slot
		top  Top
	}
	var all []loaded
	for r := (topReader{rest: state}); len(r.rest) > 0; {
		l := loaded{window.Slot(r.word()), Top{Events: r.word(), Floor: r.word()}}
		const least = 24 // bytes of a key
		n := r.word()
		if r.short || n > uint64(len(r.rest)/least) || len(all) > 0 && l.slot <= all[len(all)-1].slot {
			return errState
		}
		l.top.List = make([]Key, n)
		for j := range l.top.List {
			e := &l.top.List[j]
			length := r.word()
			e.Key = string(r.bytes(length))
			e.Count, e.Error = r.word(), r.word()
			if r.short || j > 0 && l.top.List[j-1].before(*e) >= 0 {
				return errState
			}
		}
		all = append(all, l)
	}
	for _, l := range all {
		c.put(i, l.slot, l.top.listing())
	}
	return nil
}

// AppendState appends for each slot, in numbers of 8 bytes, little-endian: the slot, its
// events, the floor, and how many keys follow; for each key its length, the key, its
// count and its error.
func (c *column) AppendState(dst []byte, i uint32) []byte {
	word := binary.LittleEndian.AppendUint64
	for slot, t := range c.of(i) {
		dst = word(word(word(dst, uint64(slot)), t.Events), t.Floor)
		at, n := len(dst), uint64(0)
		dst = word(dst, 0)
		t.Keys.Each(func(key []byte, count, wrong uint64) bool {
			n++
			dst = append(word(dst, uint64(len(key))), key...)
			dst = word(word(dst, count), wrong)
			return true
		})
		binary.LittleEndian.PutUint64(dst[at:], n)
	}
	return dst
}

// Slots yields the slots of measure m of a row, ascending, and the Top of each. They are valid until
// the table changes.
func Slots(r window.Row, m int) iter.Seq2[window.Slot, Listing] {
	c, i := r.Column(m)
	return c.(*column).of(i)
}

// Of returns the most frequent keys of measure m of a row.
func Of(r window.Row, m int) Top {
	c, i := r.Column(m)
	return c.(*column).total(i).top()
}
