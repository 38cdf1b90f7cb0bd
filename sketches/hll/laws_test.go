package hll

import (
	"testing"

	"weir/sketches/sketchtest"
)

func TestLaws(t *testing.T) {
	t.Run("Sketch", func(t *testing.T) {
		sketchtest.Laws(t, sketchtest.Sketch[*Sketch]{
			New:   func() *Sketch { return new(Sketch) },
			Add:   func(s *Sketch, h uint64) { s.AddHash(h) },
			Merge: (*Sketch).Merge,
			Bytes: func(s *Sketch) []byte { return s.AppendClickHouse(nil) },
			Count: (*Sketch).Count,
		})
	})
	t.Run("Pool", func(t *testing.T) {
		// Each sketch is one of two in a pool of its own.
		sketchtest.Laws(t, sketchtest.Sketch[*Pool]{
			New: func() *Pool {
				p := new(Pool)
				p.Grow(2)
				p.Add(0, 99)
				return p
			},
			Add:   func(p *Pool, h uint64) { p.Add(1, h) },
			Merge: func(p, q *Pool) { p.Merge(1, q, 1) },
			Bytes: func(p *Pool) []byte { return p.AppendClickHouse(nil, 1) },
			Count: func(p *Pool) uint64 { return p.Count(1) },
		})
	})
	t.Run("String", func(t *testing.T) {
		// The bytes of a sparse string depend on the order of additions; the
		// registers do not.
		sketchtest.Laws(t, sketchtest.Sketch[*String]{
			New: func() *String { return new(String) },
			Add: func(v *String, id uint64) {
				if _, err := v.Add(400, []byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}); err != nil {
					t.Fatal(err)
				}
			},
			Merge: func(v, o *String) {
				if err := v.Merge(400, *o); err != nil {
					t.Fatal(err)
				}
			},
			Bytes: func(v *String) []byte {
				b, err := v.Registers(nil)
				if err != nil {
					t.Fatal(err)
				}
				return b
			},
			Count: func(v *String) uint64 {
				n, err := CountStrings(*v)
				if err != nil {
					t.Fatal(err)
				}
				return n
			},
			Sizes: []int{0, 1, 20, 150, 600, 2500},
		})
	})
}
