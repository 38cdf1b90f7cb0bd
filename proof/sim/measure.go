package sim

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/window"
)

// A keeper keeps the states of one measure, one for each row, for the simulated sink and
// for the reference. It uses no code of package window, so that a mistake there shows.
type keeper interface {
	grow(n int)                         // makes the states [0, n) exist
	merge(i uint32, state []byte) error // merges a state into that of row i
	bytes(dst []byte, i uint32) []byte  // appends the state of row i
	// count adds what measure m takes of the event that the reference counts to row i.
	count(i uint32, f *reference, rec *record, m string)
}

// keepers has a keeper for each kind that the jobs of the simulator have, by its name. A kind by member has
// none: it is kept as places. A new kind needs one only if newSpec draws it.
var keepers = map[string]func(m *window.Measure) keeper{
	"hll":      hllKeeper,
	"set":      setKeeper,
	"bitmap":   bitmapKeeper,
	"bloom":    bloomKeeper,
	"min":      func(*window.Measure) keeper { return extremeKeeper(-1) },
	"max":      func(*window.Measure) keeper { return extremeKeeper(1) },
	"sum":      func(*window.Measure) keeper { return &slotKeeper{form: sumForm{}} },
	"avg":      func(*window.Measure) keeper { return &slotKeeper{form: sumForm{}} },
	"quantile": func(*window.Measure) keeper { return &slotKeeper{form: quantileForm{}} },
	"topk":     func(*window.Measure) keeper { return &slotKeeper{form: topForm{}} },
	"first": func(*window.Measure) keeper {
		return orderedKeeper([3]uint64{1<<42 - 1, math.MaxUint64, math.MaxUint64})
	},
	"last": func(*window.Measure) keeper { return orderedKeeper([3]uint64{}) },
}

// states has the states of some rows: those of the sink, or those that the reference
// expects.
type states struct {
	spec *window.Spec
	of   []keeper // by measure; nil: by member
	n    int
}

func newStates(spec *window.Spec) states {
	st := states{spec: spec, of: make([]keeper, len(spec.Measures))}
	for i := range spec.Measures {
		if m := &spec.Measures[i]; !m.Kind.ByMember {
			st.of[i] = keepers[m.Kind.Name](m)
		}
	}
	return st
}

// add makes the states of one more row.
func (st *states) add() uint32 {
	st.n++
	for _, k := range st.of {
		if k != nil {
			k.grow(st.n)
		}
	}
	return uint32(st.n) - 1
}

// merge merges a state into the one of measure m of row i.
func (st *states) merge(i uint32, m int, state []byte) error { return st.of[m].merge(i, state) }

// bytes appends the state of measure m of row i.
func (st *states) bytes(dst []byte, i uint32, m int) []byte { return st.of[m].bytes(dst, i) }

// mergeTops plants the mistake TopsMerged in a sink.
func (st *states) mergeTops() {
	for _, k := range st.of {
		if k, ok := k.(*slotKeeper); ok && k.form == (topForm{}) {
			k.merged = true
		}
	}
}

// A poolKeeper keeps sketches.
type poolKeeper struct {
	pool interface {
		Grow(n int)
		MergeClickHouse(i uint32, state []byte) error
		AppendClickHouse(dst []byte, i uint32) []byte
	}
	add func(i uint32, f *reference, rec *record, m string)
}

func (k *poolKeeper) grow(n int)                         { k.pool.Grow(n) }
func (k *poolKeeper) merge(i uint32, state []byte) error { return k.pool.MergeClickHouse(i, state) }
func (k *poolKeeper) bytes(dst []byte, i uint32) []byte  { return k.pool.AppendClickHouse(dst, i) }

func (k *poolKeeper) count(i uint32, f *reference, rec *record, m string) { k.add(i, f, rec, m) }

