package geo

import "math"

// A filter decides whether cells lie in a query's shape. Redis decodes every
// candidate, computes its distance and compares. The answer here is the same,
// found in up to four steps, of which the last is Redis's:
//
//  1. near: is the cell in the shape's bounding box? Two subtractions and two
//     comparisons on the interleaved bits.
//  2. clear: is it surely inside or outside? A comparison of squares, as in
//     the plane, with the lengths of the parallels bounded from both sides.
//  3. sure: the haversine by the library's fast functions, compared before
//     root and arc sine.
//  4. exact: the distance as Redis rounds it, only for cells that lie within
//     10^-12 of the edge.
//
// After step 2, less than a hundredth of the members remain for a circle of 10
// km, and most of them for a circle as wide as a continent.
type filter struct {
	from  origin
	shape Shape

	// The bounding box, in interleaved form: columns west to west+wide around
	// the map, rows south to south+high.
	west, wide, south, high uint64

	// Step 2 works in cells: x and y are the centre's column and row, on a scale
	// where i is the middle of cell i. A cell dx columns and dy rows away is
	// surely inside a circle if xIn·dx² + yIn·dy² < 1, and surely outside if
	// xOut·dx² + yOut·dy² > 1; it is surely inside a rectangle if dx < xIn and dy
	// < yIn.
	x, y                   float64
	xIn, yIn, xOut, yOut   float64
	insideBelow, beyondTop float64 // haversines for step 3
}

// The bits of columns and rows. Columns wrap around the map; rows keep their
// 27th bit, which the northernmost position has.
const columnBits, rowBits = odd & (1<<(2*step) - 1), even & (1<<(2*step+2) - 1)

// The size of a cell in radians.
const (
	cellWidth  = (LonMax - LonMin) / cells * radian
	cellHeight = (LatMax - LatMin) / cells * radian
)

func newFilter(q Query) filter {
	f := filter{
		from:  originAt(q.Lon, q.Lat),
		shape: q.Shape,
		x:     (q.Lon-LonMin)/(LonMax-LonMin)*cells - 0.5,
		y:     (q.Lat-LatMin)/(LatMax-LatMin)*cells - 0.5,
	}
	// Half the shape's height and width as angles at the Earth's centre, and the
	// greatest and least length of a degree of longitude at the shape's latitudes,
	// relative to its length at the equator.
	tall, wide := q.Shape.halfHeight()/earthRadius, q.Shape.halfWidth()/earthRadius
	lat := math.Abs(q.Lat) * radian
	longest, shortest := 1.0, 0.0
	if lat > tall {
		longest = math.Cos(lat - tall)
	}
	if lat+tall < math.Pi/2 {
		shortest = math.Cos(lat + tall)
	}

	// The greatest difference in longitude. At equal distance along a parallel
	// it is 2·asin(sin(wide/2)/cos φ); a circle's is where a meridian touches
	// it, unless it holds a pole.
	span := math.Pi
	switch {
	case q.Shape.circle && lat+tall < math.Pi/2-1e-6:
		span = math.Asin(min(math.Sin(wide)/math.Cos(lat), 1))
	case !q.Shape.circle && wide < math.Pi:
		span = 2 * math.Asin(min(math.Sin(wide/2)/shortest, 1))
	}
	f.bound(span, tall)

	// In a shape of a few cells rounding would mislead step 2; in one of half a
	// continent, its bounds decide nothing.
	const least, greatest = 20, 1.0
	f.xIn, f.yIn, f.xOut, f.yOut = math.Inf(1), math.Inf(1), 0, 0
	sin := math.Sin(min(wide, math.Pi) / 2)
	f.insideBelow, f.beyondTop = sin*sin*(1-tight), sin*sin*(1+tight)
	if q.Shape.circle {
		if wide > least*cellHeight && wide < greatest {
			// The haversine is sin²(Δφ/2) + cos φ₁·cos φ₂·sin²(Δλ/2), and sin t
			// is between t and t·sin(s)/s for t ≤ s.
			cos := math.Cos(lat)
			squash := square(math.Sin(span/2) / (span / 2))
			f.yIn = square(cellHeight/(2*sin)) * (1 + loose)
			f.xIn = square(cellWidth/(2*sin)) * cos * longest * (1 + loose)
			f.yOut = square(cellHeight/wide) * (1 - loose)
			f.xOut = square(cellWidth/(2*sin)) * cos * shortest * squash * (1 - loose)
		}
		return f
	}
	f.xIn, f.yIn = 0, 0
	if wide > least*cellWidth && tall > least*cellHeight && wide < greatest {
		f.yIn = tall / cellHeight * (1 - loose)
		f.xIn = 2 * math.Asin(min(sin/longest, 1)) / cellWidth * (1 - loose)
	}
	return f
}

func square(x float64) float64 { return x * x }

// loose is far above the rounding errors of step 2 in a shape of at least 20
// cells, tight far above those of step 3.
const loose, tight = 1e-6, 1e-12

// bound sets the bounding box to these angles around the centre, and two cells
// more.
func (f *filter) bound(dLon, dLat float64) {
	const margin = 2
	if n := dLon/cellWidth*(1+loose) + margin; 2*n+2 < cells && f.from.lon < LonMax {
		f.west = spread(uint64(int64(math.Floor(f.x-n)))&(cells-1)) << 1
		f.wide = spread(uint64(2*n)+1) << 1
	} else {
		// At longitude 180, Redis decodes to 180 whatever is east of it.
		f.west, f.wide = 0, columnBits
	}
	n := dLat/cellHeight*(1+loose) + margin
	south := max(math.Floor(f.y-n), 0)
	f.south = spread(uint64(south))
	f.high = rowBits
	if north := f.y + n; north < cells {
		f.high = spread(uint64(north-south) + 1)
	}
}

// near is step 1. Subtraction works on interleaved numbers as on plain ones:
// a borrow passes through the bits between.
func (f *filter) near(score uint64) bool {
	return (score&columnBits-f.west)&columnBits <= f.wide && (score&rowBits-f.south)&rowBits <= f.high
}

// holds reports whether a cell that is near lies in the shape.
func (f *filter) holds(score uint64) bool {
	if score < 1<<(2*step) {
		dx := math.Abs(float64(squash(score>>1)) - f.x)
		if dx > cells/2 {
			dx = cells - dx
		}
		dy := math.Abs(float64(squash(score)) - f.y)
		if f.shape.circle {
			xx, yy := dx*dx, dy*dy
			switch {
			case f.xIn*xx+f.yIn*yy < 1:
				return true
			case f.xOut*xx+f.yOut*yy > 1:
				return false
			}
		} else if dx < f.xIn && dy < f.yIn {
			return true
		}
	}
	lon, lat := Decode(score)
	if f.shape.circle {
		switch h := f.from.haversine(lon, lat); {
		case h < f.insideBelow:
			return true
		case h > f.beyondTop:
			return false
		}
		return f.from.distance(lon, lat) <= f.shape.halfWidth()
	}
	if latDistance(lat, f.from.lat) > f.shape.halfHeight() {
		return false
	}
	// Along the parallel the haversine has only the term of the longitudes.
	switch h := square(math.Cos(float64(lat*radian)) * math.Sin((float64(lon*radian)-f.from.radLon)/2)); {
	case h < f.insideBelow:
		return true
	case h > f.beyondTop:
		return false
	}
	return Distance(lon, lat, f.from.lon, lat) <= f.shape.halfWidth()
}
