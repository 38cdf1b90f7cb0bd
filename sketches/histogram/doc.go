// Package histogram counts numbers in buckets whose bounds grow by a constant factor, so
// that quantiles have a bounded relative error:
//
//	layout := histogram.NewLayout(histogram.ScaleFor(0.01))
//	pool := new(histogram.Pool)
//	pool.Grow(1)
//	pool.Add(0, layout.Of(12.5))
//	p99, ok := pool.Append(nil, 0).Quantile(0.99)
//
// At scale s the bounds are the powers of 2^(2^-s): a bucket has the numbers above one
// power, up to and including the next. These are the buckets of OpenTelemetry's
// exponential histograms and, with the same scale as schema, of Prometheus' native ones.
// Negative numbers have the same buckets as their amounts. Zero and all numbers nearer to
// it than 2^-1022 share a bucket.
//
// A [Bucket] carries its scale. Buckets of one scale are in the order of their numbers.
//
// Buckets and their values are the same on every machine: [Layout.Of] compares integers that
// are made with integers, and [Bucket.Value] uses only operations that IEEE 754 rounds
// correctly.
//
// Nothing here is safe for concurrent use, except that a Layout is only read.
package histogram