func bitmapKeeper(*window.Measure) keeper {
	pool := new(bitmap.Pool)
	return &poolKeeper{pool, func(i uint32, _ *reference, rec *record, _ string) {
		if rec.device >= 0 {
			pool.Add(i, uint32(rec.device))
		}
	}}
}

func bloomKeeper(m *window.Measure) keeper {
	pool := bloom.NewPool(m.Capacity, m.Error)
	return &poolKeeper{pool, func(i uint32, f *reference, rec *record, _ string) { pool.Add(i, bloom.Hash(f.text("e", rec.id))) }}
}

type hllPool struct{ hll.Pool }

func (p *hllPool) MergeClickHouse(i uint32, state []byte) error {
	_, err := p.Pool.MergeClickHouse(i, state)
	return err
}

func hllKeeper(*window.Measure) keeper {
	pool := new(hllPool)
	return &poolKeeper{pool, func(i uint32, f *reference, rec *record, m string) {
		text := f.text("u", rec.user)
		if m == addedMeasure {
			text = f.text("e", rec.id)
		}
		pool.Add(i, f.hash(hll.Hash, text))
	}}
}

// hash is that of an id under the job's key, or the given one if it has none.
func (f *reference) hash(plain func([]byte) uint64, id []byte) uint64 {
	if key := f.spec.HashKey; key != nil {
		return hll.KeyedHash(*key, id)
	}
	return plain(id)
}

// A listKeeper lists every value that a row was given. The state is the greatest one, or all different ones
// in their order.
type listKeeper struct {
	rows    [][]string
	all     bool
	size    int  // of a value…
	longer  bool // …or at least
	compare func(a, b string) int
	value   func(f *reference, rec *record) string // of an event; empty: none
}

func (k *listKeeper) grow(n int) { k.rows = append(k.rows, make([][]string, n-len(k.rows))...) }

func (k *listKeeper) merge(i uint32, state []byte) error {
	for len(state) > 0 {
		n := k.size
		if !k.all {
			n = len(state)
		}
		if len(state) < k.size || n > k.size && !k.longer {
			return fmt.Errorf("%d bytes for a value of %d", len(state), k.size)
		}
		k.rows[i] = append(k.rows[i], string(state[:n]))
		state = state[n:]
	}
	return nil
}

func (k *listKeeper) bytes(dst []byte, i uint32) []byte {
	slices.SortFunc(k.rows[i], k.compare)
	k.rows[i] = slices.Compact(k.rows[i])
	if !k.all {
		k.rows[i] = k.rows[i][max(0, len(k.rows[i])-1):]
	}
	return append(dst, strings.Join(k.rows[i], "")...)
}

func (k *listKeeper) count(i uint32, f *reference, rec *record, _ string) {
	if v := k.value(f, rec); v != "" {
		k.rows[i] = append(k.rows[i], v)
	}
}

// setKeeper keeps hashes of 32 bits.
func setKeeper(*window.Measure) keeper {
	number := func(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s)) }
	return &listKeeper{all: true, size: 4,
		compare: func(a, b string) int { return cmp.Compare(number(a), number(b)) },
		value: func(f *reference, rec *record) string {
			return string(binary.LittleEndian.AppendUint32(nil, uint32(f.hash(bloom.Hash, f.text("u", rec.user)))))
		}}
}

// extremeKeeper keeps how far east an event is, at most or (sign -1) at least. The record spells hundredths; the
// nearest float64 of the text is that of the quotient.
func extremeKeeper(sign int) keeper {
	number := func(s string) float64 { return math.Float64frombits(binary.LittleEndian.Uint64([]byte(s))) }
	return &listKeeper{size: 8,
		compare: func(a, b string) int { return sign * cmp.Compare(number(a), number(b)) },
		value: func(_ *reference, rec *record) string {
			if !rec.placed() {
				return ""
			}
			return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(rec.lon)/100)))
		}}
}

