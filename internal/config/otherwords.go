package config

import "strings"

// This file has words of other systems, and what a configuration says for them.

// otherTests are the names of tests in other languages.
var otherTests = map[string]string{
	"==": "is", "=": "is", "eq": "is", "equals": "is", "equal": "is", "!=": "is_not", "<>": "is_not", "ne": "is_not", "neq": "is_not", "is not": "is_not",
	"not in": "not_in", "nin": "not_in", "notin": "not_in", "<": "below", "lt": "below", "less": "below", "<=": "at_most", "le": "at_most", "lte": "at_most", "max": "at_most",
	">": "above", "gt": "above", "greater": "above", ">=": "at_least", "ge": "at_least", "gte": "at_least", "min": "at_least",
	"starts_with": "prefix", "startswith": "prefix", "startsWith": "prefix", "ends_with": "suffix", "endswith": "suffix", "endsWith": "suffix",
	"present": "exists", "or": "any", "and": "all", "none": "not", "value": "is", "values": "in",
}

// otherKinds are words for kinds of measures.
var otherKinds = words(map[string]string{
	"hll":      "uniq unique uniques uniq_count unique_count distinct distinct_count count_distinct approx_distinct approx_count_distinct cardinality hyperloglog pfadd pfcount",
	"quantile": "quantiles percentile percentiles median histogram summary tdigest t-digest ddsketch p50 p75 p90 p95 p99 p999 timing",
	"topk":     "top top_k top-k topn top_n heavy_hitters most_frequent space_saving",
	"sum":      "total add",
	"avg":      "mean average",
	"min":      "minimum least smallest lowest",
	"max":      "maximum greatest largest highest",
	"first":    "oldest earliest",
	"last":     "latest newest any_last gauge current",
	"bitmap":   "roaring bitset bits dau",
	"bloom":    "bf bloom_filter filter seen",
	"set":      "ids exact exact_set theta",
	"geo":      "location locations geohash position positions point points",
})

// otherMeasureKeys are words for keys of measures.
var otherMeasureKeys = words(map[string]string{
	"kind":     "type function aggregate aggregation agg",
	"name":     "as alias",
	"field":    "path key property expression expr on",
	"where":    "filter if when condition",
	"apply":    "transform functions",
	"default":  "fallback missing default_value",
	"optional": "nullable",
	"error":    "error_rate epsilon accuracy alpha",
	"capacity": "size expected_items",
	"scale":    "decimals digits places precision",
	"k":        "n top limit",
	"lon":      "lng long longitude",
	"lat":      "latitude",
})

// words returns for each word of lists its key.
func words(lists map[string]string) map[string]string {
	of := map[string]string{}
	for key, list := range lists {
		for word := range strings.FieldsSeq(list) {
			of[word] = key
		}
	}
	return of
}

// insteadOf says for words that no word replaces what there is instead.
var insteadOf = map[string]string{
	"count":       "each view has the number of events as hits, without a measure",
	"level":       quantiles,
	"levels":      quantiles,
	"quantile":    quantiles,
	"quantiles":   quantiles,
	"percentile":  quantiles,
	"percentiles": quantiles,
}

const quantiles = "the views have p50, p90, p95 and p99 of each quantile, and weirQuantile gives any other"
