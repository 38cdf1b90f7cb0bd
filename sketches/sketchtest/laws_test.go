package sketchtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

type report []string

func (*report) Helper()                             {}
func (r *report) Errorf(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// A plain set obeys; variants of it break one thing each.
type set struct {
	ids map[uint64]int
	log []uint64
}

func sets() Sketch[*set] {
	return Sketch[*set]{
		New: func() *set { return &set{ids: map[uint64]int{}} },
		Add: func(s *set, id uint64) { s.ids[id] = 1 },
		Merge: func(dst, src *set) {
			for id := range src.ids {
				dst.ids[id] = 1
			}
		},
		Bytes: func(s *set) (b []byte) {
			for _, id := range slices.Sorted(maps.Keys(s.ids)) {
				b = binary.LittleEndian.AppendUint64(b, id+uint64(s.ids[id])<<56)
			}
			for _, id := range s.log {
				b = binary.LittleEndian.AppendUint64(b, id)
			}
			return b
		},
		Count: func(s *set) uint64 { return uint64(len(s.ids)) },
		ID:    func(x uint64) uint64 { return x >> 8 },
		Sizes: []int{0, 1, 2, 30},
	}
}

func TestLaws(t *testing.T) {
	Laws(t, sets())
	for name, c := range map[string]struct {
		broken func(*Sketch[*set])
		law    string
	}{
		"counts instead of marks": {func(k *Sketch[*set]) {
			k.Merge = func(dst, src *set) {
				for id, n := range src.ids {
					dst.ids[id] += n
				}
			}
		}, "idempotence"},
		"remembers the order": {func(k *Sketch[*set]) {
			k.Add = func(s *set, id uint64) {
				if s.ids[id] == 0 {
					s.log = append(s.log, id)
				}
				s.ids[id] = 1
			}
		}, "independence of order"},
		"last one wins": {func(k *Sketch[*set]) {
			k.Merge = func(dst, src *set) { dst.ids = maps.Clone(src.ids) }
		}, "commutativity"},
		"shares with its source": {func(k *Sketch[*set]) {
			merge := k.Merge
			k.Merge = func(dst, src *set) {
				merge(dst, src)
				src.ids = dst.ids
			}
		}, "left alone"},
		"forgets what is empty": {func(k *Sketch[*set]) {
			merge := k.Merge
			k.Merge = func(dst, src *set) {
				if len(src.ids) == 0 {
					clear(dst.ids)
				}
				merge(dst, src)
			}
		}, "identity"},
		"counts downwards": {func(k *Sketch[*set]) {
			k.Count = func(s *set) uint64 { return 1000 - uint64(len(s.ids)) }
		}, "count falls"},
	} {
		j := sets()
		c.broken(&j)
		var r report
		Laws(&r, j)
		if !slices.ContainsFunc(r, func(s string) bool { return strings.Contains(s, c.law) }) {
			t.Errorf("%s: want %q among the broken laws, got %d: %.300q", name, c.law, len(r), r)
		}
	}
}
