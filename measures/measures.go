// Package measures has every kind of measure. A kind, or two that are each other's mirror, has a
// folder with all its faces.
package measures

import (
	"slices"

	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/face"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

// A Kind is a kind of measure with all its faces.
type Kind struct {
	*window.Kind                                 // how it is counted
	Config       face.Config                     // what a configuration knows of it
	SQL          func(*window.Measure) *face.SQL // how ClickHouse stores a measure; nil of it: in a table of its own
	Live         face.Live                       // how a question is answered from memory
	Panels       face.Panels                     // how a dashboard shows a measure
	Functions    []face.Function                 // the SQL functions; each uses only those before it
}

// All has every kind, in the order of the documentation.
var All = []Kind{
	{hll.Kind, hll.Config, hll.SQL, hll.Live, hll.Panels, hll.Functions},
	{set.Kind, set.Config, set.SQL, set.Live, set.Panels, set.Functions},
	{bitmap.Kind, bitmap.Config, bitmap.SQL, bitmap.Live, bitmap.Panels, nil},
	{bloom.Kind, bloom.Config, bloom.SQL, bloom.Live, bloom.Panels, bloom.Functions},
	{extreme.Min, extreme.MinConfig, extreme.MinSQL, extreme.Live, extreme.MinPanels, nil},
	{extreme.Max, extreme.MaxConfig, extreme.MaxSQL, extreme.Live, extreme.MaxPanels, nil},
	{ordered.First, ordered.FirstConfig, ordered.SQL, ordered.Live, ordered.FirstPanels, nil},
	{ordered.Last, ordered.LastConfig, ordered.SQL, ordered.Live, ordered.LastPanels, nil},
	{sum.Sum, sum.SumConfig, sum.SQL, sum.SumLive, sum.SumPanels, nil},
	{sum.Avg, sum.AvgConfig, sum.AvgSQL, sum.AvgLive, sum.AvgPanels, nil},
	{quantile.Kind, quantile.Config, quantile.SQL, quantile.Live, quantile.Panels, quantile.Functions},
	{topk.Kind, topk.Config, topk.SQL, topk.Live, topk.Panels, topk.Functions},
	{geo.Kind, geo.Config, geo.SQL, geo.Live, geo.Panels, geo.Functions},
}

// Of returns a kind with all its faces.
func Of(k *window.Kind) Kind {
	return All[slices.IndexFunc(All, func(of Kind) bool { return of.Kind == k })]
}
