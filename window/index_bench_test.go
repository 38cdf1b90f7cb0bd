package window

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/event"
)

// BenchmarkIndexes measures the three indexes of the core apart: the groups of a chunk,
// its counts, and the rows of a table. An event asks the first, and the others where its
// window is not the one before it.
func BenchmarkIndexes(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		r := rand.New(rand.NewPCG(1, 2))
		keys, hashes, order := make([][]byte, n), make([]uint64, n), r.Perm(n)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "/p/%d", i)
			hashes[i] = groupHash(keys[i])
		}
		run := func(name string, one func(i int)) {
			for _, i := range order {
				one(i)
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				at := 0
				for b.Loop() {
					one(order[at])
					if at++; at == n {
						at = 0
					}
				}
			})
		}
		in := interner{limit: n}
		run("groups", func(i int) { in.id(keys[i], hashes[i], nil) })
		pt, g := Partition{}, group{}
		run("counts", func(i int) { g.cell = 0; pt.cell(event.Time(i%60*60_000), &g, uint32(i)) })
		t := NewTable(pageSpec())
		run("rows", func(i int) { t.row(60_000, keys[i], hashes[i]) })
		fresh := interner{limit: n}
		b.Run(fmt.Sprintf("new/%d", n), func(b *testing.B) {
			at := 0
			for b.Loop() {
				if fresh.id(keys[at], hashes[at], nil); at == n-1 {
					fresh.reset()
					at = -1
				}
				at++
			}
		})
	}
}
