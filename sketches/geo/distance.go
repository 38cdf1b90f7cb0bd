package geo

import "math"

// earthRadius is the one Redis uses, in metres.
const earthRadius = 6372797.560856

// radian is one degree in radians, rounded as in Redis: the quotient of two
// float64, not the exact constant.
const radian = float64(math.Pi) / 180

// Distance returns the great-circle distance in metres by the haversine formula,
// rounded step by step as in Redis. The arguments are degrees within the
// limits of a position.
func Distance(lon1, lat1, lon2, lat2 float64) float64 {
	from := originAt(lon1, lat1)
	return from.distance(lon2, lat2)
}

// An origin is a position from which many distances are measured.
type origin struct {
	lon, lat       float64 // degrees
	radLon, radLat float64
	cos            float64 // of the latitude
}

func originAt(lon, lat float64) origin {
	phi := float64(lat * radian)
	return origin{lon, lat, float64(lon * radian), phi, cosine(phi)}
}

func (o *origin) distance(lon, lat float64) float64 {
	v := sine((float64(lon*radian) - o.radLon) / 2)
	if v == 0 {
		return latDistance(o.lat, lat)
	}
	phi := float64(lat * radian)
	u := sine((phi - o.radLat) / 2)
	a := float64(u*u) + float64(float64(float64(o.cos*cosine(phi))*v)*v)
	return 2 * earthRadius * arcsine(math.Sqrt(a))
}

// haversine is sin²(δ/2), by the library's fast functions, where δ is the angle
// from which distance computes metres. The arguments of the sines equal Redis's
// to the last bit, because the difference of two close angles is mostly their
// rounding. So the relative error is below 10^-14.
func (o *origin) haversine(lon, lat float64) float64 {
	phi := float64(lat * radian)
	u, v := math.Sin((phi-o.radLat)/2), math.Sin((float64(lon*radian)-o.radLon)/2)
	return u*u + o.cos*math.Cos(phi)*v*v
}

// latDistance returns the distance along a meridian in metres.
func latDistance(lat1, lat2 float64) float64 {
	return earthRadius * math.Abs(float64(lat2*radian)-float64(lat1*radian))
}

// A Unit is a length in metres. Redis knows four.
type Unit float64

const (
	Metre     Unit = 1
	Kilometre Unit = 1000
	Foot      Unit = 0.3048
	Mile      Unit = 1609.34
)

// ParseUnit reads m, km, ft or mi in any case.
func ParseUnit(text []byte) (Unit, bool) {
	lower := func(c byte) byte {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}
	switch len(text) {
	case 1:
		if lower(text[0]) == 'm' {
			return Metre, true
		}
	case 2:
		switch [2]byte{lower(text[0]), lower(text[1])} {
		case [2]byte{'k', 'm'}:
			return Kilometre, true
		case [2]byte{'f', 't'}:
			return Foot, true
		case [2]byte{'m', 'i'}:
			return Mile, true
		}
	}
	return 0, false
}
