package redis

import (
	"weir/measures/quantile"
)

// Quantiles are only in window keys.
var tdigestCommands = []command{
	{name: "tdigest.quantile", arity: -3, keys: firstKey, family: "tdigest", about: "the number that each share of the numbers is below: 0.5 for the median",
		differ: "Only of window keys. Within the error of the measure; no interpolation between two numbers.", run: tdigestQuantile},
	{name: "tdigest.cdf", arity: -3, keys: firstKey, family: "tdigest", about: "the share of the numbers below each value, with half of those that equal it",
		differ: "Only of window keys. Numbers in the bucket of a value count as equal.", run: tdigestCDF},
	{name: "tdigest.min", arity: 2, keys: firstKey, family: "tdigest", about: "the least number",
		differ: "Only of window keys. Within the error of the measure.", run: func(c call, k *keyspace) { tdigestEnd(c, k, (*quantile.Answer).Min) }},
	{name: "tdigest.max", arity: 2, keys: firstKey, family: "tdigest", about: "the greatest number",
		differ: "Only of window keys. Within the error of the measure.", run: func(c call, k *keyspace) { tdigestEnd(c, k, (*quantile.Answer).Max) }},
}

func tdigestQuantile(c call, k *keyspace) {
	tdigestEach(c, k, (*quantile.Answer).At, "ERR T-Digest: error parsing quantile", func(v float64) bool { return v >= 0 && v <= 1 })
}

func tdigestCDF(c call, k *keyspace) {
	tdigestEach(c, k, (*quantile.Answer).Below, "ERR T-Digest: error parsing cdf", func(float64) bool { return true })
}

// tdigestEach answers with a number for each argument.
func tdigestEach(c call, k *keyspace, answer func(*quantile.Answer, float64) float64, unread string, within func(float64) bool) {
	q, ok := answered[*quantile.Answer](c, k, typeDigest, "ERR T-Digest: key does not exist")
	if !ok {
		return
	}
	for _, arg := range c.args[2:] {
		v, ok := parseFloat(arg)
		switch {
		case !ok:
			c.w.Error(unread)
			return
		case !within(v):
			c.w.Error("ERR T-Digest: quantile should be in [0,1]")
			return
		}
	}
	c.w.Array(len(c.args) - 2)
	for _, arg := range c.args[2:] {
		v, _ := parseFloat(arg)
		c.w.Double(answer(q, v))
	}
}

func tdigestEnd(c call, k *keyspace, end func(*quantile.Answer) float64) {
	if q, ok := answered[*quantile.Answer](c, k, typeDigest, "ERR T-Digest: key does not exist"); ok {
		c.w.Double(end(q))
	}
}
