package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/sketches/bitmap"
)

func init() { register("bitmap", bitmapStrings, bitmapPool, bitmapMany) }

// bitmapStrings measures sixty strings of 1 Mbit, half of the bits set, in
// Redis and here.
func bitmapStrings(b *Bench) error {
	const orName, countName = "BITOP OR of 60 x 1 Mbit", "BITCOUNT of 1 Mbit"
	if !b.Wants(Redis, orName) && !b.Wants(Redis, countName) {
		return nil
	}
	srv, err := b.Server()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 60))
	src := make([][]byte, 60)
	or := []any{"BITOP", "OR", "bits"}
	for i := range src {
		src[i] = make([]byte, 1<<20/8)
		for k := range src[i] {
			src[i][k] = byte(r.Uint32())
		}
		name := fmt.Sprint("bits", i)
		if _, err := srv.Conn().Do("SET", name, src[i]); err != nil {
			return err
		}
		or = append(or, name)
	}
	// Both must give the same answer, or the comparison is void.
	dst, err := bitmap.Op(nil, bitmap.Or, src...)
	if err != nil {
		return err
	}
	if err := Pipeline(srv, 1, or...); err != nil {
		return err
	}
	theirs, err := srv.Conn().Do("GET", "bits")
	if err != nil {
		return err
	}
	if theirs != string(dst) {
		return errors.New("redis makes another union than we")
	}
	if theirs, err = srv.Conn().Do("BITCOUNT", "bits7"); err != nil {
		return err
	}
	if ours := bitmap.Count(src[7]); theirs != int64(ours) {
		return fmt.Errorf("redis counts %v, we %d", theirs, ours)
	}
	if err := b.Compare(Row{
		Name: orName, Other: "redis BITOP", Against: Redis, Floor: 5, Aim: 10,
		Ours: Here(func(n int) {
			for range n {
				dst, err = bitmap.Op(dst, bitmap.Or, src...)
			}
		}),
		Theirs: Command(srv, 1, or...),
	}); err != nil {
		return err
	}
	return b.Compare(Row{
		Name: countName, Other: "redis BITCOUNT", Against: Redis, Floor: 5, Aim: 10,
		Ours: Here(func(n int) {
			for range n {
				sink += bitmap.Count(src[7])
			}
		}),
		Theirs: Command(srv, 1, "BITCOUNT", "bits7"),
	})
}

// bitmapPool measures additions of the same 65,536 of a million users to the
// one set of a pool, in batches.
func bitmapPool(b *Bench) error {
	const name = "add to a hot activity bitmap"
	if !b.Wants(Libraries, name) {
		return nil
	}
	r := rand.New(rand.NewPCG(2, 60))
	const users, batch = 1 << 16, 1 << 10
	idx, vals := make([]uint32, batch), make([]uint32, users)
	for i := range vals {
		vals[i] = r.Uint32N(1 << 20)
	}
	var ours bitmap.Pool
	ours.Grow(1)
	theirs := roaring.New()
	return b.Compare(Row{
		Name: name, Other: "RoaringBitmap/roaring", Against: Libraries, Floor: 2, Aim: 5, N: users,
		Ours: Here(func(n int) {
			for i := 0; i < n; i += batch {
				ours.AddBatch(idx, vals[i:i+batch])
			}
		}),
		Theirs: Here(func(n int) {
			for _, v := range vals[:n] {
				theirs.Add(v)
			}
		}),
	})
}

// bitmapMany measures additions to 200,000 bitmaps of about twenty users each,
// in an order without any locality.
func bitmapMany(b *Bench) error {
	const name, sizeName = "add to one of 200,000 activity bitmaps", "bytes per activity bitmap of 20 users"
	if !b.Wants(Libraries, name) && !b.Wants(Libraries, sizeName) {
		return nil
	}
	const live, events, batch, run = 200_000, 1 << 22, 1 << 10, 1 << 17
	r := rand.New(rand.NewPCG(3, 60))
	idx, vals := make([]uint32, events), make([]uint32, events)
	for i := range idx {
		idx[i], vals[i] = r.Uint32N(live), r.Uint32N(1<<20)
	}
	var ours bitmap.Pool
	ours.Grow(live)
	add := func(from, to int) {
		for ; from < to; from += batch {
			ours.AddBatch(idx[from:from+batch], vals[from:from+batch])
		}
	}
	theirs := make(map[uint32]*roaring.Bitmap, live)
	addOther := func(from, to int) {
		for ; from < to; from++ {
			s := theirs[idx[from]]
			if s == nil {
				s = roaring.New()
				theirs[idx[from]] = s
			}
			s.Add(vals[from])
		}
	}
	add(0, events)
	addOther(0, events)
	for i := range uint32(live) {
		if s := theirs[i]; s == nil && ours.Count(i) != 0 || s != nil && ours.Count(i) != s.GetCardinality() {
			return fmt.Errorf("bitmap %d has %d users here and another number there", i, ours.Count(i))
		}
	}
	if err := b.Compare(Row{
		Name: name, Other: "map of RoaringBitmap/roaring", Against: Libraries, Floor: 2, Aim: 5, N: run,
		Ours:   Around(events, add),
		Theirs: Around(events, addOther),
	}); err != nil {
		return err
	}
	b.Limit(Limit{Name: sizeName, Against: Libraries, Unit: "B", Value: float64(ours.Bytes()) / live, Most: 250, Aim: 210})
	return nil
}
