package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/axiomhq/hyperloglog"
	bitsandblooms "github.com/bits-and-blooms/bloom/v3"
	"github.com/mmcloughlin/geohash"

	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

func init() { register("all", eventRows) }

// eventRows measures the cost of one event for a hot key that has all four
// sketches: a user goes to an HLL and a bitmap, which have seen 65,536 users of
// a million, an event id to a Bloom filter for 65,536, and a position to its
// cell. Our side adds as a worker does, a batch of 1,024 events per sketch; the
// other side adds event by event.
func eventRows(b *Bench) error {
	const name = "all four sketches of one event, hot key"
	if !b.Wants(Libraries, name) {
		return nil
	}
	const known, events, batch = 1 << 16, 1 << 14, 1 << 10
	r := rand.New(rand.NewPCG(4, 4))
	user, id := make([]uint32, events), keys(events, 5)
	userID := make([][]byte, events)
	lon, lat := make([]float64, events), make([]float64, events)
	all := make([]uint32, known)
	for i := range all {
		all[i] = r.Uint32N(1 << 20)
	}
	for i := range user {
		user[i] = all[r.IntN(known)]
		userID[i] = binary.BigEndian.AppendUint64(nil, uint64(user[i]))
		lon[i], lat[i] = r.Float64()*360-180, r.Float64()*170-85
	}
	var users hll.Pool
	var active bitmap.Pool
	users.Grow(1)
	active.Grow(1)
	seen := bloom.NewPool(1<<16, bloomError)
	seen.Grow(1)
	idx, hashes := make([]uint32, batch), make([]uint64, batch)

	axUsers, roaringActive := hyperloglog.New14(), roaring.New()
	theirSeen := bitsandblooms.NewWithEstimates(1<<16, bloomError)
	for _, u := range all {
		k := binary.BigEndian.AppendUint64(nil, uint64(u))
		users.Add(0, hll.Hash(k))
		axUsers.Insert(k)
		active.Add(0, u)
		roaringActive.Add(u)
	}
	return b.Compare(Row{
		Name: name, Other: "four libraries, one by one", Against: Libraries, Floor: 4, Aim: 8, N: events,
		Ours: Here(func(int) {
			for from := 0; from < events; from += batch {
				for k, u := range userID[from : from+batch] {
					hashes[k] = hll.Hash(u)
				}
				users.AddBatch(idx, hashes)
				active.AddBatch(idx, user[from:from+batch])
				for k, e := range id[from : from+batch] {
					hashes[k] = bloom.Hash(e)
				}
				seen.AddBatch(idx, hashes)
				for k := from; k < from+batch; k++ {
					score, _ := geo.Encode(lon[k], lat[k])
					sink += score
				}
			}
		}),
		Theirs: Here(func(int) {
			for k := range events {
				axUsers.Insert(userID[k])
				roaringActive.Add(user[k])
				theirSeen.Add(id[k])
				sink += geohash.EncodeInt(lat[k], lon[k])
			}
		}),
	})
}
