package geo

import "math"

// A cell is one of the 4^step rectangles into which the map is divided at a
// step: the upper 2·step bits of the scores it holds.
type cell struct {
	bits uint64
	step int
}

// cellAt returns the cell around a position within the limits.
func cellAt(lon, lat float64, step int) cell {
	n := float64(uint64(1) << step)
	x := (lon - LonMin) / (LonMax - LonMin) * n
	y := (lat - LatMin) / (LatMax - LatMin) * n
	return cell{spread(uint64(int64(y))) | spread(uint64(int64(x)))<<1, step}
}

// scores returns the scores [from, to) of the positions in the cell.
func (c cell) scores() (from, to float64) {
	shift := 52 - 2*c.step
	return float64(c.bits << shift), float64((c.bits + 1) << shift)
}

// box returns the cell's rectangle, edges rounded as in Redis.
func (c cell) box() Box {
	n := float64(uint64(1) << c.step)
	x, y := squash(c.bits>>1), squash(c.bits)
	return Box{
		LonMin: LonMin + float64(float64(x)/n*(LonMax-LonMin)),
		LatMin: LatMin + float64(float64(y)/n*(LatMax-LatMin)),
		LonMax: LonMin + float64(float64(x+1)/n*(LonMax-LonMin)),
		LatMax: LatMin + float64(float64(y+1)/n*(LatMax-LatMin)),
	}
}

// neighbour returns the cell dx to the east and dy to the north, around the map in
// both directions: east of 180° is -180°, and "north" of the northernmost row
// is the southernmost. A move along one axis leaves the other's bits alone,
// the 27th bit of an outermost position included.
func (c cell) neighbour(dx, dy int) cell {
	mask := uint64(1)<<c.step - 1
	x, y := c.bits&odd, c.bits&even
	if dx != 0 {
		x = spread(uint64(int64(squash(x>>1))+int64(dx))&mask) << 1
	}
	if dy != 0 {
		y = spread(uint64(int64(squash(y))+int64(dy)) & mask)
	}
	return cell{x | y, c.step}
}

const even, odd = 0x5555555555555555, 0xAAAAAAAAAAAAAAAA

// mercatorMax is half the circumference of the Earth in metres, in the
// projection by which Redis chooses a step.
const mercatorMax = 20037726.37

// coverStep chooses the size of the cells for a search of this radius in
// metres: the largest step at which a cell is at least as wide as the radius,
// less one, and less one or two near the poles, where cells are narrow.
func coverStep(radius, lat float64) int {
	if radius == 0 {
		return step
	}
	s := 1
	for ; radius < mercatorMax; radius *= 2 {
		s++
	}
	s -= 2
	if math.Abs(lat) > 66 {
		s--
		if math.Abs(lat) > 80 {
			s--
		}
	}
	return min(max(s, 1), step)
}

// bounds returns the rectangle in degrees that Redis expects to hold every hit. It
// may exceed the limits, and its longitudes are infinite or NaN where a shape
// contains a pole; each comparison with NaN below is then false, as in Redis.
func (s Shape) bounds(lon, lat float64) Box {
	dLat := s.halfHeight() / earthRadius / radian
	edge := lat + dLat // the narrower edge
	if lat < 0 {
		edge = lat - dLat
	}
	dLon := s.halfWidth() / earthRadius / cosine(float64(edge*radian)) / radian
	return Box{LonMin: lon - dLon, LatMin: lat - dLat, LonMax: lon + dLon, LatMax: lat + dLat}
}

// cover returns the cells that a search scans, in that order: the centre's,
// then the neighbours to N, S, E, W, NE, NW, SE and SW. It leaves out the
// neighbours on a side where the centre cell already reaches beyond the bounds.
//
// The cover is Redis's, and not always complete: TestSearchMisses says where
// and why.
func (s Shape) cover(lon, lat float64, dst []cell) []cell {
	bounds := s.bounds(lon, lat)
	step := coverStep(s.reach(), lat)
	centre := cellAt(lon, lat, step)
	// A search near the edge of its cell may reach beyond the next cell.
	if step > 1 && (centre.neighbour(0, 1).box().LatMax < bounds.LatMax ||
		centre.neighbour(0, -1).box().LatMin > bounds.LatMin ||
		centre.neighbour(1, 0).box().LonMax < bounds.LonMax ||
		centre.neighbour(-1, 0).box().LonMin > bounds.LonMin) {
		step--
		centre = cellAt(lon, lat, step)
	}

	var skipN, skipS, skipE, skipW bool
	if step >= 2 {
		box := centre.box()
		skipN, skipS = box.LatMax > bounds.LatMax, box.LatMin < bounds.LatMin
		skipE, skipW = box.LonMax > bounds.LonMax, box.LonMin < bounds.LonMin
	}
	dst = append(dst, centre)
	for _, d := range [...]struct {
		dx, dy int
		skip   bool
	}{
		{0, 1, skipN}, {0, -1, skipS}, {1, 0, skipE}, {-1, 0, skipW},
		{1, 1, skipN || skipE}, {-1, 1, skipN || skipW}, {1, -1, skipS || skipE}, {-1, -1, skipS || skipW},
	} {
		if d.skip {
			continue
		}
		// At the first steps the map has so few cells that the neighbours on both
		// sides are the same cell. Redis skips a cell that equals the one before,
		// unless that one is the centre.
		if c := centre.neighbour(d.dx, d.dy); len(dst) == 1 || c != dst[len(dst)-1] {
			dst = append(dst, c)
		}
	}
	return dst
}
