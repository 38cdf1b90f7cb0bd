package geo

import (
	"testing"
)

// TestVectors: scores, centres and texts as a Redis 7.0 server gave them.
func TestVectors(t *testing.T) {
	for _, v := range []struct {
		name           string
		lon, lat       float64
		score          uint64
		atLon, atLat   float64
		hash, standard string
	}{
		{"Palermo", 13.361389, 38.115556, 3479099956230698, 13.36138933897018433, 38.11555639549629859, "sqc8b49rny0", "sqc8b49rnyte"},
		{"Catania", 15.087269, 37.502669, 3479447370796909, 15.08726745843887329, 37.50266842333162032, "sqdtr74hyu0", "sqdtr74hyu5n"},
		{"Leon", -5.6, 42.6, 2157242200379188, -5.59999912977218628, 42.6000002789257266, "ezs42e44yx0", "ezs42e44yx96"},
	} {
		score, ok := Encode(v.lon, v.lat)
		if !ok || score != v.score {
			t.Errorf("%s: Encode = %d, %v, want %d", v.name, score, ok, v.score)
		}
		lon, lat := Decode(v.score)
		if lon != v.atLon || lat != v.atLat {
			t.Errorf("%s: Decode = %v, %v, want %v, %v", v.name, lon, lat, v.atLon, v.atLat)
		}
		if got := string(AppendHashOf(nil, v.score)); got != v.hash {
			t.Errorf("%s: AppendHashOf = %s, want %s", v.name, got, v.hash)
		}
		if got := string(AppendHash(nil, v.lon, v.lat, 12)); got != v.standard {
			t.Errorf("%s: AppendHash = %s, want %s", v.name, got, v.standard)
		}
	}
}
