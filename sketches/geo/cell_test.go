package geo

import (
	"math"
	"math/rand/v2"
	"slices"
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

// TestEncodeIsRedis: the fast path agrees with the formula, everywhere and
// within a few ulps of cell edges, limits and zero.
func TestEncodeIsRedis(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	check := func(lon, lat float64) {
		t.Helper()
		got, ok := Encode(lon, lat)
		want, wantOK := encode(lon, lat)
		if got != want || ok != wantOK {
			t.Fatalf("Encode(%v, %v) = %d, %v, want %d, %v", lon, lat, got, ok, want, wantOK)
		}
	}
	for range 200_000 {
		check(r.Float64()*400-200, r.Float64()*200-100)
		check(math.Float64frombits(r.Uint64()), r.Float64()*170-85)
		check(r.Float64()*360-180, math.Float64frombits(r.Uint64()))
	}
	nudge := func(v float64) float64 {
		for range r.IntN(4) {
			v = math.Nextafter(v, 1000*(r.Float64()-0.5))
		}
		return v
	}
	for range 200_000 {
		// An edge of a cell of any size.
		n := float64(uint64(1) << r.IntN(27))
		lon := LonMin + math.Floor(r.Float64()*(n+1))/n*(LonMax-LonMin)
		lat := LatMin + math.Floor(r.Float64()*(n+1))/n*(LatMax-LatMin)
		check(nudge(lon), nudge(lat))
		check(nudge(lon), r.Float64()*170-85)
		check(r.Float64()*360-180, nudge(lat))
	}
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 180, -180, LatMax, LatMin, 1e300, 5e-324, -5e-324, 360, 45}
	for _, lon := range special {
		for _, lat := range special {
			check(lon, lat)
		}
	}
}

// TestEncodeEdges: the corners, as Redis 7.0 stored them.
func TestEncodeEdges(t *testing.T) {
	for _, v := range []struct {
		lon, lat float64
		score    uint64
	}{
		{-180, LatMin, 0},
		{180, LatMax, 13510798882111488},
		{180, 14.17518813, 10151864160030992}, // without the float64, one more
		{180, -33.3333333, 9294262270427472},
		{180, 77.7, 10503657218180356},
		{0, 0, 3377699720527872},
	} {
		if got, ok := Encode(v.lon, v.lat); !ok || got != v.score {
			t.Errorf("Encode(%v, %v) = %d, %v, want %d", v.lon, v.lat, got, ok, v.score)
		}
	}
	for _, v := range [][2]float64{
		{180.0000001, 0}, {-180.0000001, 0}, {0, 85.0511288}, {0, -85.0511288}, {math.NaN(), 0}, {0, math.NaN()}, {math.Inf(1), 0},
	} {
		if score, ok := Encode(v[0], v[1]); ok || score != 0 {
			t.Errorf("Encode(%v, %v) = %d, %v, want a refusal", v[0], v[1], score, ok)
		}
	}
}

// TestDecodeRoundTrip: the centre of a cell lies in the cell, and no position
// is farther from it than half the cell.
func TestDecodeRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	for range 200_000 {
		lon, lat := r.Float64()*360-180, (r.Float64()*2-1)*LatMax
		score, _ := Encode(lon, lat)
		atLon, atLat := Decode(score)
		if again, ok := Encode(atLon, atLat); !ok || again != score {
			t.Fatalf("Encode(Decode(%d)) = %d, %v", score, again, ok)
		}
		if math.Abs(atLon-lon) > 180.0/cells*1.0001 || math.Abs(atLat-lat) > LatMax/cells*1.0001 {
			t.Fatalf("(%v, %v) is stored as (%v, %v)", lon, lat, atLon, atLat)
		}
	}
}

// TestSpread compares with moving bit by bit.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	for range 10_000 {
		x := uint64(r.Uint32()) >> r.IntN(32)
		var want uint64
		for i := range 32 {
			want |= x >> i & 1 << (2 * i)
		}
		if got := spread(x); got != want {
			t.Fatalf("spread(%#x) = %#x, want %#x", x, got, want)
		}
		if got := squash(want | want<<1&r.Uint64()&odd); got != uint32(x) {
			t.Fatalf("squash(spread(%#x)) = %#x", x, got)
		}
	}
}

// bisect returns the geohash as it was first described: halve the map, five times
// a character.
func bisect(lon, lat float64, precision int) string {
	low, high := [2]float64{-180, -90}, [2]float64{180, 90}
	at := [2]float64{lon, lat}
	var text []byte
	for axis := 0; len(text) < precision; {
		digit := 0
		for range 5 {
			middle := (low[axis] + high[axis]) / 2
			digit <<= 1
			if at[axis] >= middle {
				digit |= 1
				low[axis] = middle
			} else {
				high[axis] = middle
			}
			axis = 1 - axis
		}
		text = append(text, alphabet[digit])
	}
	return string(text)
}

