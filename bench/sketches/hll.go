package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/axiomhq/hyperloglog"

	"weir/sketches/hll"
)

func init() { register("hll", hllMerge, hllAdd, hllCount, hllKeys) }

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
	const mergeName, countName = "merge 60 dense HLLs into one", "count the union of 60 dense HLLs"
	if !b.Wants(Redis, mergeName) && !b.Wants(Redis, countName) {
		return nil
	}
	srv, err := b.Server()
	if err != nil {
		return err
	}
	sketches := make([]*hll.Sketch, 60)
	merge, count := []any{"PFMERGE", "all"}, []any{"PFCOUNT"}
	for i := range sketches {
		sketches[i] = new(hll.Sketch)
		for _, k := range keys(100_000, uint64(i)) {
			sketches[i].Add(k)
		}
		name := fmt.Sprint("minute", i)
		if _, err := srv.Conn().Do("SET", name, sketches[i].AppendRedis(nil, hll.DefaultSparseMax)); err != nil {
			return err
		}
		merge, count = append(merge, name), append(count, name)
	}
	// Both must give the same answer, or the comparison is void.
	if err := Pipeline(srv, 1, merge...); err != nil {
		return err
	}
	theirs, err := srv.Conn().Do("PFCOUNT", "all")
	if err != nil {
		return err
	}
	if ours := hll.CountUnion(sketches...); theirs != int64(ours) {
		return fmt.Errorf("redis counts %v, we %d", theirs, ours)
	}
	var all hll.Sketch
	if err := b.Compare(Row{
		Name: mergeName, Other: "redis PFMERGE", Against: Redis, Floor: 40, Aim: 80,
		Ours: Here(func(n int) {
			for range n {
				all.MergeAll(sketches...)
			}
		}),
		Theirs: Command(srv, 1, merge...),
	}); err != nil {
		return err
	}
	return b.Compare(Row{
		Name: countName, Other: "redis PFCOUNT", Against: Redis, Floor: 40, Aim: 80,
		Ours: Here(func(n int) {
			for range n {
				sink += hll.CountUnion(sketches...)
			}
		}),
		Theirs: Command(srv, 1, count...),
	})
}

// hllAdd measures additions of elements of 16 bytes to one sketch that has seen
// a million.
func hllAdd(b *Bench) error {
	const hotName, batchName = "add to a hot HLL, hash included", "add 100 elements at once to a hot HLL"
	elements := keys(512, 99)
	var s hll.Sketch
	ax := hyperloglog.New14()
	for i := range uint64(1_000_000) {
		k := binary.LittleEndian.AppendUint64(nil, i)
		s.Add(k)
		ax.Insert(k)
	}
	if err := b.Compare(Row{
		Name: hotName, Other: "axiomhq/hyperloglog", Against: Libraries, Floor: 2, Aim: 2.5,
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
	}); err != nil || !b.Wants(Redis, batchName) {
		return err
	}

	// The same hundred elements each time, in Redis as here.
	srv, err := b.Server()
	if err != nil {
		return err
	}
	if _, err := srv.Conn().Do("SET", "hot", s.AppendRedis(nil, hll.DefaultSparseMax)); err != nil {
		return err
	}
	add := []any{"PFADD", "hot"}
	for _, e := range elements[:100] {
		add = append(add, e)
	}
	return b.Compare(Row{
		Name: batchName, Other: "redis PFADD of 100, an element", Against: Redis, Floor: 8, Aim: 12,
		Ours: Here(func(n int) {
			for ; n > 0; n -= 100 {
				s.AddAll(elements[:100]...)
			}
		}),
		Theirs: Command(srv, 100, add...),
		N:      1_000_000, Theirsn: 100_000,
	})
}

func hllCount(b *Bench) error {
	var s hll.Sketch
	for _, k := range keys(100_000, 98) {
		s.Add(k)
	}
	registers := s.Registers()
	if a, b := s.Count(), hll.CountRegisters(&registers); a != b {
		return fmt.Errorf("counted live %d, by a full pass %d", a, b)
	}
	return b.Compare(Row{
		Name: "count a hot HLL", Other: "our own pass over the registers", Against: Libraries, Floor: 20, Aim: 50,
		Ours: Here(func(n int) {
			for range n {
				sink += s.Count()
			}
		}),
		Theirs: Here(func(n int) {
			for range n {
				sink += hll.CountRegisters(&registers)
			}
		}),
	})
}

