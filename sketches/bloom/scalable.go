package bloom

import (
	"cmp"
	"errors"
	"math"
)

// A Scalable is a RedisBloom filter, bit for bit: what BF.RESERVE makes and
// BF.ADD fills. It starts with one layer; when that has accepted
// its capacity of items, the filter adds a larger layer with half the error, so
// that the error over all layers stays below the requested one.
//
// It exists for clients of RedisBloom. It takes about five times the time of a
// [Filter] for the same answer, because it searches every layer for an item,
// and two of them cannot be merged. Windows use [Pool].
//
// It is not safe for concurrent use. Use NewScalable.
type Scalable struct {
	layers     []layer // oldest first
	size       uint64
	nonScaling bool
	growth     uint32
	maxBytes   uint64
}

// A ScalableConfig holds the arguments of BF.RESERVE.
type ScalableConfig struct {
	Capacity   uint64  // items of the first layer, 1 to 2³⁰
	Error      float64 // share of false positives, between 0 and 1; 0.25 where larger
	Expansion  uint32  // how many times larger the next layer is, up to 32768; 0 means NonScaling
	NonScaling bool    // one layer only, which refuses items when full
	MaxBytes   uint64  // the most that all layers may take; 0 means 4 GiB
}

// DefaultScalable is the filter that BF.ADD makes if there is none.
var DefaultScalable = ScalableConfig{Capacity: 100, Error: 0.01, Expansion: 2}

// The text of these errors is what RedisBloom prints after "ERR ".
var (
	ErrErrorRate = errors.New("error rate must be in the range (0.000000, 1.000000)")
	ErrCapacity  = errors.New("capacity must be in the range [1, 1073741824]")
	ErrExpansion = errors.New("expansion must be in the range [0, 32768]")
	ErrFull      = errors.New("non scaling filter is full")
	ErrTooLarge  = errors.New("could not create filter")
)

const (
	maxCapacity     = 1 << 30
	maxExpansion    = 32768
	maxError        = 0.25
	tightening      = 0.5
	defaultMaxBytes = 4 << 30
)

// NewScalable returns an empty filter, or one of the errors above.
func NewScalable(c ScalableConfig) (*Scalable, error) {
	s, err := c.empty()
	if err != nil {
		return nil, err
	}
	if !s.grow(c.Capacity, s.firstError(c.Error)) {
		return nil, ErrTooLarge
	}
	return s, nil
}

// empty returns a filter without a layer.
func (c ScalableConfig) empty() (*Scalable, error) {
	switch {
	case !(c.Error > 0 && c.Error < 1):
		return nil, ErrErrorRate
	case c.Capacity < 1 || c.Capacity > maxCapacity:
		return nil, ErrCapacity
	case c.Expansion > maxExpansion:
		return nil, ErrExpansion
	}
	return &Scalable{nonScaling: c.NonScaling || c.Expansion == 0, growth: c.Expansion, maxBytes: cmp.Or(c.MaxBytes, defaultMaxBytes)}, nil
}

// firstError returns the error of the first layer.
func (s *Scalable) firstError(err float64) float64 {
	if err = min(err, maxError); s.nonScaling {
		return err
	}
	return err * tightening
}

// Bytes returns the memory of the first layer. The errors are those of NewScalable.
func (c ScalableConfig) Bytes() (uint64, error) {
	s, err := c.empty()
	if err != nil {
		return 0, err
	}
	l, ok := s.next(c.Capacity, s.firstError(c.Error))
	if !ok {
		return 0, ErrTooLarge
	}
	return l.bytes, nil
}

// grow adds a layer, unless that would be too large.
func (s *Scalable) grow(capacity uint64, err float64) bool {
	l, ok := s.next(capacity, err)
	if !ok {
		return false
	}
	l.bits = make([]byte, l.bytes)
	s.layers = append(s.layers, l)
	return true
}

// next returns the layer that grow would add, without its bits.
func (s *Scalable) next(capacity uint64, err float64) (l layer, ok bool) {
	// math.Log is wrong for an error below 2^-1022. The product must be in range,
	// because newLayer makes an integer of it.
	if err < 0x1p-1022 || capacity == 0 || float64(capacity)*math.Abs(math.Log(err)) > 8*float64(s.maxBytes) {
		return l, false
	}
	l = newLayer(capacity, err)
	return l, l.bytes <= s.maxBytes && uint64(s.Bytes())+l.bytes <= s.maxBytes
}

// hashes returns the two hashes that all bits of an item come from.
func hashes(item []byte) (a, b uint64) {
	a = murmur64A(item, murmurSeed)
	return a, murmur64A(item, a)
}

// Has reports whether the item may have been added; false is certain.
// (BF.EXISTS)
func (s *Scalable) Has(item []byte) bool {
	a, b := hashes(item)
	return s.has(a, b)
}

func (s *Scalable) has(a, b uint64) bool {
	for i := len(s.layers) - 1; i >= 0; i-- {
		if s.layers[i].test(a, b) {
			return true
		}
	}
	return false
}

// Add adds an item and reports whether it was new to the filter; a false
// positive is not new. The errors are ErrFull, if the filter does not scale and
// holds its capacity, and ErrTooLarge, if the next layer would exceed MaxBytes.
// An item that is already there gives no error. (BF.ADD)
func (s *Scalable) Add(item []byte) (added bool, err error) {
	a, b := hashes(item)
	if s.has(a, b) {
		return false, nil
	}
	top := &s.layers[len(s.layers)-1]
	if top.size >= top.capacity {
		if s.nonScaling {
			return false, ErrFull
		}
		capacity := top.capacity * uint64(s.growth)
		if capacity/uint64(max(s.growth, 1)) != top.capacity || !s.grow(capacity, top.err*tightening) {
			return false, ErrTooLarge
		}
		top = &s.layers[len(s.layers)-1]
	}
	top.set(a, b)
	top.size++
	s.size++
	return true, nil
}

// AddMany adds items in order and appends to added what Add reports of each.
// It stops at the first error. (BF.MADD)
func (s *Scalable) AddMany(items [][]byte, added []bool) ([]bool, error) {
	for _, item := range items {
		ok, err := s.Add(item)
		if err != nil {
			return added, err
		}
		added = append(added, ok)
	}
	return added, nil
}

// Card returns the number of items accepted. (BF.CARD)
func (s *Scalable) Card() uint64 { return s.size }

// Bytes returns the memory of the bits.
func (s *Scalable) Bytes() int {
	n := 0
	for i := range s.layers {
		n += cap(s.layers[i].bits)
	}
	return n
}

// Limit sets the most that all layers may take from now on; what they take
// already stays.
func (s *Scalable) Limit(maxBytes uint64) { s.maxBytes = maxBytes }

// A ScalableInfo is the answer of BF.INFO.
type ScalableInfo struct {
	Capacity   uint64 // items before the next layer, or before the filter is full
	Size       uint64 // bytes, as RedisBloom computes them
	Filters    int    // layers
	Items      uint64
	Expansion  uint32
	NonScaling bool // then BF.INFO has a null for Expansion
}

// Info answers BF.INFO.
func (s *Scalable) Info() ScalableInfo {
	info := ScalableInfo{
		Size:       32 + 64*uint64(len(s.layers)),
		Filters:    len(s.layers),
		Items:      s.size,
		Expansion:  s.growth,
		NonScaling: s.nonScaling,
	}
	for i := range s.layers {
		info.Capacity += s.layers[i].capacity
		info.Size += s.layers[i].bytes
	}
	return info
}
