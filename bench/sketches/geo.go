package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mmcloughlin/geohash"

	"weir/internal/redistest"
	"weir/sketches/geo"
)

func init() { register("geo", geoSearch, geoEncode) }

// geoSearch measures searches among 100,000 members spread over 2° by 2°, about
// 200 by 150 km, from 64 places; some 930 members are within 10 km of each
// place.
func geoSearch(b *Bench) error {
	const plainName, sortedName = "radius 10 km over 100,000 points", "the same, with distances, nearest first"
	if !b.Wants(Redis, plainName) && !b.Wants(Redis, sortedName) {
		return nil
	}
	srv, err := b.Server()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	var set geo.Set
	add := []any{"GEOADD", "people"}
	for i := range 100_000 {
		name := fmt.Sprint("user:", i)
		lon, lat := 8+2*r.Float64(), 46+2*r.Float64()
		set.Add([]byte(name), lon, lat)
		add = append(add, lon, lat, name)
	}
	if err := Pipeline(srv, 1, add...); err != nil {
		return err
	}
	centres := make([][2]float64, 64)
	for i := range centres {
		centres[i] = [2]float64{8.2 + 1.6*r.Float64(), 46.2 + 1.6*r.Float64()}
	}
	ours := func(q geo.Query) Side {
		var hits []geo.Hit
		return Here(func(n int) {
			for i := range n {
				q.Lon, q.Lat = centres[i&63][0], centres[i&63][1]
				hits = set.Search(hits[:0], q)
				sink += uint64(len(hits))
			}
		})
	}
	// Both must find the same, or the comparison is void.
	plain := geo.Query{Shape: geo.Circle(10, geo.Kilometre)}
	for _, at := range centres {
		q := plain
		q.Lon, q.Lat = at[0], at[1]
		reply, err := srv.Conn().Do("GEORADIUS", "people", at[0], at[1], 10, "km")
		if err != nil {
			return err
		}
		if list, ok := reply.([]any); !ok || len(list) != len(set.Search(nil, q)) {
			return fmt.Errorf("redis finds %d around %v, we %d", len(list), at, len(set.Search(nil, q)))
		}
	}
	if err := b.Compare(Row{
		Name: plainName, Other: "redis GEORADIUS", Against: Redis, Floor: 3, Aim: 8,
		Ours:   ours(plain),
		Theirs: radius(srv, centres),
	}); err != nil {
		return err
	}
	sorted := plain
	sorted.Order, sorted.WithDist = geo.Asc, true
	return b.Compare(Row{
		Name: sortedName, Other: "redis GEORADIUS WITHDIST ASC", Against: Redis, Floor: 1, Aim: 3,
		Ours:   ours(sorted),
		Theirs: radius(srv, centres, "WITHDIST", "ASC"),
	})
}

// radius makes a side of GEORADIUS 10 km around one centre after the other, in
// a pipeline.
func radius(s *redistest.Server, centres [][2]float64, options ...any) Side {
	return func(n int) (time.Duration, error) {
		start, err := s.CPU()
		if err != nil {
			return 0, err
		}
		c := s.Conn()
		for sent := 0; sent < n; {
			batch := min(n-sent, len(centres))
			for _, at := range centres[:batch] {
				if err := c.Send(append([]any{"GEORADIUS", "people", at[0], at[1], 10, "km"}, options...)...); err != nil {
					return 0, err
				}
			}
			if err := c.Flush(); err != nil {
				return 0, err
			}
			for range batch {
				if _, err := c.Receive(); err != nil {
					return 0, err
				}
			}
			sent += batch
		}
		end, err := s.CPU()
		return end - start, err
	}
}

// geoEncode measures 1,024 positions. The other library maps latitudes from -90
// to 90 to 64 bits, in assembly.
func geoEncode(b *Bench) error {
	r := rand.New(rand.NewPCG(2, 2))
	var lon, lat [1024]float64
	for i := range lon {
		lon[i], lat[i] = r.Float64()*360-180, r.Float64()*170-85
	}
	return b.Compare(Row{
		Name: "geo encode", Other: "mmcloughlin/geohash", Against: Libraries, Floor: 0.5, Aim: 1,
		Ours: Here(func(n int) {
			sum := uint64(0)
			for i := range n {
				score, _ := geo.Encode(lon[i&1023], lat[i&1023])
				sum += score
			}
			sink += sum
		}),
		Theirs: Here(func(n int) {
			sum := uint64(0)
			for i := range n {
				sum += geohash.EncodeInt(lat[i&1023], lon[i&1023])
			}
			sink += sum
		}),
	})
}