// orderedKeeper keeps the user of an event, behind the event's place in the order of events: three numbers,
// of which the greatest come last. For the first one they are counted down from down, which is 0 for the last.
func orderedKeeper(down [3]uint64) keeper {
	return &listKeeper{size: 24, longer: true,
		compare: func(a, b string) int {
			for n := range down {
				x, y := binary.LittleEndian.Uint64([]byte(a[8*n:])), binary.LittleEndian.Uint64([]byte(b[8*n:]))
				if c := cmp.Compare(x, y); c != 0 {
					return c
				}
			}
			return strings.Compare(a[24:], b[24:])
		},
		value: func(f *reference, rec *record) string {
			at := [3]uint64{uint64(f.stamp.Time) + 1, f.stamp.Slot, uint64(f.stamp.Offset)}
			if down != [3]uint64{} {
				at = [3]uint64{down[0] - uint64(f.stamp.Time), down[1] - f.stamp.Slot, down[2] - uint64(f.stamp.Offset)}
			}
			var b []byte
			for _, word := range at {
				b = binary.LittleEndian.AppendUint64(b, word)
			}
			return string(append(b, f.text("u", rec.user)...))
		}}
}

// A slotKeeper has for each slot of a row how many events it is of, and a number for each of some keys.
type slotKeeper struct {
	form   bySlot
	rows   []map[window.Slot]slotState
	merged bool // TopsMerged: the numbers of a slot are added up
}

type slotState struct {
	events uint64
	of     map[string]int64
}

type keyed struct {
	key    string
	number int64
}

// A bySlot is what is particular to a kind of measure.
type bySlot interface {
	compare(a, b keyed) int // the order in which a state has the keys
	append(dst []byte, list []keyed) []byte
	read(s *stored, of map[string]int64)
	// take returns what an event adds to a key; 0: nothing.
	take(f *reference, rec *record) (key string, n int64)
}

func (k *slotKeeper) grow(n int) {
	for len(k.rows) < n {
		k.rows = append(k.rows, map[window.Slot]slotState{})
	}
}

func (k *slotKeeper) list(s slotState) (list []keyed) {
	for key, n := range s.of {
		list = append(list, keyed{key, n})
	}
	slices.SortFunc(list, k.form.compare)
	return list
}

// less is ClickHouse's order of tuples and arrays.
func (k *slotKeeper) less(a, b slotState) bool {
	return cmp.Or(cmp.Compare(a.events, b.events), slices.CompareFunc(k.list(a), k.list(b), func(a, b keyed) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.number, b.number))
	})) < 0
}

// merge keeps the state of more events for each slot. There is only one state of as many
// events, unless the beginning of the chunk has expired for one reader and not for
// another.
func (k *slotKeeper) merge(i uint32, state []byte) error {
	for s := (stored{rest: state}); len(s.rest) > 0; {
		slot, is := window.Slot(s.word()), slotState{s.word(), map[string]int64{}}
		if k.form.read(&s, is.of); s.err != nil {
			return s.err
		}
		have := k.rows[i][slot]
		switch {
		case k.merged && have.of != nil:
			have.events += is.events
			for key, n := range is.of {
				have.of[key] += n
			}
			k.rows[i][slot] = have
		case k.less(have, is):
			k.rows[i][slot] = is
		}
	}
	return nil
}

func (k *slotKeeper) bytes(dst []byte, i uint32) []byte {
	for _, slot := range slices.Sorted(maps.Keys(k.rows[i])) {
		s := k.rows[i][slot]
		dst = k.form.append(appendWords(dst, uint64(slot), s.events), k.list(s))
	}
	return dst
}

func (k *slotKeeper) count(i uint32, f *reference, rec *record, _ string) {
	key, n := k.form.take(f, rec)
	if n == 0 {
		return
	}
	slot := window.Slot(f.stamp.Slot)
	s := k.rows[i][slot]
	if s.of == nil {
		s.of = map[string]int64{}
	}
	s.events++
	s.of[key] += n
	k.rows[i][slot] = s
}

