//go:build prove

package e2e

import (
	"fmt"
	"slices"
	"time"
)

// A timed is a sample of some figures.
type timed interface {
	since() time.Duration // the time of the sample, from the beginning of all
}

// A bound is how much a figure of samples may grow over their whole time: a share of its
// median, and a fixed amount besides.
type bound[S timed] struct {
	name  string
	of    func(S) float64
	share float64
	plus  float64
}

// flat returns what grows beyond its bound.
func flat[S timed](warm []S, bounds []bound[S]) (wrong []string) {
	for _, f := range bounds {
		usual := medianOf(warm, f.of)
		if grown, limit := growth(warm, f.of), usual*f.share+f.plus; grown > limit {
			wrong = append(wrong, fmt.Sprintf("%s grows by %.0f about a median of %.0f, at most %.0f are allowed", f.name, grown, usual, limit))
		}
	}
	return wrong
}

// growth is what a figure rises from the beginning to the end of the samples,
// by the line of least squares through them.
func growth[S timed](samples []S, of func(S) float64) float64 {
	n := float64(len(samples))
	var x, y, xx, xy float64
	for _, s := range samples {
		at := s.since().Seconds()
		x, y, xx, xy = x+at, y+of(s), xx+at*at, xy+at*of(s)
	}
	if d := n*xx - x*x; d > 0 {
		slope := (n*xy - x*y) / d
		return slope * (samples[len(samples)-1].since() - samples[0].since()).Seconds()
	}
	return 0
}

func medianOf[S any](samples []S, of func(S) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