// hllKeys measures a million keys, ten million events, about ten users a key,
// in an order without any locality. The first row covers the whole life of the
// sketches, the second the events after all keys exist, where both sides wait
// for memory only.
func hllKeys(b *Bench) error {
	const firstName, againName, sizeName = "fill a million keys' HLLs, an event", "add to a million live HLLs, an event", "bytes per key of a million HLLs, with index"
	if !b.Wants(Libraries, firstName) && !b.Wants(Libraries, againName) && !b.Wants(Libraries, sizeName) {
		return nil
	}
	const live, events, run = 1_000_000, 10_000_000, 200_000
	key, hash := keyedEvents(live, events)

	var ours *hll.Keyed
	var theirs map[uint64]*hyperloglog.Sketch
	insert := func(key, hash []uint64) {
		for i, k := range key {
			s := theirs[k]
			if s == nil {
				s = hyperloglog.New14()
				theirs[k] = s
			}
			s.InsertHash(hash[i])
		}
	}
	rounds := b.rounds
	b.rounds = min(b.rounds, 2) // each takes seconds
	err := b.Compare(Row{
		Name: firstName, Other: "map of axiomhq/hyperloglog", Against: Libraries, Floor: 5, Aim: 8, N: events,
		Ours: Here(func(int) {
			ours = new(hll.Keyed)
			for i := 0; i < events; i += 4096 {
				end := min(i+4096, events)
				ours.AddBatch(key[i:end], hash[i:end])
			}
		}),
		Theirs: Here(func(int) {
			theirs = map[uint64]*hyperloglog.Sketch{}
			insert(key, hash)
		}),
	})
	b.rounds = rounds
	if err != nil {
		return err
	}
	if ours == nil { // the row above did not run
		ours, theirs = new(hll.Keyed), map[uint64]*hyperloglog.Sketch{}
		ours.AddBatch(key, hash)
		insert(key, hash)
	}
	if ours.Len() != live || len(theirs) != live {
		return fmt.Errorf("%d and %d keys, want %d", ours.Len(), len(theirs), live)
	}
	if err := b.Compare(Row{
		Name: againName, Other: "map of axiomhq/hyperloglog", Against: Libraries, Floor: 4, Aim: 5, N: run,
		Ours:   Around(events, func(from, to int) { ours.AddBatch(key[from:to], hash[from:to]) }),
		Theirs: Around(events, func(from, to int) { insert(key[from:to], hash[from:to]) }),
	}); err != nil {
		return err
	}

	theirs = nil
	held := []*hll.Keyed{ours}
	ours = nil
	return keyedBytes(b, sizeName, held, live)
}

// keyedEvents returns the hashes of the keys and of the users of n events, in a random
// order. Every key occurs; its events are by users drawn from a thousand of its own.
func keyedEvents(keys, n int) (key, hash []uint64) {
	r := rand.New(rand.NewPCG(97, 1))
	key, hash = make([]uint64, n), make([]uint64, n)
	for i := range key {
		k := uint64(r.IntN(keys))
		if i < keys {
			k = uint64(i) // so that every key occurs
		}
		key[i] = hll.Hash(binary.LittleEndian.AppendUint64(nil, k))
		hash[i] = hll.Hash(binary.LittleEndian.AppendUint64(nil, k<<32|uint64(r.IntN(1000))))
	}
	r.Shuffle(n, func(i, j int) {
		key[i], key[j] = key[j], key[i]
		hash[i], hash[j] = hash[j], hash[i]
	})
	return key, hash
}

// keyedBytes limits the memory per key of ours[0], which has n keys. The memory is what
// the heap shrinks by when ours[0] is set to nil; Bytes must agree with it.
func keyedBytes(b *Bench, name string, ours []*hll.Keyed, n int) error {
	with := heap()
	counted := ours[0].Bytes()
	runtime.KeepAlive(ours)
	ours[0] = nil
	held := with - heap()
	if counted < held*9/10 || counted > held*11/10 {
		return fmt.Errorf("Bytes returns %d, the heap shrank by %d", counted, held)
	}
	b.Limit(Limit{Name: name, Against: Libraries, Unit: "B", Value: float64(max(held, counted)) / float64(n), Most: 150, Aim: 120})
	return nil
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
