package bloom

// A Filter is one split-block filter. It never forgets an item. It takes some
// new items for seen; their share stays below the error that it was made for,
// while it holds at most its capacity of different items.
//
// It works on hashes, see Hash. It is not safe for concurrent use.
type Filter struct {
	words []uint64
}

// New returns an empty filter for capacity items at error err, the share of
// false positives when full. It panics where Bits returns an error.
func New(capacity int, err float64) *Filter {
	return &Filter{make([]uint64, mustBits(capacity, err)/64)}
}

// Bits returns the size of the filter in bits.
func (f *Filter) Bits() uint64 { return uint64(len(f.words)) * 64 }

// Bytes returns the memory the filter holds.
func (f *Filter) Bytes() int { return 8 * len(f.words) }

// Reset makes the filter empty.
func (f *Filter) Reset() { clear(f.words) }

// Add adds an item.
func (f *Filter) Add(h uint64) { set(f.words, h) }

// Has reports whether the item may have been added; false is certain.
func (f *Filter) Has(h uint64) bool { return test(f.words, h) }

// TestAndAdd adds the item and reports what Has would have said before.
func (f *Filter) TestAndAdd(h uint64) bool { return testAndSet(f.words, h) }

// Merge adds to f everything that was added to g. It panics if the filters
// differ in size. The error after it is that of a filter with the union's
// number of items.
func (f *Filter) Merge(g *Filter) {
	if len(f.words) != len(g.words) {
		panic("bloom: merge of filters of different sizes")
	}
	or(f.words, g.words)
}

// MergeClickHouse sets in f the bits of a groupBitmap(UInt32) state, as
// Pool.AppendClickHouse writes it. If the state is not well formed, or has
// bits beyond the filter's size, it returns an error and changes nothing.
func (f *Filter) MergeClickHouse(state []byte) error {
	_, err := stateParts(state, f.Bits())
	if err == nil {
		mergeState(f.words, state)
	}
	return err
}
