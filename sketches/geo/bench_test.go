package geo

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mmcloughlin/geohash"

	"weir/internal/redistest"
)

// Both encoders see the same 1,024 positions. The other library maps latitudes
// from -90 to 90 to 64 bits, in assembly.
func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewPCG(20, 20))
	var lon, lat [1024]float64
	for i := range lon {
		lon[i], lat[i] = r.Float64()*360-180, r.Float64()*170-85
	}
	var sum uint64
	b.Run("weir", func(b *testing.B) {
		i := 0
		for b.Loop() {
			score, _ := Encode(lon[i&1023], lat[i&1023])
			sum += score
			i++
		}
	})
	b.Run("mmcloughlin", func(b *testing.B) {
		i := 0
		for b.Loop() {
			sum += geohash.EncodeInt(lat[i&1023], lon[i&1023])
			i++
		}
	})
	b.Run("hash", func(b *testing.B) {
		var text [12]byte
		i := 0
		for b.Loop() {
			sum += uint64(AppendHash(text[:0], lon[i&1023], lat[i&1023], 5)[4])
			i++
		}
	})
	total = sum
}

var total uint64

// region returns a set of n members spread over 2° by 2°, about 200 by 200 km.
func region(n int) *Set {
	r := rand.New(rand.NewPCG(21, 21))
	s := new(Set)
	for i := range n {
		s.Add(fmt.Appendf(nil, "user:%d", i), 8+2*r.Float64(), 46+2*r.Float64())
	}
	return s
}

func BenchmarkSearch(b *testing.B) {
	s := region(100_000)
	for _, c := range []struct {
		name string
		q    Query
	}{
		{"10km", Query{Shape: Circle(10, Kilometre)}},
		{"10km-dist", Query{Shape: Circle(10, Kilometre), WithDist: true}},
		{"10km-asc", Query{Shape: Circle(10, Kilometre), Order: Asc}},
		{"10km-asc-dist", Query{Shape: Circle(10, Kilometre), Order: Asc, WithDist: true}},
		{"10km-nearest-10", Query{Shape: Circle(10, Kilometre), Count: 10}},
		{"20x20km", Query{Shape: Rectangle(20, 20, Kilometre)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(22, 22))
			var hits []Hit
			n := 0
			for b.Loop() {
				c.q.Lon, c.q.Lat = 8.2+1.6*r.Float64(), 46.2+1.6*r.Float64()
				hits = s.Search(hits[:0], c.q)
				n += len(hits)
			}
			b.ReportMetric(float64(n)/float64(b.N), "hits/op")
		})
	}
}

// BenchmarkRedisSearch is BenchmarkSearch's first case on a redis-server: its
// own CPU per command, from a pipelining client.
func BenchmarkRedisSearch(b *testing.B) {
	srv := redistest.Start(b)
	s := region(100_000)
	args := []any{"ZADD", "k"}
	for member, score := range s.Slice(0, s.Len()) {
		args = append(args, int64(score), member)
	}
	srv.Do(b, args...)
	r := rand.New(rand.NewPCG(22, 22))
	const batch = 50
	before, err := srv.CPU()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		for range batch {
			if err := srv.Conn().Send("GEORADIUS", "k", 8.2+1.6*r.Float64(), 46.2+1.6*r.Float64(), 10, "km"); err != nil {
				b.Fatal(err)
			}
		}
		if err := srv.Conn().Flush(); err != nil {
			b.Fatal(err)
		}
		for range batch {
			reply, err := srv.Conn().Receive()
			if err != nil {
				b.Fatal(err)
			}
			n += len(reply.([]any))
		}
	}
	after, err := srv.CPU()
	if err != nil {
		b.Fatal(err)
	}
	commands := float64(b.N * batch)
	b.ReportMetric(float64((after-before).Nanoseconds())/commands, "cpu-ns/command")
	b.ReportMetric(float64(n)/commands, "hits/command")
}
