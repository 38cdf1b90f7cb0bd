package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/axiomhq/hyperloglog"

	"weir/sketches/hll"
)

func init() { register("hll", hllMerge, hllAdd) }

// keys are n random elements of 16 bytes.
func keys(n int, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 16))
	list := make([][]byte, n)
	for i := range list {
		list[i] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, r.Uint64()), r.Uint64())
	}
	return list
}

// hllMerge measures sixty dense sketches of 100,000 elements each, in Redis and
// here.
func hllMerge(b *Bench) error {
	const mergeName = "merge 60 dense HLLs into one"
	if !b.Wants(Redis, mergeName) {
		return nil
	}
	srv, err := b.Server()
	if err != nil {
		return err
	}
	sketches := make([]*hll.Sketch, 60)
	merge := []any{"PFMERGE", "all"}
	for i := range sketches {
		sketches[i] = new(hll.Sketch)
		for _, k := range keys(100_000, uint64(i)) {
			sketches[i].Add(k)
		}
		name := fmt.Sprint("minute", i)
		if _, err := srv.Conn().Do("SET", name, sketches[i].AppendRedis(nil, hll.DefaultSparseMax)); err != nil {
			return err
		}
		merge = append(merge, name)
	}
	// Both must give the same answer, or the comparison is void.
	if err := Pipeline(srv, 1, merge...); err != nil {
		return err
	}
	theirs, err := srv.Conn().Do("PFCOUNT", "all")
	if err != nil {
		return err
	}
	var all hll.Sketch
	all.MergeAll(sketches...)
	if ours := all.Count(); theirs != int64(ours) {
		return fmt.Errorf("redis counts %v, we %d", theirs, ours)
	}
	return b.Compare(Row{
		Name: mergeName, Other: "redis PFMERGE", Against: Redis, Floor: 40, Aim: 80,
		Ours: Here(func(n int) {
			for range n {
				all.MergeAll(sketches...)
			}
		}),
		Theirs: Command(srv, 1, merge...),
	})
}

// hllAdd measures additions of elements of 16 bytes to one sketch that has seen
// a million.
func hllAdd(b *Bench) error {
	const name = "add to a hot HLL, hash included"
	elements := keys(512, 99)
	var s hll.Sketch
	ax := hyperloglog.New14()
	for i := range uint64(1_000_000) {
		k := binary.LittleEndian.AppendUint64(nil, i)
		s.Add(k)
		ax.Insert(k)
	}
	return b.Compare(Row{
		Name: name, Other: "axiomhq/hyperloglog", Against: Libraries, Floor: 2, Aim: 2.5,
		Ours: Here(func(n int) {
			for i := range n {
				s.Add(elements[i&511])
			}
		}),
		Theirs: Here(func(n int) {
			for i := range n {
				ax.Insert(elements[i&511])
			}
		}),
	})
}