func appendWords(dst []byte, words ...uint64) []byte {
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// stored reads a state. After an error, everything is 0.
type stored struct {
	rest []byte
	err  error
}

func (s *stored) take(n uint64) []byte {
	if n > uint64(len(s.rest)) {
		s.err, s.rest = errors.New("a state that ends early"), nil
		return make([]byte, 8)
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *stored) word() uint64 { return binary.LittleEndian.Uint64(s.take(8)) }

// sumForm adds up how far east events are, in the hundredths that a record spells. The sums of the simulator's
// logs are small, so that an int64 holds them.
type sumForm struct{}

func (sumForm) compare(keyed, keyed) int { return 0 } // there is one key, which is empty

func (sumForm) append(dst []byte, list []keyed) []byte {
	for _, e := range list {
		dst = appendWords(dst, uint64(e.number), uint64(e.number>>63))
	}
	return dst
}

func (sumForm) read(s *stored, of map[string]int64) {
	of[""] = int64(s.word())
	if s.word() != uint64(of[""]>>63) && s.err == nil {
		s.err = errors.New("a sum beyond 64 bits")
	}
}

func (sumForm) take(_ *reference, rec *record) (string, int64) {
	if !rec.placed() {
		return "", 0
	}
	return "", int64(rec.lon)
}

// quantileForm counts how far east events are in the buckets of scale 3. The numbers are hundredths: the
// logarithm of a power of two is exact, and no other one is near a bound.
type quantileForm struct{}

func (quantileForm) compare(a, b keyed) int { return strings.Compare(b.key, a.key) }

func (quantileForm) append(dst []byte, list []keyed) []byte {
	dst = appendWords(dst, 8*uint64(len(list)))
	for _, e := range list {
		dst = binary.BigEndian.AppendUint32(append(dst, e.key...), uint32(e.number))
	}
	return dst
}

func (quantileForm) read(s *stored, of map[string]int64) {
	n := s.word()
	if n%8 != 0 {
		s.err = fmt.Errorf("a histogram of %d bytes", n)
		return
	}
	for words := s.take(n); len(words) > 0; words = words[8:] {
		of[string(words[:4])] = int64(binary.BigEndian.Uint32(words[4:]))
	}
}

func (quantileForm) take(_ *reference, rec *record) (string, int64) {
	if !rec.placed() {
		return "", 0
	}
	const scale = 3
	bucket := 0
	if v := float64(rec.lon) / 100; v != 0 {
		bucket = int(math.Ceil(math.Log2(math.Abs(v))*(1<<scale))) + 1023<<scale
		if v < 0 {
			bucket = -bucket
		}
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(scale<<28+1<<27+bucket))), 1
}

// topForm counts users. The simulator's chunks have fewer of them than are listed, so that no floor is above 0.
type topForm struct{}

func (topForm) compare(a, b keyed) int {
	return cmp.Or(cmp.Compare(b.number, a.number), strings.Compare(a.key, b.key))
}

func (topForm) append(dst []byte, list []keyed) []byte {
	dst = appendWords(dst, 0, uint64(len(list)))
	for _, e := range list {
		dst = append(appendWords(dst, uint64(len(e.key))), e.key...)
		dst = appendWords(dst, uint64(e.number), 0)
	}
	return dst
}

func (topForm) read(s *stored, of map[string]int64) {
	floor := s.word()
	for n := s.word(); n > 0 && s.err == nil; n-- {
		key := string(s.take(s.word()))
		of[key] = int64(s.word())
		floor = max(floor, s.word())
	}
	if floor != 0 && s.err == nil {
		s.err = fmt.Errorf("a top list with the floor or error %d, of so few keys", floor)
	}
}

func (topForm) take(f *reference, rec *record) (string, int64) {
	return string(f.text("u", rec.user)), 1
}
