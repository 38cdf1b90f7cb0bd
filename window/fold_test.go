package window

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"weir/event"
)

// TestFold: whatever some processes see of the ledger, fold, write and delete, in whatever order: the lines
// that no other covers have the offsets and the outcomes of all chunks, each once. A ledger that is
// folded by all is the same whatever they did before.
func TestFold(t *testing.T) {
	const chunk = 16
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 21))
		line := func(p int32, c, first, next int64) Past {
			l := Past{Line: Line{Partition: p, Epoch: 1, Chunk: c, First: first, Next: next, Watermark: event.Time(c + 7)}}
			q := rand.New(rand.NewPCG(uint64(c), uint64(p))) // an offset has one outcome
			for o := c * chunk; o < next; o++ {
				if f := q.IntN(int(Outcomes)); o >= first {
					l.Outcomes[f]++
				}
			}
			l.Began, l.Flushed = event.Time(c*10), event.Time(c*10+9)
			return l
		}
		var whole, ledger []Past
		for p := range int32(2) {
			from, until := r.Int64N(4), 5+r.Int64N(40)
			for c := from; c < until; c++ {
				if r.IntN(20) == 0 {
					continue // a hole
				}
				whole = append(whole, line(p, c, c*chunk, (c+1)*chunk))
				if r.IntN(20) == 0 {
					whole = append(whole, line(p, c, c*chunk+3, c*chunk+9)) // the chunk was read again after a cut
				}
			}
			whole = append(whole, line(p, until, until*chunk, until*chunk+5)) // it is read
		}
		ledger = whole
		fold := func(seen []Past, span event.Time) []Past {
			slices.SortFunc(seen, func(a, b Past) int { return a.compareKey(b.Line) })
			f := Folder{Chunk: chunk, Span: span}
			for _, l := range seen {
				f.Add(l)
			}
			return f.Folds()
		}
		write := func(lines ...Past) {
			ledger = mergeSorted(append(slices.Clone(ledger), lines...), func(a, b Past) int { return a.compareKey(b.Line) }, func(a, b *Past) {
				a.merge(&b.Line)
				a.Began, a.Flushed = min(a.Began, b.Began), max(a.Flushed, b.Flushed)
			})
		}
		remove := func(folds []Past) {
			ledger = slices.DeleteFunc(slices.Clone(ledger), func(l Past) bool {
				return slices.ContainsFunc(folds, func(f Past) bool { return f.Covers(&l.Line) })
			})
		}
		var late []Past // a process that stalls between its steps
		for range r.IntN(12) {
			switch r.IntN(5) {
			case 0: // of a replica that lags
				late = fold(slices.DeleteFunc(slices.Clone(ledger), func(l Past) bool { return l.First%chunk == 0 && r.IntN(6) == 0 }), event.Time(r.IntN(200)))
			case 1:
				for _, f := range late {
					write(f)
				}
			case 2: // what was written once is there for ever, or until it is deleted
				if slices.IndexFunc(late, func(f Past) bool { return !slices.ContainsFunc(ledger, func(l Past) bool { return l.Line == f.Line }) }) < 0 {
					remove(late)
				}
			case 3: // a zombie
				write(whole[r.IntN(len(whole))])
			case 4: // in the middle of its chunk
				l := whole[r.IntN(len(whole))]
				write(line(l.Partition, l.Chunk, l.First, l.First+r.Int64N(l.Next-l.First)))
			}
		}
		if want, got := outcomesOf(whole), outcomesOf(ledger); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: the ledger has %v, want %v", seed, got, want)
		}
		again := func(of []Past) []Past {
			ledger = of
			for range 2 {
				folds := fold(slices.Clone(ledger), 1<<40)
				for _, f := range folds {
					write(f)
				}
				remove(folds)
			}
			return ledger
		}
		a, b := again(ledger), again(whole)
		if !reflect.DeepEqual(outcomesOf(a), outcomesOf(b)) || len(a) != len(b) {
			t.Fatalf("seed %d: folded to %d lines, undisturbed to %d", seed, len(a), len(b))
		}
		if seed == 0 && len(a) > len(whole)/2 {
			t.Errorf("%d lines of %d", len(a), len(whole))
		}
	}
}

// outcomesOf adds up the lines that no other covers, by partition, and the offsets that they have.
func outcomesOf(lines []Past) map[int32][]uint64 {
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b Past) int { return a.compareKey(b.Line) })
	sums := map[int32][]uint64{}
	for _, l := range lines {
		if slices.ContainsFunc(lines, func(o Past) bool { return o.Covers(&l.Line) }) {
			continue
		}
		s := sums[l.Partition]
		if s == nil {
			s = make([]uint64, Outcomes+1)
		}
		s[Outcomes] += uint64(l.Next - l.First)
		for f, n := range l.Outcomes {
			s[f] += n
		}
		sums[l.Partition] = s
	}
	return sums
}