func TestAppendHash(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 17))
	for range 15_000 {
		lon, lat := r.Float64()*360-180, r.Float64()*180-90
		if r.IntN(4) == 0 { // exactly on edges
			lon, lat = float64(r.IntN(2048))/2048*360-180, float64(r.IntN(2048))/2048*180-90
		}
		for precision := range HashPrecisionMax + 1 {
			got := string(AppendHash([]byte("x"), lon, lat, precision))
			if want := "x" + bisect(lon, lat, precision); got != want {
				t.Fatalf("AppendHash(%v, %v, %d) = %s, want %s", lon, lat, precision, got, want)
			}
		}
	}
	for _, v := range []struct {
		lon, lat  float64
		precision int
		want      string
	}{
		{180, 0, 5, "80000"}, {-180, 0, 5, "80000"}, {0, 90, 5, "upbpb"}, {0, -90, 5, "h0000"},
		{0, 0, 0, ""}, {0, 0, 13, ""}, {0, 0, -1, ""},
		{180.1, 0, 5, ""}, {0, 90.1, 5, ""}, {math.NaN(), 0, 5, ""}, {0, math.NaN(), 5, ""}, {math.Inf(-1), 0, 5, ""},
	} {
		if got := string(AppendHash(nil, v.lon, v.lat, v.precision)); got != v.want {
			t.Errorf("AppendHash(%v, %v, %d) = %q, want %q", v.lon, v.lat, v.precision, got, v.want)
		}
	}
}

func TestAppendHashDoesNotAllocate(t *testing.T) {
	var buf [HashPrecisionMax]byte
	if n := testing.AllocsPerRun(100, func() { AppendHash(buf[:0], 13.361389, 38.115556, 12) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestParseHash: the parsed box is the set of positions with that hash.
func TestParseHash(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	for range 15_000 {
		lon, lat := r.Float64()*360-180, r.Float64()*180-90
		precision := 1 + r.IntN(HashPrecisionMax)
		text := AppendHash(nil, lon, lat, precision)
		b, err := ParseHash(text)
		if err != nil {
			t.Fatalf("ParseHash(%s): %v", text, err)
		}
		if lon < b.LonMin || lon >= b.LonMax || lat < b.LatMin || lat >= b.LatMax {
			t.Fatalf("ParseHash(%s) = %+v, which lacks (%v, %v)", text, b, lon, lat)
		}
		at := func(lon, lat float64) string { return string(AppendHash(nil, lon, lat, precision)) }
		cLon, cLat := middle(b)
		inside := []string{at(b.LonMin, b.LatMin), at(cLon, cLat), at(b.LonMax-1e-12, b.LatMax-1e-12)}
		if slices.ContainsFunc(inside, func(h string) bool { return h != string(text) }) {
			t.Fatalf("corners and centre of %s have hashes %q", text, inside)
		}
		if b.LonMax < 180 && at(b.LonMax, lat) == string(text) || b.LatMax < 90 && at(lon, b.LatMax) == string(text) {
			t.Fatalf("the eastern or northern edge of %s belongs to it", text)
		}
	}
	if b, err := ParseHash([]byte("SQC8B49RNY")); err != nil || b.LonMin > 13.36138934 || b.LonMax < 13.36138933 {
		t.Errorf("ParseHash of Palermo in upper case = %+v, %v", b, err)
	}
	for _, text := range []string{"", "a", "sqci", "0123456789bcd", "s q", "s\x00", "é"} {
		if b, err := ParseHash([]byte(text)); err == nil {
			t.Errorf("ParseHash(%q) = %+v, want an error", text, b)
		}
	}
}

// middle returns the middle of a box.
func middle(b Box) (lon, lat float64) {
	return (b.LonMin + b.LonMax) / 2, (b.LatMin + b.LatMax) / 2
}

// FuzzParseHash: no text causes a panic, and an accepted text prints as itself.
func FuzzParseHash(f *testing.F) {
	for _, s := range []string{"", "s", "sqc8b49rny0", "EZS42", "zzzzzzzzzzzz", "aaaa", "0000000000000", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseHash(text)
		if err != nil {
			return
		}
		lon, lat := middle(b)
		back := AppendHash(nil, lon, lat, len(text))
		for i, c := range text {
			if digits[c] != digits[back[i]] {
				t.Fatalf("ParseHash(%q) = %+v, whose centre is %q", text, b, back)
			}
		}
	})
}

// FuzzEncode: the cell of a position contains the position, for any bits of the
// coordinates.
func FuzzEncode(f *testing.F) {
	f.Add(13.361389, 38.115556)
	f.Add(180.0, LatMax)
	f.Add(-180.0, LatMin)
	f.Add(math.NaN(), 0.0)
	f.Fuzz(func(t *testing.T, lon, lat float64) {
		score, ok := Encode(lon, lat)
		if want, wantOK := encode(lon, lat); score != want || ok != wantOK {
			t.Fatalf("Encode(%v, %v) = %d, %v, want %d, %v", lon, lat, score, ok, want, wantOK)
		}
		if !ok {
			return
		}
		atLon, atLat := Decode(score)
		high := LatMax / cells * 1.001
		if lon == LonMax {
			high *= 3 // the lost bit is the lowest of the latitude
		}
		if math.Abs(atLon-lon) > 180.0/cells*1.001 || math.Abs(atLat-lat) > high {
			t.Fatalf("Decode(Encode(%v, %v)) = %v, %v", lon, lat, atLon, atLat)
		}
	})
}
