package geo

import (
	"math"
	"strconv"
)

// AppendDistance appends a distance as GEODIST and WITHDIST print it: four
// decimals, the last rounded half to even after a multiplication by 10^4 in
// float64 (fixedpoint_d2string in Redis's util.c).
func AppendDistance(dst []byte, d float64) []byte {
	if scaled := d * 1e4; math.Abs(scaled) < 1<<63 {
		n := int64(math.RoundToEven(scaled))
		if n < 0 {
			dst = append(dst, '-')
			n = -n
		}
		dst = strconv.AppendInt(dst, n/1e4, 10)
		rest := n % 1e4
		return append(dst, '.', byte('0'+rest/1000), byte('0'+rest/100%10), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return strconv.AppendFloat(dst, d, 'f', 4, 64)
}

// AppendCoordinate appends a longitude or latitude as GEOPOS and WITHCOORD
// print it up to Redis 7.4: 17 decimals without trailing zeros.
func AppendCoordinate(dst []byte, v float64) []byte {
	from := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', 17, 64)
	end := len(dst)
	for dst[end-1] == '0' {
		end--
	}
	if dst[end-1] == '.' {
		end--
	}
	if string(dst[from:end]) == "-0" {
		return append(dst[:from], '0')
	}
	return dst[:end]
}

// AppendScore appends a score as ZSCORE and WITHSCORES print it up to Redis
// 7.0: 17 significant digits, as %.17g in C.
func AppendScore(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, 'g', 17, 64)
}
